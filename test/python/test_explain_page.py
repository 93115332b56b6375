"""`kintsugi explain --html`: what is in the page, that names can't leave their place in it, and that it works in a browser."""

import json
import re
import shutil
import subprocess
import urllib.parse

import onnx
import onnx.helper
import pytest
from program import MODEL, ROOT

SMALL = ROOT / "zoo" / "mmoe.onnx"
OPENS = '<script type="application/json" id="report">'
HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">'&amp;<!--"


def data_of(page):
    text = page[page.index(OPENS) + len(OPENS) :]
    return json.loads(text[: text.index("</script>")])


@pytest.fixture(scope="module")
def explained(folder, kintsugi):
    """Of a model of the zoo, the page's path and the report that the same run printed."""
    path = folder / "mmoe.html"
    code, out, errors = kintsugi("explain", SMALL, "--random-weights", "--html", path, "--json")
    assert (code, errors) == (0, "")
    return path, json.loads(out)


@pytest.fixture(scope="module")
def hostile(folder, kintsugi):
    """The page of a model whose nodes and values have names that are markup."""
    shape = ("x", onnx.TensorProto.FLOAT, [4, 8])
    nodes = [
        onnx.helper.make_node("Relu", ["x"], [HOSTILE], name=HOSTILE),
        onnx.helper.make_node("Softmax", [HOSTILE], ["y"], name=HOSTILE + "/2"),
    ]
    graph = onnx.helper.make_graph(
        nodes, HOSTILE, [onnx.helper.make_tensor_value_info(*shape)], [onnx.helper.make_tensor_value_info("y", *shape[1:])]
    )
    model, path = folder / "hostile.onnx", folder / "hostile.html"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9), model)
    code, _, errors = kintsugi("explain", model, "--html", path)
    assert (code, errors) == (0, "")
    return path


def test_the_page_holds_the_report(explained):
    path, report = explained
    page = path.read_text()
    data = data_of(page)
    left_out = data["decisions"].pop("records_left_out")
    records = report["decisions"].pop("records")
    shown = data["decisions"].pop("records")
    assert data == report
    assert left_out + len(shown) == len(records) and all(record in records for record in shown)
    assert any(record.get("rule") == "merge-products" for record in shown)


def test_the_report_says_what_the_page_needs(explained):
    _, report = explained
    kernels, graph = report["kernels"], report["graph"]
    assert graph["left_out"] == 0 and len(graph["nodes"]) == 59
    names = {node["name"] for node in graph["nodes"]}
    assert {name for kernel in kernels for name in kernel["nodes"]} <= names
    assert all(0 <= read < number for number, node in enumerate(graph["nodes"]) for read in node["reads"])
    assert sum(kernel["operations"] for kernel in kernels) > 1000
    for kernel in kernels:
        assert kernel["stores"] and all(each["bytes"] > 0 for each in kernel["reads"] + kernel["stores"])
    written = [each["buffer"] for kernel in kernels for each in kernel["stores"]]
    assert any(each["buffer"] in written for kernel in kernels for each in kernel["reads"])
    assert report["machine"]["flops_per_s"] > 1e9 and report["machine"]["bytes_per_s"] > 1e9


def test_bodies_read_what_is_around_them(folder, report):
    """A node with bodies reads what they read from outside, and holds their nodes."""
    value = lambda name, *shape: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
    body = lambda op: onnx.helper.make_graph([onnx.helper.make_node(op, ["a"], ["r"], name=op)], op, [], [value("r", 64)])
    flag = onnx.helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, [])
    nodes = [
        onnx.helper.make_node("Tanh", ["x"], ["a"], name="first"),
        onnx.helper.make_node("If", ["flag"], ["y"], name="both", then_branch=body("Relu"), else_branch=body("Exp")),
        onnx.helper.make_node("Neg", ["y"], ["z"]),
    ]
    graph = onnx.helper.make_graph(nodes, "m", [value("x", 64), flag], [value("z", 64)])
    path = folder / "bodies.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9), path)
    found = report("explain", path, "--json")
    assert [(node["name"], node["op"], node["reads"], node["holds"]) for node in found["graph"]["nodes"]] == [
        ("first", "Tanh", [], []),
        ("both", "If", [0], ["Exp", "Relu"]),
        ("z", "Neg", [1], []),
    ]
    served = {name for kernel in found["kernels"] for name in kernel["nodes"]}
    assert "Relu" in served and served <= {"first", "both", "z", "Exp", "Relu"}


def test_prices(explained):
    _, report = explained
    choices = {choice["among"]: choice for choice in report["decisions"]["choices"]}
    assert set(choices) == {"forms", "kernels"}
    assert choices["kernels"]["objective_ms"] == pytest.approx(report["predicted_ms"], rel=1e-3)
    stored = {each["name"] for kernel in report["kernels"] for each in kernel["stores"]}
    assert stored == {name for chosen in choices["kernels"]["chosen"] for name in chosen["stores"]}
    for choice in choices.values():
        priced = [each for each in choice["alternatives"] if each["more_ms"] is not None]
        assert 20 <= len(priced) <= 32
        for each in priced:
            assert each["more_ms"] >= 0 and each["more_at_least_ms"] <= each["more_ms"] * (1 + 1e-6) + 1e-12
            assert not each["proven"] or each["more_ms"] == pytest.approx(each["more_at_least_ms"], rel=1e-6, abs=1e-12)
        assert sum(each["proven"] for each in priced) > len(priced) / 2
        for each in choice["alternatives"]:
            assert each["instead_of"] and max(each["instead_of"]) < len(choice["chosen"]) and each["expressions"]
    made = {form for each in choices["forms"]["alternatives"] for form in each["forms"]}
    assert len(made) > 1 and max(made) < len(choices["forms"]["forms"])
    assert "whatever is equal: merge-products" in choices["forms"]["forms"]


def test_prices_are_asked_for(kintsugi, report):
    plain = report("explain", MODEL, "--json")
    assert plain["decisions"]["choices"] == []
    one = report("explain", MODEL, "--json", "--alternatives", 1)["decisions"]["choices"]
    assert all(sum(each["more_ms"] is not None for each in choice["alternatives"]) == 1 for choice in one)
    code, _, errors = kintsugi("explain", MODEL, "--alternatives", 10001)
    assert code == 2 and "--alternatives: must be from 0 to 10000" in errors


def test_an_artifact_has_a_page(folder, artifact, kintsugi):
    path = folder / "artifact.html"
    code, out, errors = kintsugi("explain", artifact, "--html", path)
    assert (code, errors) == (0, "") and out
    assert data_of(path.read_text())["decisions"] is None


def test_where_the_page_goes(folder, kintsugi):
    code, out, errors = kintsugi("explain", MODEL, "--html", "-")
    assert (code, errors) == (0, "") and out.startswith("<!DOCTYPE html>") and out.endswith("</html>\n")
    code, out, errors = kintsugi("explain", MODEL, "--html", "-", "--json")
    assert (code, out) == (2, "") and "name a file for one" in errors
    code, out, errors = kintsugi("explain", MODEL, "--html", MODEL)
    assert (code, out) == (2, "") and "is the model itself" in errors


def test_names_stay_names(hostile, explained):
    page, plain = hostile.read_text(), explained[0].read_text()
    for part in ("<script", "</script", "<img", "<!--"):
        assert page.count(part) == plain.count(part)
    data = data_of(page)
    assert HOSTILE in [name for kernel in data["kernels"] for name in kernel["nodes"]]


# In a browser.


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    """The page as a browser has it once its scripts have run, with what stands behind # in the address."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not browser:
        pytest.skip("there is no Chromium to open the page in; Debian's package is chromium")
    profile = tmp_path_factory.mktemp("browser")

    def run(path, size="1400,900", **fragment):
        address = path.as_uri() + "#" + urllib.parse.urlencode(fragment)
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", f"--window-size={size}"]
            + ["--virtual-time-budget=5000", "--dump-dom", address],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout[: done.stdout.index(OPENS)]  # Without what the page was made from.

    return run


def panel_of(page):
    return page[page.index('<aside id="kernel"') : page.index("</aside>")]


def figures(part):
    return [float(value) for value in re.findall(r'<data value="([^"]+)"', part)]


def marked(page, tag):
    """Kernels whose elements of a kind are selected."""
    found = re.findall(rf'<{tag} [^>]*class="[^"]*\bselected\b[^"]*"[^>]*data-kernel="(\d+)"', page)
    return found + re.findall(rf'<{tag} [^>]*data-kernel="(\d+)"[^>]*class="[^"]*\bselected\b', page)


def test_a_kernel_is_selected(explained, browse):
    path, report = explained
    for number in (0, len(report["kernels"]) - 1):
        page, kernel = browse(path, kernel=number), report["kernels"][number]
        panel = panel_of(page)
        assert figures(panel)[:4] == [kernel[field] for field in ("predicted_ms", "measured_ms", "bytes", "operations")]
        for name in kernel["nodes"]:
            assert f'title="{name}"' in panel
        first = kernel["expressions"].split("[")[0]
        assert f"<pre>{first}[" in panel and 'class="alternative"' in panel and "more</span>" in panel
        assert str(number) in marked(page, "g") and str(number) in marked(page, "rect")
        assert str(number) in marked(page, "circle") and marked(page, "tr") == [str(number)]
    nothing = browse(path, kernel=len(report["kernels"]))
    assert "Select a kernel" in panel_of(nothing) and marked(nothing, "tr") == []


def test_the_views(explained, browse):
    path, report = explained
    count = {"nodes": len(report["graph"]["nodes"]), "kernels": len(report["kernels"])}
    for view, nodes, kernels in (("nodes", True, False), ("kernels", False, True), ("areas", True, True)):
        page = browse(path, view=view)
        assert len(re.findall(r'<g class="node', page)) == (count["nodes"] if nodes else 0)
        assert len(re.findall(r'<g class="kernel', page)) == (count["kernels"] if kernels else 0)
        assert "NaN" not in page and "undefined" not in page and "[object" not in page
    # In areas a node stands inside of its kernel.
    area = page[page.index('<g class="kernel') :]
    area = area[: area.index('<g class="kernel', 1)]
    number_of = {node["name"]: number for number, node in enumerate(report["graph"]["nodes"])}
    inside = re.findall(r'<g class="node( loose)?[^"]*"[^>]*data-node="(\d+)"', area)
    kernel = report["kernels"][int(re.search(r'data-kernel="(\d+)"', area)[1])]
    own = {int(number) for loose, number in inside if not loose}
    assert own and own <= {number_of[name] for name in kernel["nodes"]}


def test_search(explained, browse):
    path, report = explained
    softmax = [node["name"] for node in report["graph"]["nodes"] if node["op"] == "Softmax"]
    page = browse(path, search="softMAX", view="nodes")
    missed = re.findall(r'<g class="node[^"]*\bmiss\b', page)
    assert softmax and f">{len(softmax)} found<" in page and len(missed) == len(report["graph"]["nodes"]) - len(softmax)
    assert ">0 found<" in browse(path, search="no such name")


def test_the_sections(explained, browse):
    path, report = explained
    page = browse(path, theme="dark")
    assert 'data-theme="dark"' in page
    rows = page[page.index('<section id="kernels"') : page.index('<section id="choice"')]
    for kernel in report["kernels"]:
        assert {kernel["predicted_ms"], kernel["measured_ms"], kernel["bytes"]} <= set(figures(rows))
    choice = page[page.index('<section id="choice"') : page.index('<section id="rules"')]
    for each in report["decisions"]["choices"]:
        assert {each["objective_ms"], each["bound_ms"], each["gap"], each["candidates"]} <= set(figures(choice))
    prices = [a["more_ms"] for c in report["decisions"]["choices"] for a in c["alternatives"] if a["more_ms"]]
    assert set(prices) <= set(figures(choice))
    rules = page[page.index('<section id="rules"') : page.index('<section id="decisions"')]
    assert len(re.findall(r'class="rule', rules)) == sum(rule["kind"] == "rule" for rule in report["rules"])
    assert "stacked as one product" in rules
    for name in ("predicted", "measured"):
        total = sum(kernel[f"{name}_ms"] for kernel in report["kernels"])
        assert any(value == pytest.approx(total, rel=1e-9) for value in figures(page[: page.index('<div id="stage"')]))


def test_hostile_names_in_a_browser(hostile, browse):
    for view in ("areas", "kernels", "nodes"):
        page = browse(hostile, kernel=0, view=view)
        assert "<title>broken" not in page and "<img" not in page and page.count("<script") == 0
        assert "&lt;/script&gt;" in panel_of(page) or "&lt;img" in panel_of(page)
