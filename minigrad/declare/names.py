"""Tables of the public names of ops: namespaces, methods of Tensor and in-place forms.

The declarations fill these tables.  `mg`, `mg.nn.functional`, the methods, the stubs and the reference pages are made
from them.  The module of a declaration determines the default namespace, and whether an op has a method and `out=`: see
`HOMES`, `has_method` and `default_out`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from minigrad.declare.manual import document

MG, FUNCTIONAL, LINALG, SPECIAL, FFT = "mg", "nn.functional", "linalg", "special", "fft"
namespaces: dict[str, dict[str, Callable[..., Any]]] = {MG: {}, FUNCTIONAL: {}, LINALG: {}, SPECIAL: {}, FFT: {}}
methods: dict[str, Callable[..., Any]] = {}
in_place: dict[str, Callable[..., Any]] = {}


# The namespace of the ops in a folder or module of `ops/`; it is `mg` for all others.
SOLVERS = ("eigen", "factors", "lu", "matrices", "pseudo", "spectra", "systems")
HOMES = {"nn": FUNCTIONAL, "fourier": FFT, **{f"linalg.{module}": LINALG for module in SOLVERS}}


@cache
def default_namespace(module: str) -> tuple[str, ...]:
    """Return the default namespaces of an op from the module of its declaration; () for a user's op."""
    if not module.startswith("minigrad.ops."):
        return ()
    return (next((home for part, home in HOMES.items() if f"{module}.".startswith(f"minigrad.ops.{part}.")), MG),)


def default_out(module: str) -> bool:
    """Return whether a composed op takes `out=` by default: not in `ops/nn`, as in PyTorch."""
    return not module.startswith("minigrad.ops.nn.")


def has_method(function: Callable[..., Any], where: str | tuple[str, ...]) -> bool:
    """Return whether Tensor has an op as a method by default: an op of `mg`, but in `ops/nn` only elementwise ops."""
    if function.__module__.startswith("minigrad.ops.nn."):
        return (MG in where or FUNCTIONAL in where) and function.op.kind == "elementwise"  # type: ignore[attr-defined]
    return MG in where


def enter(
    function: Callable[..., Any], namespace: str | tuple[str, ...] | None, method: bool | None, writes: bool
) -> None:
    """Add a public function to the tables of namespaces and methods, under its name.

    namespace: the namespaces, or None for the default namespace.  method: whether Tensor has the function as a method,
    or None for the default.  writes: whether the method also has an in-place form.
    """
    name = function.__name__
    if function.__doc__.__class__ is str:
        document(function)
    where = default_namespace(function.__module__) if namespace is None else namespace
    for each in (where,) if isinstance(where, str) else where:
        namespaces.setdefault(each, {})[name] = function
    if has_method(function, where) if method is None else method:
        methods[name] = function
        if writes:
            in_place[name] = function


def listed(names: Sequence[str]) -> Callable[[], list[str]]:
    """Return a `__dir__` function that lists only the given public names of a module."""
    return lambda: list(names)
