"""Which private names of Numba the package uses: they are in one file, and the installed Numba has each of them."""

from __future__ import annotations

import ast
import operator
import re
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
from numba import float32, int16
from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen
from numba.core.registry import cpu_target
from numba.core.types import functions
from numba.np.ufunc import parallel

import minigrad
from minigrad.config import refuse_free_threading
from minigrad.kernels.cpu import generator

PACKAGE = Path(minigrad.__file__).parent
# Each private name with where Numba has it.
NAMES = {
    "_add_module": JITCPUCodegen, "_customize_tm_options": JITCPUCodegen, "set_env": JITCPUCodegen,
    "_engine": cpu_target.target_context.codegen(), "_tm": cpu_target.target_context.codegen(),
    "_final_module": CPUCodeLibrary, "_internal_codegen": cpu_target.target_context, "_launch_threads": parallel,
}  # fmt: skip


def private_names(path: Path) -> set[str]:
    """The attributes and imported names of a file that begin with one underscore and are Numba's."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    used |= {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numba")
        for alias in node.names
    }
    used |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return used & set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_numba_has_the_private_name(name: str) -> None:
    owner = NAMES[name]
    source = Path(owner.__module__.replace(".", "/")) if isinstance(owner, type) else None
    there = hasattr(owner, name) or f"self.{name}" in _source(owner)
    assert there, f"{name} is gone from {source or owner}; see {generator.__file__}"


def _source(owner: object) -> str:
    import inspect

    return inspect.getsource(owner if isinstance(owner, type) else type(owner))


def test_private_names_of_numba_are_in_one_file() -> None:
    home = Path(generator.__file__)
    assert private_names(home) == set(NAMES)
    elsewhere = {
        path.relative_to(PACKAGE).as_posix(): names
        for path in PACKAGE.rglob("*.py")
        if path != home and (names := private_names(path) - {"set_env"})
    }
    assert elsewhere == {}


def test_the_next_numba_has_to_be_tried_first() -> None:
    lines = [line for line in requires("minigrad") or () if re.match(r"numba\b(?!-)", line)]
    assert lines and all("<0." in line for line in lines), lines


def test_a_free_threaded_python_is_refused_in_a_sentence() -> None:
    refuse_free_threading(False)
    with pytest.raises(
        ImportError, match=r"requires a Python with the global interpreter lock.* install the standard build"
    ):
        refuse_free_threading(True)


def test_an_operator_is_resolved_once_and_only_for_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, resolved = functions.BaseFunction.get_call_type, []

    def counted(function: Any, typing: Any, args: Any, kws: Any) -> Any:
        resolved.append(args)
        return usual(function, typing, args, kws)

    monkeypatch.setattr(functions.BaseFunction, "get_call_type", counted)
    monkeypatch.setattr(generator, "_signatures", {})
    with generator.near():
        add = cpu_target.typing_context.resolve_value_type(operator.add)
        for operands in ((int16, int16), (int16, int16), (float32, int16)):
            found = add.get_call_type(cpu_target.typing_context, operands, {})
    assert found.return_type == float32 and resolved == [(int16, int16), (float32, int16)]
    add.get_call_type(cpu_target.typing_context, (int16, int16), {})
    assert len(resolved) == 3
