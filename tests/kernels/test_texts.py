"""All generated texts depend only on what a kernel computes, and contain nothing unused."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
# Every op once as plain Python, forward and back: its texts are written, and nothing is compiled.
EVERY_OP = """
import warnings

import numpy as np
import op_support
from op_table import ROWS

import minigrad as mg

warnings.simplefilter("ignore")
for row in ROWS:
    dtype = "float32" if "float32" in row.dtypes else row.dtypes[-1]
    operands = op_support.operands(row, op_support.arrays(row), dtype, "cpu")
    row.fn(*operands)
    if row.smooth and mg.as_dtype(dtype).is_float:
        leaves = [mg.Var(x) if x.dtype.is_float else x for x in operands]
        y = row.fn(*leaves)
        (y if isinstance(y, mg.Tensor) else y[0]).backward()
x = mg.rand(30, 40)
for dtype in ("float16", "float32", "int32"):
    for dims in (None, 0, 1):
        for fold in (mg.sum, mg.prod, mg.amax, mg.any):
            fold(x.to(dtype), dims)
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two caches that two processes have filled, with other seeds of hashes and in other places."""
    made = [tmp_path_factory.mktemp(name) for name in ("one", "another_place")]
    running = []
    for seed, folder in enumerate(made, 1):
        environment = os.environ | {
            "NUMBA_DISABLE_JIT": "1", "PYTHONHASHSEED": str(seed), "MINIGRAD_CACHE_DIR": str(folder),
            "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)]),
        }  # fmt: skip
        running.append(subprocess.Popen([sys.executable, "-c", EVERY_OP], env=environment, cwd=folder))
    assert [process.wait(timeout=200) for process in running] == [0, 0]
    return [folder / "kernels" for folder in made]


def test_kernels_have_the_same_names_in_every_process(folders):
    one, other = ({path.name for path in folder.glob("*.py")} for folder in folders)
    assert one == other and len(one) > 200


def test_no_statement_of_a_generated_text_does_nothing(folders):
    idle = set()
    for path in folders[0].glob("*.py"):
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
    for path in folders[0].glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert str(HERE.parent) not in text and str(folders[0].parent) not in text and " at 0x" not in text, path.name
