"""The loss of digits in a computation: each value is compared with the same value in float64.

A function is run in float64 first, and then in other dtypes, op by op, with special transforms.  A value of such a run
has two errors.  Its distance from the value of the first run is the total error so far.  Its distance from the result
of the same op in float64, for the same rounded operands, is the error that this op added.  If the first error is large
and the second is small, the op has amplified errors of its operands: a difference of nearly equal numbers is exact, but
it consists mostly of their errors.  A cast from float to float is treated as a part of the preceding op.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ml_dtypes import finfo
from numpy.typing import NDArray

from minigrad.core.dtype import DType, complex128, float64
from minigrad.core.op import Op
from minigrad.diagnostics.flow import values
from minigrad.errors import ArgumentError, DTypeError, MinigradError
from minigrad.ops.casting import cast
from minigrad.ops.generators import Streams
from minigrad.runtime.data import wide as doubles
from minigrad.runtime.dispatch import apply
from minigrad.runtime.recording import no_grad, user_line
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.tracers import Tracer, Transform


@dataclass(frozen=True)
class Error:
    """Describe the element of a value with the largest error.

    `got` is the element, `right` is its correct value, and `index` is its index.  `size` is the relative error in units
    of eps, the distance from 1 to the next number of the dtype.  If `got` and `right` differ, and one of them is not
    finite or `right` is 0, `size` is inf.
    """

    size: float
    got: complex = 0.0
    right: complex = 0.0
    index: tuple[int, ...] = ()

    @property
    def finite(self) -> bool:
        """Return whether the element is finite, or the correct value is not finite either."""
        return bool(np.isfinite(self.got) or not np.isfinite(self.right))


@dataclass(frozen=True)
class Errors:
    """The errors of a value in one dtype: `own` is the error that arose in this op, and `total` the error so far."""

    own: Error
    total: Error


@dataclass(eq=False)
class Vertex:
    """Describe one value of a computation: an input, a constant or the result of an op.

    `kind` is "input", "constant" or "op".  `parents` contains the indices of the vertices of the operands.  `source` is
    the user's line of code.  `right` is the value in the float64 run, and `errors` maps the dtype of each other run to
    the errors of the value in this run.
    """

    number: int
    kind: str
    name: str
    parents: tuple[int, ...]
    source: str | None
    right: NDArray[Any]
    errors: dict[DType, Errors] = field(default_factory=dict)

    def like(self, other: Vertex) -> bool:
        """Return whether two vertices are the same step of a computation."""
        return (self.kind, self.name, sorted(self.parents), self.source, self.right.shape) == (
            other.kind, other.name, sorted(other.parents), other.source, other.right.shape
        )  # fmt: skip

    def __str__(self) -> str:
        return f"{self.name}{self.right.shape}" + (f" at {self.source}" if self.source else "")


class Annotated(Tracer):
    """A tensor inside a run, with the index of its vertex as a note."""

    __slots__ = ("note", "value")

    def __init__(self, transform: Transform, value: Tensor, note: Any) -> None:
        super().__init__(transform, value.layout, value.dtype, value.device)
        self.value, self.note = value, note


class Run(Transform):
    """A run of a function; the notes of its values are the indices of their vertices, of which there are `count`."""

    def __init__(self, dtype: DType) -> None:
        super().__init__()
        self.dtype, self.count = dtype, 0

    def detached(self, x: Any) -> Tensor:
        return Annotated(self, x.value.detach(), x.note)

    def derives(self, x: Any, recorded: bool) -> bool:
        return False

    def elements(self, x: Tensor) -> Tensor:
        """Return the tensor inside a value of this transform; return others unchanged."""
        return x.value if isinstance(x, Annotated) and x.transform is self else x

    @abstractmethod
    def computed(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> tuple[Any, Any]:
        """Return the result of an op in this run, and the correct result for the same operands."""

    def rounded(self, number: int, value: Tensor) -> None:
        """Process a float-to-float cast.  It gets no vertex, because the float64 run lacks some of these casts."""

    @abstractmethod
    def note(self, vertex: Vertex, value: Tensor) -> None:
        """Record a value; the vertex's `right` is the correct value for its operands."""

    def noted(
        self, kind: str, name: str, value: Tensor, fair: Tensor, parents: tuple[int, ...] = (), line: str | None = None
    ) -> int:
        """Record a value and return the index of its vertex."""
        self.note(Vertex(self.count, kind, name, parents, line, wide(fair)), value)
        self.count += 1
        return self.count - 1

    def input(self, x: Tensor, name: str) -> Tensor:
        """Return an input, converted to the dtype of the run if it is a float."""
        value = cast(x, dtype=self.dtype) if x.dtype.is_float else x
        return Annotated(self, value, self.noted("input", name, value, x))

    def call(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
        line = user_line()
        plain = tuple([self.elements(x) for x in operands])
        parents = tuple([self.number_of(x) for x in operands])
        result, fair = self.computed(op, plain, params)
        if op.name == "cast" and plain[0].dtype.is_float and result.dtype.is_float:
            self.rounded(parents[0], result)
            return Annotated(self, result, parents[0])
        if op.result is None:
            return Annotated(self, result, self.noted("op", op.label, result, fair, parents, line))
        names = [f"{op.label}.{name}" for name in op.outputs]
        return op.result(
            *[Annotated(self, y, self.noted("op", name, y, should, parents, line))
              for y, should, name in zip(result, fair, names, strict=True)]
        )  # fmt: skip

    def number_of(self, x: Tensor) -> int:
        """Return the index of an operand's vertex; a constant is recorded first."""
        return x.note if isinstance(x, Annotated) and x.transform is self else self.noted("constant", "constant", x, x)


class Exact(Run):
    """The run in float64, which determines the vertices."""

    def __init__(self) -> None:
        super().__init__(float64)
        self.vertices: list[Vertex] = []

    def computed(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> tuple[Any, Any]:
        result = in_float64(op, operands, params)
        return result, result

    def note(self, vertex: Vertex, value: Tensor) -> None:
        self.vertices.append(vertex)


class Rough(Run):
    """Run a function in another dtype, and compare each value with the float64 run.

    `name` is the name of the calling function, for error messages.  `fair` contains for each vertex the value that the
    op would have without rounding, computed in float64 from the rounded operands of this run.  `refused` is True if the
    run took another branch than the float64 run.
    """

    def __init__(self, dtype: DType, vertices: Sequence[Vertex], name: str) -> None:
        super().__init__(dtype)
        self.vertices, self.name, self.refused = vertices, name, False
        self.eps = eps_of(dtype)
        self.fair: list[NDArray[Any]] = []

    def computed(self, op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> tuple[Any, Any]:
        return apply(op, operands, params), in_float64(op, operands, params)

    def note(self, vertex: Vertex, value: Tensor) -> None:
        if vertex.number >= len(self.vertices) or not vertex.like(self.vertices[vertex.number]):
            self.refuse(vertex)
        exact = self.vertices[vertex.number]
        # A constant has no operands, so its correct value is its value in float64.  The correct value of an input is
        # the given value.
        self.fair.append(exact.right if vertex.kind == "constant" else vertex.right)
        exact.errors[self.dtype] = self.errors_of(exact, value)

    def rounded(self, number: int, value: Tensor) -> None:
        vertex = self.vertices[number]
        errors = self.errors_of(vertex, value)
        if errors.own.size > vertex.errors[self.dtype].own.size:
            vertex.errors[self.dtype] = errors

    def errors_of(self, vertex: Vertex, value: Tensor) -> Errors:
        """Return the distances of a value from both correct values."""
        got = wide(value)
        return Errors(*[worst(got, right, self.eps) for right in (self.fair[vertex.number], vertex.right)])

    def refuse(self, vertex: Vertex | None) -> None:
        """Raise ArgumentError, because the run takes another branch; `vertex` is None at the end of the function."""
        self.refused = True
        number = self.count if vertex is None else vertex.number
        here = "the end" if vertex is None else str(vertex)
        there = str(self.vertices[number]) if number < len(self.vertices) else "the end"
        raise ArgumentError(
            f"{self.name}: f must run the same ops in {self.dtype} as in float64, but in {self.dtype} comes {here} and "
            f"in float64 {there}; use mg.where instead of if, for example"
        )


def in_float64(op: Op, operands: tuple[Tensor, ...], params: dict[str, Any]) -> Any:
    """Run an op with all inexact operands and dtype parameters converted to float64 or complex128."""
    operands = tuple([cast(x, dtype=doubled(x.dtype)) if x.dtype.is_inexact else x for x in operands])
    params = {k: doubled(v) if isinstance(v, DType) else v for k, v in params.items()}
    return apply(op, operands, params)


def doubled(dtype: DType) -> DType:
    """Return float64 for a float dtype, complex128 for a complex one, and other dtypes unchanged."""
    return float64 if dtype.is_float else complex128 if dtype.is_complex else dtype


def eps_of(dtype: DType) -> float:
    """Return the distance from 1 to the next larger number of a floating dtype."""
    return float(finfo(dtype.numpy).eps)


def wide(x: Tensor) -> NDArray[Any]:
    """Return the elements as a new array, with floats as float64 and complex numbers as complex128."""
    elements = values(x)
    return doubles(elements) if x.dtype.is_inexact else elements.copy()


def worst(got: NDArray[Any], right: NDArray[Any], eps: float) -> Error:
    """Return the error of the element with the largest relative error."""
    if not got.size:
        return Error(0.0)
    with np.errstate(all="ignore"):
        a, b = doubles(got), doubles(right)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        sizes = np.where(same, 0.0, np.abs(a - b) / np.abs(b) / eps)
    sizes = np.where(np.isnan(sizes), np.inf, sizes)
    at = tuple(int(i) for i in np.unravel_index(np.argmax(sizes), sizes.shape))
    return Error(float(sizes[at]), a[at].item(), b[at].item(), at)


def compared(
    f: Callable[..., Any], inputs: Sequence[Tensor], names: Sequence[str], dtypes: Sequence[DType], name: str
) -> tuple[list[Vertex], set[int]]:
    """Return the vertices of f in the order of their computation, and the indices of the values that f returned.

    All runs draw the same random numbers, and the program's generators do not advance.  Raises ArgumentError if f takes
    another branch in a dtype or computes nothing from its inputs, and DTypeError if f raises an error in a dtype.
    """
    exact = Exact()
    ends = followed(exact, f, inputs, names)
    if not any(vertex.kind == "op" for vertex in exact.vertices):
        raise ArgumentError(
            f"{name}: f must compute its result from its inputs with ops, got no op; use the inputs in f"
        )
    for dtype in dtypes:
        rough = Rough(dtype, exact.vertices, name)
        try:
            followed(rough, f, inputs, names)
        except MinigradError as error:
            if rough.refused:
                raise
            raise DTypeError(
                f"{name}: f raises an error in {dtype}, but not in float64: {error}; remove {dtype} from dtypes"
            ) from error
        if rough.count < len(exact.vertices):
            rough.refuse(None)
    return exact.vertices, ends


def followed(run: Run, f: Callable[..., Any], inputs: Sequence[Tensor], names: Sequence[str]) -> set[int]:
    """Run f on the values of a run, and return the indices of its results."""
    with run, no_grad(), Streams().repeated():  # the generators are reset, so each run draws the same random numbers
        result = f(*[run.input(x, name) for x, name in zip(inputs, names, strict=True)])
    pending, ends = [result], set()
    while pending:
        each = pending.pop()
        if isinstance(each, (tuple, list)):
            pending += each
        elif isinstance(each, dict):
            pending += each.values()
        elif isinstance(each, Annotated):
            ends.add(each.note)
    return ends
