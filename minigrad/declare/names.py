"""Where users find each op: namespaces, methods of Tensor and in-place forms, entered by the declarations.

`mg`, `mg.nn.functional` and the methods are made from these tables, and so are the stubs and the reference pages.  The
folder of a declaration is its default namespace: `ops/nn` is `mg.nn.functional`, every other folder is `mg`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.declare.docstring import document

MG, FUNCTIONAL, LINALG, SPECIAL = "mg", "nn.functional", "linalg", "special"
namespaces: dict[str, dict[str, Callable[..., Any]]] = {MG: {}, FUNCTIONAL: {}, LINALG: {}, SPECIAL: {}}
methods: dict[str, Callable[..., Any]] = {}
in_place: dict[str, Callable[..., Any]] = {}


def default_namespace(module: str) -> tuple[str, ...]:
    """Return the namespace of a declaration that names none; users' own ops have none."""
    if not module.startswith("minigrad.ops."):
        return ()
    return (FUNCTIONAL,) if module.startswith("minigrad.ops.nn.") else (MG,)


def enter(function: Callable[..., Any], namespace: str | tuple[str, ...] | None, method: bool, writes: bool) -> None:
    """Enter a public function under its name: in namespaces, as a method, and with an in-place form."""
    name = function.__name__
    if function.__doc__.__class__ is str:
        document(function)
    where = default_namespace(function.__module__) if namespace is None else namespace
    for each in (where,) if isinstance(where, str) else where:
        namespaces.setdefault(each, {})[name] = function
    if method:
        methods[name] = function
        if writes:
            in_place[name] = function


def listed(names: Sequence[str]) -> Callable[[], list[str]]:
    """Return the `__dir__` of a module that shows its public names only."""
    return lambda: list(names)
