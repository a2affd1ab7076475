"""Compare with another library: one function is run with both, forward and backward, up to the first difference.

The function is called with minigrad's tensors and with the other library's arrays.  While it runs, the variables of its
frame, and those of functions in the same file that it calls, are recorded line by line.  So the first value that
differs has a name and a line, for any library.  Then random cotangents are drawn for the results, and the gradients of
all recorded variables and of the inputs are compared, from the results back to the inputs.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minigrad.errors import ArgumentError, MinigradError, quantity
from minigrad.testing.report import Report

Array = NDArray[Any]
KNOWN = ("numpy", "torch", "jax")  # the libraries whose packages have their names


class CompareError(MinigradError, AssertionError):
    """Report that values or gradients differ between two libraries.

    facts: Attributes of the error: `what` is the name of the value, `line` is the line of code that computed the value,
    and `ours` and `theirs` are the values of minigrad and of the other library.
    """


@dataclass(frozen=True)
class Seen:
    """A value of a variable: its name, its line, the library's array, and a NumPy copy made at that time."""

    name: str
    line: int
    value: Any
    array: Array


class Library(ABC):
    """The operations of a library that a comparison needs."""

    @abstractmethod
    def leaf(self, x: Array) -> Any:
        """Return an array of the library; with floating elements, it is a leaf."""

    @abstractmethod
    def is_array(self, x: Any) -> bool:
        """Return whether a value is an array of this library with floating elements."""

    @abstractmethod
    def array(self, x: Any) -> Array:
        """Return a copy of the elements as a NumPy array."""

    def gradients(
        self, outputs: Sequence[Any], cotangents: Sequence[Array], wanted: Sequence[Any]
    ) -> list[Array | None] | None:
        """Return the gradients of <cotangents, outputs>, with None for a variable without one.

        The result is None for a library without automatic differentiation.
        """
        return None


class Torch(Library):
    """The interface of minigrad, PyTorch, and libraries with the same interface."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def leaf(self, x: Array) -> Any:
        return self.module.tensor(x, requires_grad=x.dtype.kind == "f")

    def is_array(self, x: Any) -> bool:
        return isinstance(x, self.module.Tensor) and x.is_floating_point()

    def array(self, x: Any) -> Array:
        return np.array(x.detach().cpu().numpy())

    def gradients(
        self, outputs: Sequence[Any], cotangents: Sequence[Array], wanted: Sequence[Any]
    ) -> list[Array | None] | None:
        pairs = [(y, self.module.tensor(v, dtype=y.dtype)) for y, v in zip(outputs, cotangents) if y.requires_grad]
        asked = [x for x in wanted if x.requires_grad]
        if not pairs or not asked:
            return [None] * len(wanted)
        ys, vs = [y for y, _ in pairs], [v for _, v in pairs]
        answers = iter(self.module.autograd.grad(ys, asked, vs, retain_graph=True, allow_unused=True))
        results = [next(answers) if x.requires_grad else None for x in wanted]
        return [None if g is None else self.array(g) for g in results]


class Arrays(Library):
    """The interface of NumPy, jax.numpy and others whose arrays NumPy reads; gradients are not compared."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def leaf(self, x: Array) -> Any:
        return self.module.asarray(x)

    def is_array(self, x: Any) -> bool:
        return isinstance(x, (np.floating, float)) or (hasattr(x, "__array__") and np.asarray(x).dtype.kind == "f")

    def array(self, x: Any) -> Array:
        return np.array(x)


def library_of(other: Any) -> tuple[Library, Any]:
    """Return the interface and the module of a library, given by name or module."""
    if isinstance(other, str):
        try:
            other = importlib.import_module("jax.numpy" if other == "jax" else other)
        except (ImportError, ValueError, TypeError) as error:  # the last two are for "" and ".name"
            raise not_imported(other) from error
    if not isinstance(other, ModuleType):
        raise ArgumentError(
            f"compare: other must be the name of a library or its module, got {other!r}; pass 'torch', 'jax' or "
            "'numpy', for example"
        )
    return (Torch(other) if hasattr(other, "autograd") else Arrays(other)), other


def not_imported(other: str) -> ArgumentError:
    """Return the error for a name that cannot be imported; only a known library is suggested for installation."""
    if other in KNOWN:
        return ArgumentError(f"compare: the library {other} is not installed; run pip install {other}")
    return ArgumentError(
        f"compare: other must be the name of a library or its module, got {other!r}, which cannot be imported; pass "
        "'numpy', 'torch' or 'jax', or a module"
    )


def compare(
    function: Callable[..., Any], other: Any, *inputs: Any, rtol: float = 1e-5, atol: float = 1e-6, seed: int = 0,
) -> Report:  # fmt: skip
    """Run a function with minigrad and with another library, and compare every value and gradient.

    function: Function of the inputs.  If its first parameter is named `lib`, this parameter receives the module of the
    library.
    other (str or module): "torch", "jax", "numpy", the name of another module, or a module.
    inputs (array_like): Inputs as NumPy arrays or values that NumPy converts.  Gradients are compared for floating
    inputs.
    rtol: Tolerance relative to the largest finite magnitude in the other library's array.
    atol: Absolute tolerance: two elements may differ by at most atol + rtol * largest magnitude.

    Returns: The comparison of each value, result and gradient; `print` shows it as text.

    Raises CompareError if a value, a shape or a gradient differs. The error describes the first value or shape that
    differs, in the order of the computation; if only gradients differ, it describes the first gradient in the order of
    the backward pass.
    Raises ArgumentError if `other` is not a library or is not installed, or if the function reads an attribute that the
    module or the arrays of the other library lack.
    """
    mine = sys.modules["minigrad"]
    ours = Torch(mine)
    theirs, module = library_of(other)
    arrays = [np.asarray(x) for x in inputs]
    first, result, leaves = traced(function, ours, mine, arrays)
    second, expected, others = traced(function, theirs, module, arrays)
    name = module.__name__
    report = Report(name=f"compare with {name}")
    for a, b in zip(first, second):
        if a.name != b.name or a.line != b.line:
            raise CompareError(
                f"compare: the function takes another branch: minigrad sets {a.name!r} in line {a.line}, and {name} "
                f"sets {b.name!r} in line {b.line}; compare a function with one branch"
            )
        report.checks.append(expect_close(f"{a.name!r}, set in line {a.line}", a.array, b.array, name, rtol, atol, a))
    results, right = as_list(result, ours), as_list(expected, theirs)
    if len(results) != len(right):
        raise CompareError(
            f"compare: the numbers of results must be equal, got {quantity(len(results), 'result')} from minigrad and "
            f"{len(right)} from {name}; return the same results with both"
        )
    for k, (y, z) in enumerate(zip(results, right)):
        report.checks.append(expect_close(f"result {k}", ours.array(y), theirs.array(z), name, rtol, atol))
    rng = np.random.default_rng(seed)
    cotangents = [np.asarray(rng.standard_normal(ours.array(y).shape)) for y in results]
    names = [*[f"input {k}" for k in range(len(leaves))], *[f"{s.name!r} of line {s.line}" for s in first]]
    mine_g = ours.gradients(results, cotangents, [*leaves, *[s.value for s in first]])
    other_g = theirs.gradients(right, cotangents, [*others, *[s.value for s in second]])
    if mine_g is not None and other_g is not None:
        report.checks += compare_gradients(names, mine_g, other_g, name, rtol, atol)
    else:
        report.notes.append(f"gradients are not compared: {name} computes none")
    if not report.checks:
        report.checks.append(("no floating value was compared; return one from the function", False))
    return report


def compare_gradients(
    names: list[str], mine: list[Array | None], other: list[Array | None], library: str, rtol: float, atol: float
) -> list[tuple[str, bool]]:
    """Raise CompareError for the first gradient that differs, from the last value to the inputs."""
    checks = []
    for what, a, b in reversed(list(zip(names, mine, other, strict=True))):
        if a is None and b is None:
            continue
        shape = (b if a is None else a).shape  # type: ignore[union-attr]
        left, right = (np.zeros(shape) if g is None else g for g in (a, b))
        checks.append(expect_close(f"the gradient of {what}", left, right, library, rtol, atol))
    return checks


def expect_close(
    what: str, ours: Array, theirs: Array, library: str, rtol: float, atol: float, seen: Seen | None = None
) -> tuple[str, bool]:
    """Raise CompareError unless two arrays have equal shapes and close values; return an entry of `Report.checks`."""
    line = None if seen is None else seen.line
    if ours.shape != theirs.shape:
        raise CompareError(
            f"compare: {what} has shape {ours.shape} in minigrad and {theirs.shape} in {library}", what=what, line=line
        )
    scale = float(np.nanmax(np.abs(theirs), initial=0.0, where=np.isfinite(theirs)))
    apart = ~np.isclose(ours, theirs, rtol=0.0, atol=atol + rtol * scale, equal_nan=True)
    if apart.any():
        index = tuple(int(i) for i in np.argwhere(apart)[0])
        raise CompareError(
            f"compare: {what} differs at {int(apart.sum())} of {quantity(apart.size, 'element')}, first at {index}: "
            f"minigrad computed {ours[index]:.8g} and {library} {theirs[index]:.8g}",
            what=what, line=line, ours=ours, theirs=theirs,
        )  # fmt: skip
    with np.errstate(invalid="ignore"):  # inf - inf
        largest = np.nanmax(np.abs(ours - theirs), initial=0.0)
    return f"{what}: {ours.dtype}{ours.shape}, largest difference {largest:.1e}", True


def as_list(result: Any, library: Library) -> list[Any]:
    """Return the results that are arrays with floating elements."""
    every = list(result) if isinstance(result, (tuple, list)) else [result]
    return [y for y in every if library.is_array(y)]


# ---- recording ------------------------------------------------------------------------------------------------------


def traced(
    function: Callable[..., Any], library: Library, module: Any, arrays: Sequence[Array]
) -> tuple[list[Seen], Any, list[Any]]:
    """Run a function; return the values of its variables, its result, its leaves."""
    leaves = [library.leaf(x) for x in arrays]
    first = next(iter(inspect.signature(function).parameters), None)
    seen: list[Seen] = []
    with looking_on(inspect.unwrap(function).__code__.co_filename, library, seen):
        try:
            result = function(*([module] if first == "lib" else []), *leaves)
        except Exception as error:
            if isinstance(error, AttributeError) and module.__name__ != "minigrad":
                expect_attribute(error, module)
            if first != "lib":
                error.add_note(
                    f"compare: the function ran with {module.__name__}; to call functions of both libraries, give it "
                    f"a first parameter `lib`, for example lambda lib, x: lib.exp(x)"
                )
            raise
    return seen, result, leaves


def expect_attribute(error: AttributeError, module: Any) -> None:
    """Raise ArgumentError if an attribute is missing because the module, or its arrays, do not have it."""
    name = module.__name__
    if error.obj is module:
        owner = f"the module {name}"
    elif hasattr(error.obj, "__array__"):
        owner = f"{name}'s {type(error.obj).__name__}"
    else:
        return
    raise ArgumentError(
        f"compare: the function must use only names that both libraries have, but {owner} has no {error.name!r}; call "
        "a function of both through a first parameter `lib`, for example lambda lib, x: lib.exp(x)"
    ) from error


@contextmanager
def looking_on(file: str, library: Library, seen: list[Seen]) -> Iterator[None]:
    """Record each variable that receives an array, in functions of one file that run inside the `with` block."""
    known: dict[int, dict[str, int]] = {}
    at: dict[int, int] = {}

    def note(frame: FrameType) -> None:
        before = known.setdefault(id(frame), {})
        for name, value in list(frame.f_locals.items()):
            if before.get(name) != id(value) and library.is_array(value):
                before[name] = id(value)
                seen.append(Seen(name, at.get(id(frame), frame.f_lineno), value, library.array(value)))

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        if event in ("line", "return"):
            note(frame)
            at[id(frame)] = frame.f_lineno
        if event == "return":
            known.pop(id(frame), None)
            at.pop(id(frame), None)
        return line

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        return line if frame.f_code.co_filename == file and frame.f_code.co_name != "looking_on" else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(before)
