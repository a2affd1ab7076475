"""The documentation is true: its code runs, the files that it names exist, and its docstring examples pass."""

import contextlib
import doctest
import importlib
import io
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cases import over
from layouts import LAYOUTS
from op_rows.row import ALL

import minigrad as mg

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
HOWTO = sorted((ROOT / "docs" / "howto").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")), *HOWTO, *DECISIONS]
# Templates have free names, which specialize fills in; they are imported as text only.
TEMPLATES = "minigrad.kernels.cpu."
MODULES = [
    module.name
    for module in pkgutil.walk_packages(mg.__path__, "minigrad.")
    if not module.name.startswith(TEMPLATES) and not module.name.endswith("__main__")
]


def run(page, folder):
    """Run a page's python blocks as one program with the page's own line numbers; gives its names and its output.

    It is a file, since an op is compiled from the source of its declaration.
    """
    inside, lines = False, []
    for line in page.read_text(encoding="utf-8").splitlines():
        fence = line.startswith("```")
        lines.append(line if inside and not fence else "")
        inside = line == "```python" if fence else inside
    program = folder / f"{page.stem}.py"
    program.write_text("\n".join(lines))
    names, printed = {"__name__": page.stem}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program.read_text(), str(program), "exec"), names)
    return names, printed.getvalue()


def test_the_readme_shows_numbers_that_come_out(schema, tmp_path):
    _, printed = run(ROOT / "README.md", tmp_path)
    assert printed.startswith("tensor([28., 10., 40.], op=add)\n") and "\ntensor([11.,  7., 13.])\n" in printed
    assert "recorded: 4 ops from 1 Var:" in printed and "has freed" not in printed


def test_the_tour_runs(tmp_path):
    names, printed = run(ROOT / "docs" / "tour.md", tmp_path)
    assert names["y"].tolist() == [28.0, 10.0, 40.0]
    assert "recorded: 4 ops from 1 Var:" in printed


def test_the_tour_counts_the_lines_of_its_files():
    text = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    counted = {name: int(lines) for name, lines in re.findall(r"^\| \d+ \| `(.*?)` \| (\d+) \|", text, re.MULTILINE)}
    assert len(counted) == 12 and counted == {name: lines_of(ROOT / name) for name in counted}


def test_the_readme_counts_the_lines_of_the_package_within_two_percent():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    said = int(re.search(r"whole package has about\s+([\d,]+) lines", text)[1].replace(",", ""))
    counted = sum(map(lines_of, (ROOT / "minigrad").rglob("*.py")))
    assert abs(said - counted) <= 0.02 * counted, f"the README says {said} lines, and minigrad/**/*.py has {counted}"


def test_the_commands_of_the_page_for_contributors_are_targets_of_make():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"test", "lint"} <= set(re.findall(r"^    make (\w+)", text, re.MULTILINE)) <= set(targets)
    assert "(CONTRIBUTING.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def lines_of(path):
    return len(path.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("page", HOWTO, ids=lambda page: page.stem)
def test_a_page_of_advice_runs(page, tmp_path):
    names, _ = run(page, tmp_path)
    assert "mg" in names


def test_the_page_on_debugging_shows_what_it_says(tmp_path):
    _, printed = run(ROOT / "docs" / "howto" / "debugging.md", tmp_path)
    assert "is None\n  - detach() at " in printed and "gradcheck: agrees" in printed and "sqrt" in printed


def test_the_op_that_is_added_passes_the_tests_of_every_op(schema, tmp_path, request):
    from ops import test_forward, test_gradients

    names, _ = run(ROOT / "docs" / "add_an_op.md", tmp_path)
    row = names["row"]
    assert schema["lorentzian"].public is names["lorentzian"] and row.ops == ("lorentzian",)
    for device in ("reference", "cpu"):
        whole = device == "reference" or request.config.getoption("--full")
        for layout in LAYOUTS if whole else ("dense", "transposed"):
            test_forward.test_values_do_not_depend_on_the_layout(row, device, layout)
            test_gradients.test_gradient(row, device, layout)
        for dtype in row.dtypes if whole else ("float64", "float32", "int32"):
            test_forward.test_dtypes(row, device, dtype)
        test_gradients.test_second_derivative(row, device)
    for row in (names["spread_row"], names["squares_row"]):
        assert schema[row.name].public is names[row.name] and row.ops == (row.name,)
        row.check_ops(schema)
        for dtype in ALL:
            test = test_forward.test_dtypes if dtype in row.dtypes else test_forward.test_other_dtypes_are_refused
            if dtype in row.dtypes or row.refuses:
                test(row, "reference", dtype)
        for layout in (*LAYOUTS, "broadcast"):
            test_forward.test_values_do_not_depend_on_the_layout(row, "reference", layout)
        if row.smooth:
            test_gradients.test_gradient(row, "reference", "dense")
            test_gradients.test_second_derivative(row, "reference")


def test_the_docstrings_of_the_page_are_sentences_that_lint_accepts():
    page = ROOT / "docs" / "add_an_op.md"
    declared = r'^@(?:mg\.)?(?:elementwise|reduction|composed)\(.*\)\ndef (\w+)\(.*\n    """(\S+)'
    first = dict(re.findall(declared, "\n".join(blocks(page, "python")), re.MULTILINE))
    assert len(first) == 7 and {word for word in first.values() if not word.isdecimal()} == {"Return"}, first


def blocks(page, language):
    """The fenced blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def edit(root, block):
    """Do what a diff block says: in the file of its first line, what stands there becomes what should, once each."""
    name, _, changes = block.removeprefix("--- ").partition("\n")
    path = root / name
    text = path.read_text(encoding="utf-8")
    for change in changes.split("@@\n"):
        lines = change.splitlines(keepends=True)
        before, after = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
        assert text.count(before) == 1, f"{name} has {text.count(before)} times:\n{before}"
        text = text.replace(before, after)
    path.write_text(text, encoding="utf-8")


def test_the_steps_of_adding_an_op_are_all_there_are(tmp_path):
    page = ROOT / "docs" / "add_an_op.md"
    for part in ("minigrad", "tests"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "minigrad" / "ops" / "nn" / "activation.py").open("a") as file:
        file.write("\n\n" + blocks(page, "python")[0])
    for block in blocks(page, "diff"):
        edit(tmp_path, block)
    driven = ("ops/test_schema", "ops/test_forward", "ops/test_gradients", "test_in_place", "test_methods")
    chosen = "(lorentzian and not cpu) or (test_schema and not bad and not several)"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen]
    command += [f"tests/{name}.py" for name in driven]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    program = "import minigrad as mg; x = mg.tensor([1.0], device='reference'); print(x.lorentzian_() is x, x.tolist())"
    printed = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert printed.stdout == "True [0.5]\n", printed.stderr
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:]
    assert int(re.search(r"cases: (\d+) in", done.stdout)[1]) > 100


@over("page", PAGES, ids=lambda page: page.stem)
def test_every_file_that_a_page_names_exists(page):
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w./-])(?:minigrad|tests|docs|examples|notebooks)/[\w./-]*\w[\w/]*", text))
    bare = set(re.findall(r"`([a-z_]+\.py|[a-z]+/)`", text))  # in the README's map: of the package, or beside it
    folders = (ROOT, ROOT / "minigrad", ROOT / "examples")
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert [path for path in bare if not any((folder / path).exists() for folder in folders)] == []


WORDS = 350  # of a decision; a limit of its lines makes lines long


@over("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_says_context_decision_and_consequences_in_few_words(page):
    text = page.read_text(encoding="utf-8")
    number = page.name[:3]
    assert text.startswith(f"# {number}: ")
    assert re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE) == ["Context", "Decision", "Consequences"]
    words = len(text.split())
    assert 60 <= words <= WORDS, f"{words} words: shorten it to {WORDS}"


def test_what_the_page_on_casts_says_holds():
    assert mg.tensor(300.0).to(mg.uint8).item() == 255
    assert mg.tensor(300).to(mg.uint8).item() == 44
    assert mg.tensor([-2.7, float("nan"), float("inf")]).to(mg.int8).tolist() == [-2, 0, 127]
    assert mg.tensor([0.5, 0.0, float("nan")]).to(mg.bool).tolist() == [True, False, True]


@over("name", MODULES, items=16)
def test_the_examples_in_docstrings_hold(name):
    if name == "minigrad.backends.cuda.device":
        pytest.importorskip("cuda.core", reason="cuda-core is not installed")
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, extraglobs={"mg": mg})
    assert failed == 0
