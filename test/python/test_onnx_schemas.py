"""src/import/schemas.inc is what the onnx package says of its operators."""

import onnx_schemas


def test_the_table_is_what_the_onnx_package_says():
    assert onnx_schemas.FILE.read_text() == onnx_schemas.text(), "run scripts/onnx_schemas.py"


def test_a_row_says_what_a_schema_says():
    rows = onnx_schemas.text()
    assert '{"Clip", 11, 1, 3, 1, 1, ""},' in rows
    assert '{"Concat", 4, 1, many, 1, 1, "axis!"},' in rows
