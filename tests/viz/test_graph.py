"""The picture of a recorded graph: what its boxes say, how it is rendered and saved."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, GradientError

has_dot = shutil.which("dot") is not None


def simple() -> tuple[Any, Any]:
    x = mg.Var([3.0, 1.0, 4.0], name="x")
    return x, x * x + x * 5.0 + 4.0


def labels(picture: Any, kind: str) -> list[list[str]]:
    return [node.label.split("\n") for node in picture.nodes if node.kind == kind]


def test_ops_say_name_shape_dtype_and_what_they_keep() -> None:
    _, y = simple()
    picture = mg.viz.graph(y)
    assert sorted(label[0] for label in labels(picture, "op")) == ["add", "mul", "mul"]
    assert labels(picture, "output") == [["add", "float32(3,)", "y = [28, 10, 40]"]]
    kept = {tuple(label) for label in labels(picture, "op")}
    assert any("saves input float32(3,), other float32(3,)" in label for label in kept)
    assert ("add", "float32(3,)", "[24, 6, 36]") in kept, "a sum saves nothing"


def test_vars_go_by_name_with_their_gradient() -> None:
    x, y = simple()
    assert labels(mg.viz.graph(y), "var") == [["x", "float32(3,)", "[3, 1, 4]"]]
    grads = y.backward()
    assert labels(mg.viz.graph(y, grads), "var") == [["x", "float32(3,)", "[3, 1, 4]", "grad [11, 7, 13]"]]
    assert x.name == "x"


def test_a_nameless_var_takes_the_name_of_the_callers_variable() -> None:
    weight = mg.Var([[1.0, 2.0]])
    assert labels(mg.viz.graph(weight.sum()), "var")[0][0] == "weight"
    assert labels(mg.viz.graph(weight.sum(), names={"w": weight}), "var")[0][0] == "w"


def test_edges_run_from_operands_to_results() -> None:
    x, y = simple()
    picture = mg.viz.graph(y)
    assert len(picture.nodes) == 7 and len(picture.edges) == 8
    out = {edge.source for edge in picture.edges}
    assert f"v{x.id}" in out and f"op{y.op.id}" not in out
    assert sum(1 for e in picture.edges if e.source == f"v{x.id}") == 3, "x is used three times"


def test_after_backward_the_picture_says_what_was_freed() -> None:
    _, y = simple()
    y.backward()
    assert any("freed" in label[-1] for label in labels(mg.viz.graph(y), "op"))


def test_a_matrix_is_nested_as_in_the_stepper() -> None:
    x = mg.Var([[3.0, 1.0], [4.0, -2.0]], device="reference")
    y = x * 2.0
    names = [line for label in labels(mg.viz.graph(y), "var") for line in label]
    assert "[[3, 1], [4, -2]]" in names


def test_svg_of_both_engines_is_xml_with_a_node_a_box() -> None:
    _, y = simple()
    picture = mg.viz.graph(y)
    for engine in ("builtin", *(["dot"] if has_dot else [])):
        root = ET.fromstring(picture.svg(engine))
        assert root.tag.endswith("svg")
        assert {f"node-{node.id}" for node in picture.nodes} <= {element.get("id") for element in root.iter()}


def test_it_shows_itself_in_jupyter() -> None:
    bundle = mg.viz.graph(simple()[1])._repr_mimebundle_()
    assert bundle["image/svg+xml"].lstrip().startswith("<")
    assert bundle["text/plain"].startswith("graph of float32(3,): 7 nodes, 8 edges\nadd  float32(3,)")


def test_dot_text_needs_no_program() -> None:
    source = mg.viz.graph(simple()[1]).dot().source
    assert source.startswith("digraph") and source.count("->") == 8


def test_saving(tmp_path: Path) -> None:
    picture = mg.viz.graph(simple()[1])
    ET.fromstring(picture.save(tmp_path / "g.svg", engine="builtin").read_text())
    assert picture.save(tmp_path / "g.dot").read_text().startswith("digraph")
    with pytest.raises(ArgumentError, match=r"path must end in .*, got 'g\.bmp'"):
        picture.save(tmp_path / "g.bmp")
    assert not (tmp_path / "g.bmp").exists()


def test_files_are_utf_8_whatever_the_machine_writes(tmp_path: Path) -> None:
    program = (
        "import minigrad as mg, sys; g = mg.viz.graph(mg.Var([1.0], name='\\u03b8') * 2)\n"
        "g.save(sys.argv[1] + '/g.svg', engine='builtin'); g.save(sys.argv[1] + '/g.dot')"
    )
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], env=plain, check=True, timeout=120)
    for name in ("g.svg", "g.dot"):
        assert "\u03b8" in (tmp_path / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["<b>", "\\N", "a\\", 'say "x"', "two\nlines", "nothing\0"])
def test_dot_takes_names_as_they_are(name: str) -> None:
    source = mg.viz.graph(mg.Var([1.0], name=name) * 2).dot().source
    label = next(found for found in re.findall(r"v\d+ (\[label=.*?shape=\w+)", source, re.DOTALL))
    assert "label=<" not in label and "\0" not in source
    assert ("\\\\" in label) == ("\\" in name), "a backslash is one only if it is written twice"


def test_dot_has_the_colours_the_legend_and_what_the_pointer_shows() -> None:
    _, y = simple()
    picture = mg.viz.graph(y, colour="gradient")
    source = picture.dot().source
    assert all(f'fillcolor="{node.tint}"' in source for node in picture.nodes if node.tint)
    assert all(text in source for _, text in picture.legend)
    assert 'tooltip="' in source


@pytest.mark.skipif(not has_dot, reason="the program dot is not installed")
@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_png_and_pdf_come_from_dot(tmp_path: Path, ending: str, magic: bytes) -> None:
    assert mg.viz.graph(simple()[1]).save(tmp_path / f"g.{ending}").read_bytes().startswith(magic)


def test_without_dot_the_automatic_choice_draws_and_the_explicit_one_explains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    picture = mg.viz.graph(simple()[1])
    ET.fromstring(picture.svg())
    for ask in (lambda: picture.svg("dot"), lambda: picture.save(tmp_path / "g.png", engine="dot")):
        with pytest.raises(ArgumentError, match="install Graphviz"):
            ask()
    with pytest.raises(ArgumentError, match="engine must be None, 'dot' or 'builtin'"):
        picture.svg("ascii")


def test_what_has_no_graph_is_refused() -> None:
    with pytest.raises(GradientError, match="has no graph"):
        mg.viz.graph(mg.tensor([1.0]))


def test_ten_thousand_nodes_do_not_recurse() -> None:
    x = mg.Var([1.0], name="x", device="reference")
    y: Any = x
    for _ in range(10_000):
        y = -y
    picture = mg.viz.graph(y)
    assert len(picture.nodes) == 10_001
    assert picture.svg("builtin").count("<title") >= 1


def test_writes_are_counted_in_words() -> None:
    x = mg.zeros(2)
    for words in ("not written to since", "written to once since", "written to 2 times since"):
        assert words in mg.viz.explanation(x)
        x[0] = 1.0


def test_explanation_names_declaration_and_kernel_file() -> None:
    x, y = simple()
    text = mg.viz.explanation(y)
    assert "recorded: 4 ops from 1 Var:" in text
    assert "arithmetic.py:" in text
    files = mg.viz.kernels(y)
    assert len(files) == 1 and Path(files[0]).read_text().count("def kernel(") == 1
    assert "a constant: made from no Var" in mg.viz.explanation(x.detach())


def test_a_parameter_that_is_an_op_is_shown_by_its_name() -> None:
    x = mg.Var([1.0, 2.0], device="reference")
    part = x.narrow(0, 1, 1)
    (gradient,) = mg.autograd.grad((part * part).sum(), [x], create_graph=True)
    text = str(mg.viz.graph(gradient.sum()).svg())
    assert "view=narrow<" in text and "views.py" not in text


def test_a_page_can_show_a_drawing_smaller_on_a_phone() -> None:
    x = mg.Var([1.0, 2.0], name="x", device="reference")
    graph, steps = mg.viz.graph(x * x), mg.viz.step(x * x)
    width = ET.fromstring(graph.svg()).get("width")
    for page in (graph.html(), steps._repr_html_(), mg.viz.tensor(x).html):
        assert '<svg style="--w:' in page
    assert f'<svg style="--w:{width}px"' in graph.html() and "--w" not in graph.svg()


def test_windows_show_pytorchs_arguments_and_parameters_the_names_of_their_module(reference: None) -> None:
    net = mg.nn.Sequential(
        mg.nn.Conv2d(1, 2, 3, padding=1), mg.nn.AvgPool2d(2, count_include_pad=False, padding=(1, 0))
    )

    class Deep(mg.nn.Module):
        def __init__(self) -> None:
            self.blocks = mg.nn.ModuleList([net])

        def forward(self, x: mg.Tensor) -> mg.Tensor:
            return self.blocks[0](x)

    model = Deep()
    text = mg.viz.graph(model(mg.ones(1, 1, 8, 8)).sum()).svg()
    assert ">padding=1<" in text and ">kernel_size=2, padding=(1, 0), count_include_pad=False<" in text
    assert ">net.0.weight<" in text or ">model.blocks.0.0.weight<" in text
    whole = mg.viz.graph(
        mg.nn.functional.conv1d(mg.ones(1, 2, 9), mg.ones(2, 1, 3, requires_grad=True), groups=2)
    ).text()
    assert "groups=2" in whole and "stride" not in whole and "Window" not in whole
