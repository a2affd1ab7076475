"""A new process: its imports, the kernel cache on disk, and running without a compiler."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import minigrad as mg
from minigrad.declare.record import schema
from minigrad.errors import KernelError
from minigrad.kernels import objects, store

ROOT = Path(__file__).parent.parent
SIMPLE_GRAD = """
import json, sys
import minigrad as mg
x = mg.Var([3.0, 1.0, 4.0])
y = x * x + x * 5.0 + 4.0
grads = y.backward()
print(json.dumps([y.tolist(), grads[x].tolist(), x.tolist(), sorted(m for m in sys.modules if m.count(".") == 0)]))
"""
RIGHT = [[28.0, 10.0, 40.0], [11.0, 7.0, 13.0], [3.0, 1.0, 4.0]]


def start(code: str, **environment: str) -> subprocess.Popen[str]:
    """A fresh Python that runs `code`."""
    return subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def result(process: subprocess.Popen[str]) -> Any:
    """What it printed, read as JSON."""
    try:
        out, errors = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0, errors[-2000:]
    return json.loads(out)


def files(folder: Path) -> dict[str, int]:
    """Every file under a folder with the time of its last change."""
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("*") if p.is_file()}


# ---- imports --------------------------------------------------------------------------------------------------------


def test_importing_minigrad_declares_every_op() -> None:
    code = """
import json, pkgutil, importlib
import minigrad as mg
before = set(mg.schema)
for part in ("ops", "nn"):
    package = importlib.import_module(f"minigrad.{part}")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"minigrad.{part}.{module.name}")
print(json.dumps([len(before), sorted(set(mg.schema) - before)]))
"""
    count, more = result(start(code))
    assert count > 140 and not more


def test_importing_minigrad_imports_neither_numba_nor_graphviz_nor_tqdm() -> None:
    modules = set(result(start("import json, sys; import minigrad; print(json.dumps(sorted(sys.modules)))")))
    assert "minigrad" in modules and "numpy" in modules
    assert modules & {"numba", "llvmlite", "graphviz", "tqdm", "IPython", "matplotlib", "torch"} == set()


def test_functions_of_layers_import_no_modules() -> None:
    code = "import json, sys, minigrad as mg; mg.nn.functional.relu; print(json.dumps(sorted(sys.modules)))"
    modules = result(start(code))
    assert "minigrad.nn.functional" in modules
    assert not [name for name in modules if name.startswith(("minigrad.nn.modules", "minigrad.nn.utils"))]


def test_the_reference_device_and_views_need_no_numba() -> None:
    code = SIMPLE_GRAD.replace("[3.0, 1.0, 4.0])", '[3.0, 1.0, 4.0], device="reference")')
    *values, modules = result(start(code + "\nassert x.reshape(3, 1).T[0, ::-1].shape == (3,)"))
    assert values == RIGHT and "numba" not in modules


def test_simple_grad_runs_as_plain_python_without_the_compiler(tmp_path: Path) -> None:
    *values, modules = result(start(SIMPLE_GRAD, NUMBA_DISABLE_JIT="1", MINIGRAD_CACHE_DIR=str(tmp_path)))
    assert values == RIGHT and "numba" in modules
    assert {Path(name).suffix for name in files(tmp_path)} <= {".py", ".pyc"}, "nothing may have been compiled"


# ---- the kernel cache -----------------------------------------------------------------------------------------------


def test_a_cache_that_others_may_read_is_closed(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    folder.chmod(0o777)
    with mg.override(cache_dir=tmp_path):
        assert store.cache_folder() == folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_fresh_cache_is_ours_alone(tmp_path: Path) -> None:
    with mg.override(cache_dir=tmp_path / "a" / "b"):
        folder = store.cache_folder()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and folder == tmp_path / "a" / "b" / "kernels"


def test_a_cache_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernels").mkdir(mode=0o755)
    owner = (tmp_path / "kernels").stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    with (
        mg.override(cache_dir=tmp_path),
        pytest.raises(KernelError, match=rf"belongs to user {owner}; set MINIGRAD_CACHE_DIR to a folder of your own"),
    ):
        store.cache_folder()
    assert stat.S_IMODE((tmp_path / "kernels").stat().st_mode) == 0o755, "a foreign folder must stay as it is"


def test_two_processes_fill_one_empty_cache_and_a_third_compiles_nothing(tmp_path: Path) -> None:
    both = [start(SIMPLE_GRAD, MINIGRAD_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    for process in both:
        assert result(process)[:3] == RIGHT
    filled = files(tmp_path)
    assert {Path(name).suffix for name in filled} >= {".py", ".o"}
    assert not [name for name in filled if Path(name).name.startswith(".")], "a temporary file was left"
    assert result(start(SIMPLE_GRAD, MINIGRAD_CACHE_DIR=str(tmp_path)))[:3] == RIGHT
    assert files(tmp_path) == filled


def test_a_kernel_is_named_by_its_code() -> None:
    """Other code, another file: a stale cache cannot give a wrong kernel."""
    schema["mul"].plans.clear()
    with store.watch() as seen:
        mg.ones(3, dtype="int16") * mg.ones(3, dtype="int16")
    assert seen
    for path in seen:
        assert Path(path).stem.endswith(objects.digest(Path(path).read_text(encoding="utf-8"))[:16])
