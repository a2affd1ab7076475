"""All generated texts depend only on what a kernel computes, and contain nothing unused."""

import ast
from pathlib import Path

import kernel_texts
import pytest

import minigrad
from minigrad.kernels import objects

ROOT = Path(minigrad.__file__).parent
KERNELS = ROOT / "kernels"
WITH_EMPTY_CLASSES = ("generator.py",)  # a class without code is no syntax; no kernel imports this file


class Bare(ast.NodeTransformer):
    """Remove docstrings, and the modules of imports from minigrad."""

    def visit(self, node):
        self.generic_visit(node)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            del node.body[0]
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "minigrad":
            node.module = "minigrad"
        return node


def texts(folder):
    """Return the files of the kernels in a cache."""
    return list((folder / "kernels").glob("*.py"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two caches that two processes have filled, with other seeds of hashes and in other places."""
    made = [tmp_path_factory.mktemp(name) for name in ("one", "another_place")]
    running = [kernel_texts.writer(folder, seed) for seed, folder in enumerate(made, 1)]
    assert [process.wait(timeout=250) for process in running] == [0, 0]
    return made


def test_kernels_have_the_same_names_in_every_process(folders):
    one, other = map(kernel_texts.names, folders)
    assert one == other and len(one) > 200


def test_the_kernels_are_those_of_the_snapshot(folders):
    """A change of kernels on purpose writes the snapshot again: `python -m tests.kernel_texts`."""
    version, *recorded = kernel_texts.recorded()
    if version != kernel_texts.VERSION:
        pytest.skip(f"the snapshot was written by {version}")
    found = kernel_texts.names(folders[0])
    new, gone = sorted(set(found) - set(recorded)), sorted(set(recorded) - set(found))
    assert not new and not gone, f"{len(new)} new kernels, {new[:5]}, and {len(gone)} without an op, {gone[:5]}"


def test_the_code_of_a_text_is_its_syntax_tree_without_prose(folders):
    sources = [path for name in ("cpu", "cuda", "vecmath") for path in (KERNELS / name).glob("*.py")]
    sources = [path for path in sources if path.name not in WITH_EMPTY_CLASSES]
    for path in [*sources, *texts(folders[0])]:
        text = path.read_text(encoding="utf-8")
        code = objects.bare_code(text)
        assert ast.dump(ast.parse(code)) == ast.dump(Bare().visit(ast.parse(text))), path
        assert code == objects.bare_code(code), path


def test_prose_and_the_places_of_modules_are_not_part_of_a_key():
    text = 'def f(x):\n    """Return y."""\n    y = x  # a copy\n\n    # the end\n    return y\n'
    other = 'def f(x):\n    """Return\n\n    another "y"."""\n    y = x\n    return y\n'
    assert objects.digest(text) == objects.digest(other) != objects.digest(text.replace("= x", "= -x"))
    here, there = "from minigrad.kernels.cpu.tile import tile\n", "from minigrad.backends.products import tile\n"
    assert objects.digest(here) == objects.digest(there) != objects.digest(here.replace("import tile", "import line"))
    assert objects.digest("x = '#1'\n") != objects.digest("x = '#2'\n")
    assert objects.digest("x = 1  # 'one'\n") == objects.digest("x = 1\n")


def test_no_statement_of_a_generated_text_does_nothing(folders):
    idle = set()
    for path in texts(folders[0]):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            body = getattr(function, "body", None)
            if not isinstance(body, list):
                continue
            told = isinstance(function, (ast.Module, ast.FunctionDef)) and ast.get_docstring(function) is not None
            idle |= {
                f"{path.stem}: {ast.unparse(s)}"
                for s in body[told:]
                if isinstance(s, ast.Expr) and not isinstance(s.value, ast.Call) and not isinstance(s.value, ast.Yield)
            }
    assert idle == set()


def test_no_generated_text_tells_of_a_place_or_an_address(folders):
    for path in texts(folders[0]):
        text = path.read_text(encoding="utf-8")
        assert str(ROOT.parent) not in text and str(folders[0]) not in text and " at 0x" not in text, path.name
