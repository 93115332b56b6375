"""Writes src/import/schemas.inc: what ONNX says of its operators' inputs, outputs and attributes.

usage: scripts/onnx_schemas.py [--check]

A row for each version of an operator that changed any of it: name, version, fewest and most inputs, fewest and most
outputs, and the attributes' names, of which those with a "!" have to be there.
"""

import pathlib
import sys

import onnx.defs

FILE = pathlib.Path(__file__).resolve().parents[1] / "src" / "import" / "schemas.inc"
MANY = 2**31 - 1
HEADER = """\
//===- schemas.inc - What nodes of ONNX's operators have ---------------------===//
//
// Written by scripts/onnx_schemas.py from the onnx package's schemas: name, version, fewest and most
// inputs, fewest and most outputs, attributes (with a "!": they have to be there). A row holds until
// the operator's next one.
//
//===----------------------------------------------------------------------===//
// clang-format off
"""
FOOTER = "// clang-format on\n"


def described(schema):
    attributes = " ".join(name + ("!" if attribute.required else "")
                          for name, attribute in sorted(schema.attributes.items()))
    counts = (schema.min_input, schema.max_input, schema.min_output, schema.max_output)
    return ", ".join("many" if count == MANY else str(count) for count in counts) + f', "{attributes}"'


def rows():
    schemas = [schema for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == ""]
    before = None
    for schema in sorted(schemas, key=lambda schema: (schema.name, schema.since_version)):
        if schema.deprecated:
            continue
        now = (schema.name, described(schema))
        if now != before:
            yield f'{{"{schema.name}", {schema.since_version}, {now[1]}}},\n'
        before = now


def text():
    return HEADER + "".join(rows()) + FOOTER


def main():
    if sys.argv[1:] == ["--check"]:
        return 0 if FILE.read_text() == text() else f"{FILE}: not what the onnx package says; run {sys.argv[0]}"
    FILE.write_text(text())


if __name__ == "__main__":
    sys.exit(main())
