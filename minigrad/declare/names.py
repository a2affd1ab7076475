"""Tables of the public names of ops: namespaces, methods of Tensor and in-place forms.

The declarations fill these tables.  `mg`, `mg.nn.functional`, the methods, the stubs and the reference pages are made
from them.  The folder of a declaration determines its default namespace: `mg.nn.functional` for `ops/nn`, and `mg` for
every other folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.declare.manual import document

MG, FUNCTIONAL, LINALG, SPECIAL = "mg", "nn.functional", "linalg", "special"
namespaces: dict[str, dict[str, Callable[..., Any]]] = {MG: {}, FUNCTIONAL: {}, LINALG: {}, SPECIAL: {}}
methods: dict[str, Callable[..., Any]] = {}
in_place: dict[str, Callable[..., Any]] = {}


def default_namespace(module: str) -> tuple[str, ...]:
    """Return the default namespaces of an op from the module of its declaration; () for a user's op."""
    if not module.startswith("minigrad.ops."):
        return ()
    return (FUNCTIONAL,) if module.startswith("minigrad.ops.nn.") else (MG,)


def enter(function: Callable[..., Any], namespace: str | tuple[str, ...] | None, method: bool, writes: bool) -> None:
    """Add a public function to the tables of namespaces and methods, under its name.

    namespace: the namespaces, or None for the default namespace.  method: whether Tensor has the function as a method.
    writes: whether the method also has an in-place form.
    """
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
    """Return a `__dir__` function that lists only the given public names of a module."""
    return lambda: list(names)
