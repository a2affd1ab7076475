"""The generated pages of the site: what they say is so, and nothing is left out.

The site itself is built by `make docs`, which takes warnings for errors.
"""

from __future__ import annotations

import importlib
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from minigrad.declare.manual.documentation import documentation
from minigrad.declare.record import schema

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def site() -> Iterator[Any]:
    """The programs beside the pages, as `docs/conf.py` finds them."""
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module("site_pages.generate"), importlib.import_module("site_pages.ops")
    sys.path.remove(str(DOCS))


def test_a_page_has_formula_gradient_curve_example_and_loop(site: Any) -> None:
    _, ops = site
    text = "\n".join(ops.page("tanh", ops.rows()["tanh"]))
    for head in ("# tanh", "## Formula", "## Gradient", "## Curve", "## Dtypes", "## Example", "## Kernel"):
        assert f"{head}\n" in text
    assert "x\u0304 = ȳ · (1 − y · y)" in text and "`minigrad/ops/pointwise/trigonometry.py:" in text
    assert "for i in range(count):" in text
    light, dark = re.findall('<div class="only-(?:light|dark)".*?</svg></div>', text, re.DOTALL)
    assert light.count("<polyline") == 4 == dark.count("<polyline"), "two lines, and how they look in the legend"
    assert "#ffffff" in light and "#ffffff" not in dark


def test_an_op_of_several_operands_has_curves_along_each_with_the_others_at_named_values(site: Any) -> None:
    _, ops = site
    text = "\n".join(ops.page("mul", ops.rows()["mul"]))
    assert (
        "## Curves\n" in text
        and re.search(r"As a function of `input`, with `other = -?[\d.]+`\.", text)
        and "As a function of `other`, with `input = " in text
    )
    assert text.count("<polyline") == 16 and "derivative with respect to input" in text


def test_an_op_without_derivative_or_curve_has_a_page_too(site: Any) -> None:
    _, ops = site
    rows = ops.rows()
    for name in ("argmax", "matmul", "reshape" if "reshape" in rows else "view"):
        text = "\n".join(ops.page(name, rows[name]))
        assert text.startswith(f"# {name}\n") and "## Curve" not in text
    assert "## Gradient" not in "\n".join(ops.page("argmax", rows["argmax"]))


def test_what_has_no_curve_has_the_graphs_of_its_call_and_of_its_gradients(site: Any) -> None:
    _, ops = site
    text = "\n".join(ops.page("matmul", ops.rows()["matmul"]))
    call, first, second = re.findall('<div class="only-dark".*?</svg>', text, re.DOTALL)
    assert (
        "## Graph\n" in text
        and "## Graph of the gradient\n" in text
        and text.count("\nGradient with respect to `x") == 2
    )
    assert boxes(call).count("matmul") == 1 and {"x1", "x2"} <= set(boxes(call))
    for svg, other in ((first, "x2"), (second, "x1")):
        assert {"matmul", other, "y\u0304"} <= set(boxes(svg)), "of the gradient that arrives, and the other operand"
    linear = "\n".join(ops.page("sum", ops.rows()["sum"]))
    assert linear.count("<svg") == 4, "light and dark"
    assert "x1" not in boxes(linear.rpartition("Gradient with respect to `x1`")[2]), (
        "the gradient of a sum does not depend on it"
    )


def test_every_op_with_a_derivative_has_curves_or_graphs(site: Any) -> None:
    _, ops = site
    for name, row in ops.rows().items():
        if schema[name].kind == "view" or name in ("amax", "mean", "softmax", "sort", "gather", "cat", "transfer"):
            text = "\n".join(ops.page(name, row))
            assert ("## Gradient\n" in text) == ("## Graph\n" in text), name


def test_the_index_names_every_op_that_has_a_row(site: Any) -> None:
    _, ops = site
    index = ops.index()
    assert set(ops.rows()) <= set(schema) and len(ops.rows()) >= 150
    assert all(f"(ops/{name}.md)" in index for name in ops.rows())


def test_a_page_has_the_full_signature_of_each_public_function(site: Any) -> None:
    _, ops = site
    assert next(ops.calls("tanh")) == "mg.tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor"
    prefixes = ["mg", "mg.nn.functional", "mg.special"]
    assert [line.partition(".softmax(")[0] for line in ops.calls("softmax")] == prefixes
    page = "\n".join(ops.page("softmax", ops.rows()["softmax"]))
    assert "```python\nmg.softmax(input: Tensor, dim: " in page and list(ops.calls("named_gradient")) == []


@pytest.mark.parametrize("name", ["scaled_from", "zeta", "cross_entropy_of_one", "linear_tap", "divergence"])
def test_an_op_whose_row_does_more_than_call_it_has_a_page(site: Any, name: str) -> None:
    _, ops = site
    assert "## Formula\n" in "\n".join(ops.page(name, ops.rows()[name]))


def test_the_page_of_decisions_lists_all_with_their_titles(site: Any) -> None:
    generate, _ = site
    text = generate.decisions(DOCS / "decisions")
    assert text.count("\n* [") == len(list((DOCS / "decisions").glob("*.md")))
    assert "* [001: tqdm is a dependency](../decisions/001-progress-bars.md)\n" in text
    numbers = sorted(int(path.name[:3]) for path in (DOCS / "decisions").glob("*.md"))
    assert sorted({*range(1, numbers[-1] + 1)} - {*numbers}) == [60, 61, 62], "the gap that the page mentions"
    assert "No decision has a number from 060 to 062." in text


def test_a_notebook_runs_once_until_it_changes(
    site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module("site_pages.executed")
    ran = []

    def run(text: str, target: Path, folder: Path) -> float:
        ran.append(text)
        target.write_text(f"{text} with outputs")
        return 1.0

    monkeypatch.setattr(module, "run", run)
    assert module.executed({"a": "A", "b": "B"}, tmp_path, tmp_path) == {"a": "A with outputs", "b": "B with outputs"}
    assert sorted(ran) == ["A", "B"] and "site: notebook 2 of 2: " in capsys.readouterr().out
    module.executed({"a": "A", "b": "new"}, tmp_path, tmp_path)
    assert ran[2:] == ["new"] and len(list(tmp_path.glob("*.ipynb"))) == 2


def test_the_site_is_copied_to_a_folder_and_sent_to_a_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    publish = importlib.import_module("docs.publish")
    site, target = tmp_path / "html", tmp_path / "public" / "docs"
    assert publish.publish(str(target), site) == 1 and "run `make docs`" in capsys.readouterr().err
    (site / "_static").mkdir(parents=True)
    (site / "index.html").write_text("the site")
    assert publish.publish(str(target), site) == 0
    assert (target / "index.html").read_text() == "the site" and (target / "_static").is_dir()
    sent: list[list[str]] = []
    monkeypatch.setattr(publish.shutil, "which", lambda name: name)
    monkeypatch.setattr(
        publish.subprocess,
        "run",
        lambda command, check: sent.append(command) or subprocess.CompletedProcess(command, 0),
    )
    assert publish.publish("me@host:public/docs", site) == 0
    (command,) = sent
    assert command[:3] == ["rsync", "-az", "--delete"] and command[-2:] == [f"{site}/", "me@host:public/docs"]
    assert [word for word in command if ".doctrees" in word] == ["--exclude=.doctrees"]


def test_a_target_that_cannot_be_meant_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish = importlib.import_module("docs.publish")
    site = tmp_path / "html"
    (site / ".doctrees").mkdir(parents=True)
    (site / "index.html").write_text("the site")
    (tmp_path / "a_file").touch()
    for target, told in (
        ("me@host", "me@host is not a folder; write me@host:path for a host"),
        ("", "the target is empty; name a folder"),
        (str(site), "is the site itself; name a folder outside it"),
        (str(site / "deep"), "is the site itself; name a folder outside it"),
        (str(tmp_path / "a_file"), "cannot be written: "),
    ):
        assert publish.publish(target, site) == 1
        assert told in capsys.readouterr().err
    assert publish.publish(str(tmp_path / "public"), site) == 0
    assert sorted(path.name for path in (tmp_path / "public").iterdir()) == [".nojekyll", "index.html"]


def test_the_landing_page_has_a_picture_the_installation_and_code() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    assert all(part in text for part in ("](pictures/stepper.svg)", "import minigrad as mg"))
    assert "pip install ." in text
    workflow = (DOCS.parent / ".github" / "workflows" / "docs.yml").read_text(encoding="utf-8")
    assert "make docs" in workflow and "python -m docs.publish" in workflow


def test_all_public_functions_are_listed_with_their_signatures(site: Any) -> None:
    generate, _ = site
    text = generate.functions()
    assert "## mg.sum\n" in text and "keepdim" in text and "## mg.Var\n" in text
    assert text.count("\n## mg.") > 200 and set(mg.__all__) > {"sum", "Var"}


def test_all_layers_are_listed_with_their_signatures(site: Any) -> None:
    generate, _ = site
    text = generate.layers()
    assert "## mg.nn.Conv2d\n" in text and "padding_mode" in text and "## mg.nn.utils.rnn.pad_sequence\n" in text
    assert "CrossEntropyLoss(weight: " in text and text.count("\n## mg.nn.") > 150


def test_what_has_not_changed_is_not_written_again(site: Any, tmp_path: Path) -> None:
    generate, _ = site
    path = tmp_path / "deep" / "page.md"
    generate.put(path, "one")
    first = path.stat().st_mtime_ns
    generate.put(path, "one")
    assert path.stat().st_mtime_ns == first
    generate.put(path, "two")
    assert path.read_text() == "two"


def test_every_page_of_docs_stands_in_the_contents() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for page in DOCS.glob("*.md"):
        assert page.name == "index.md" or f"\n{page.stem}\n" in index, page.name


def test_all_that_was_measured_is_on_the_page_and_the_readme_says_the_same(site: Any) -> None:
    benchmarks = importlib.import_module("site_pages.benchmarks")
    text = benchmarks.page(DOCS / "benchmarks")
    for path in (DOCS / "benchmarks").glob("*.json"):
        found = json.loads(path.read_text(encoding="utf-8"))
        rows, ratios = found["rows"], [row["ratio"] for row in found["rows"] if row["ratio"]]
        assert len(rows) >= 250 and all(f"\n| {escape(row['row'])} | " in text for row in rows)
        part = text[text.index(f"## {found['processor']}\n") :]
        assert f"Slower than PyTorch: {sum(r < 1 for r in ratios)} of {len(rows)} rows" in part
        assert f">{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}<" in part
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert "\n".join(benchmarks.comparison(DOCS / "benchmarks")) in readme


CHAPTERS = ["01_nudging.svg", "02_scalar_autograd.svg", "06_vjps.svg", "07_the_engine.svg"]


@pytest.mark.parametrize("name", ["graph.svg", "layers.svg", "stepper.svg", *CHAPTERS])
def test_a_picture_that_is_kept_is_what_is_drawn_now(drawn: Path, name: str) -> None:
    now, kept = ((folder / name).read_text(encoding="utf-8") for folder in (drawn, DOCS / "pictures"))
    assert boxes(now) == boxes(kept), "run: python -m docs.pictures.draw"


def test_the_ratio_and_the_error_of_a_nudge_add_up_to_the_slope() -> None:
    texts = boxes((DOCS / "pictures" / "01_nudging.svg").read_text(encoding="utf-8"))
    ratios = [float(text.strip(" =")) for text in texts if text.strip().startswith("= ")]
    errors = [float(text.rpartition(" ")[2]) for text in texts if "so the error is" in text]
    assert len(ratios) == len(errors) == 8 and "f does not change at all" in texts
    for ratio, error in zip(ratios, errors):
        assert abs(abs(ratio - 10) - error) <= max(0.006 * error, 5e-8)


def test_the_stepper_has_a_frame_per_step() -> None:
    text = (DOCS / "pictures" / "stepper.svg").read_text(encoding="utf-8")
    assert text.count('class="frame"') == text.count(">step ") + 1 and ">gradient of x: [11, 7, 13]<" in text


@pytest.mark.parametrize("name", ["stepper.svg", *CHAPTERS])
def test_an_animation_plays_without_a_script_or_a_network(name: str) -> None:
    text = (DOCS / "pictures" / name).read_text(encoding="utf-8")
    assert "<script" not in text and "prefers-color-scheme:dark" in text and "prefers-reduced-motion" in text
    assert len(text) < 40_000 and not re.search(r"(href|src)=|url\(|@import", text)
    count = text.count('class="frame"')
    total = float(re.findall(r"animation:frame (\S+)s step-end infinite", text)[0])
    starts = [float(delay) for delay in re.findall(r"animation-delay:(\S+)s", text)]
    # A frame that waits for its turn shows what it is without an animation, so none waits.
    assert starts == pytest.approx([total * (k / count - 1) for k in range(count)])


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pictures, drawn by a process of its own, in which nothing has names or numbers yet."""
    folder = tmp_path_factory.mktemp("pictures")
    program = f"import pathlib; from docs.pictures import draw; draw.main(pathlib.Path({str(folder)!r}))"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120, cwd=DOCS.parent)
    return folder


def boxes(svg: str) -> list[str]:
    """What is written in a picture."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_the_site_is_built_without_pytest() -> None:
    """The dependencies of `make docs` do not include those of the tests."""
    paths = [str(DOCS.parent), str(DOCS.parent / "tests"), str(DOCS)]
    text = f"import sys; sys.path[:0] = {paths}; sys.modules['pytest'] = None; from site_pages import generate"
    subprocess.run([sys.executable, "-c", text], check=True)


def test_documentation_is_typeset(site: Any) -> None:
    pieces = importlib.import_module("site_pages.pieces")
    text = "\n".join(pieces.typeset(documentation(mg.nn.functional.max_pool2d)))
    assert "| `kernel_size` | int \\| Sequence\\[int\\] | Size of the window" in text and "---\n---" not in text
    assert "| error | cause |" in text and "**Gradient**" in text and "```text" not in text
    code = "\n".join(pieces.typeset("Return x*y_z, `a*b`.\n\n* an item [0]\n\n    x = [1]"))
    assert code == "Return x\\*y\\_z, `a*b`.\n\n* an item \\[0\\]\n\n    x = [1]\n"

    def public(x: int, _hidden: int = 0) -> int:
        return x

    assert pieces.signature(public) == "(x: int) -> int"
