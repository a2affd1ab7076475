"""Loops and branches under the names of `jax.lax`: `scan`, `while_loop`, `cond`, `map`, `associative_scan`.

They are Python: each round calls the function.  `mg.jit` finds the rounds in the recorded launches
(`jitting/repeats.py`), and stores, compiles and prints one of them, so a long scan is a short program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minigrad.autodiff.checkpoint import checkpoint as checkpointed
from minigrad.core.dtype import bool_
from minigrad.errors import ArgumentError, RecordingError, ShapeError
from minigrad.func.mapping import vmap
from minigrad.func.trees import Tree, flatten, unflatten
from minigrad.ops.creation import tensor
from minigrad.ops.pointwise.compare import where
from minigrad.ops.shape.joining import cat, stack, unbind
from minigrad.ops.shape.views import narrow
from minigrad.runtime.hosting import host
from minigrad.runtime.tensor import Tensor, describe
from minigrad.runtime.tracers import Tracer

Function = Callable[..., Any]


def scan(
    f: Function, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False, unroll: Any = 1, *,
    checkpoint: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Call `f` for each slice of `xs` along the first dim, and pass a carry from call to call.

    Parameters
    ----------
    f : callable
        Function of the carry and a slice of `xs`, which returns the next carry and an output. It must not write into
        them: outputs of earlier calls, and `init`, may share their memory.
    init : nested structure of tensors and numbers
        First carry; numbers become tensors.
    xs : nested structure of tensors, optional
        Tensors with a first dim of the same length. None: `f` receives None, `length` times.
    length : int, optional
        Number of calls; required without `xs`.
    reverse : bool, default False
        Whether to begin with the last slice. Outputs are in the order of the slices in either case.
    unroll : int or bool, default 1
        Accepted as in JAX; it has no effect.
    checkpoint : int, optional
        Number of calls after which the gradient stores the carry. The values between are computed again in the
        backward pass, so `checkpoint=45` stores 45 carries of 2,000 calls, and the values of 45 calls at a time.

    Returns
    -------
    carry : nested structure of tensors
        Last carry.
    outputs : nested structure of tensors
        Outputs of all calls, stacked along a new first dim.

    Raises
    ------
    ArgumentError
        If the number of calls is not determined, or `f` does not return a carry nested like `init` and an output.
    ShapeError
        If the tensors of `xs` differ in length, or the carry changes its shape or dtype.

    Gradient
    --------
    Of every order, with respect to `init`, `xs` and the tensors that `f` refers to; the calls are differentiated.

    Notes
    -----
    `mg.jit` stores and compiles one round. Without calls, `f` is called once with zeros to find the outputs.

    Examples
    --------
    >>> carry, sums = mg.func.scan(lambda total, x: (total + x, total + x), 0.0, mg.tensor([1.0, 2.0, 3.0]))
    >>> sums.tolist()
    [1.0, 3.0, 6.0]
    """
    leaves, tree = flatten(xs)
    count = length_of("scan", xs, leaves, length)
    if checkpoint is not None and (type(checkpoint) is not int or checkpoint < 1):
        raise ArgumentError(f"scan: checkpoint must be a positive int or None, got {checkpoint!r}; pass checkpoint=32")
    carry, form = flatten(init)
    carry = tensors(carry)
    if not count:
        zeros = unflatten(tree, [x if x is None else x.new_zeros(x.shape[1:]) for x in leaves])
        leaves, kind = flatten(next_carry(f, carry, form, zeros)[1])
        empty = [y if y is None else y.new_zeros((0, *y.shape)) for y in tensors(leaves)]
        return unflatten(form, carry), unflatten(kind, empty)
    rows = [(x,) * count if x is None else unbind(x) for x in leaves]
    order = [*range(count)][:: -1 if reverse else 1]
    kinds: list[Tree] = []

    def run(part: Sequence[int], carry: list[Any], *slices: Any) -> tuple[list[Any], list[Any]]:
        """Call `f` for some slices; return the carry and the leaves of the outputs."""
        made = []
        for k in range(len(part)):
            carry, output = next_carry(f, carry, form, unflatten(tree, [*slices[k :: len(part)]]))
            leaves, kind = flatten(output)
            kinds[:] = [kind]
            made.append(tensors(leaves))
        return carry, made

    outputs: list[Any] = []
    size = checkpoint or count
    for first in range(0, count, size):
        part = order[first : first + size]
        slices = [row[k] for row in rows for k in part]
        carry, more = checkpointed(run, part, carry, *slices) if checkpoint else run(part, carry, *slices)
        outputs += more
    columns = [list(column)[:: -1 if reverse else 1] for column in zip(*outputs)]
    stacked = [None if column[0] is None else stack(column) for column in columns]
    return unflatten(form, carry), unflatten(kinds[0], stacked)


def tensors(leaves: Sequence[Any]) -> list[Any]:
    """Return leaves with tensors instead of numbers."""
    return [x if isinstance(x, Tensor) or x is None else tensor(x) for x in leaves]


def next_carry(f: Function, carry: list[Any], form: Tree, x: Any) -> tuple[list[Any], Any]:
    """Return the leaves of the next carry and the output of one call of `scan`."""
    result = f(unflatten(form, carry), x)
    if not isinstance(result, tuple) or len(result) != 2:
        raise ArgumentError(f"scan: f must return a pair, the next carry and an output, got {describe(result)}")
    return checked("scan: f", carry, form, result[0]), result[1]


def checked(name: str, before: list[Any], form: Tree, value: Any) -> list[Any]:
    """Return the leaves of a carry, which must be nested like the one before and have its shapes and dtypes."""
    leaves, tree = flatten(value)
    if repr(tree) != repr(form):
        raise ArgumentError(f"{name} must return a carry that is nested like the first one, {form}, got {tree}")
    leaves = tensors(leaves)
    for x, y in zip(before, leaves):
        if x is not None and (y is None or x.shape != y.shape or x.dtype is not y.dtype):
            raise ShapeError(
                f"{name} must return a carry with the shape and dtype of the first one, {describe(x)}, got "
                f"{describe(y)}; convert one with .to(dtype) or expand"
            )
    return leaves


def length_of(name: str, xs: Any, leaves: Sequence[Any], length: int | None) -> int:
    """Return the number of calls."""
    if not all(x is None or isinstance(x, Tensor) and x.ndim for x in leaves):
        raise ArgumentError(f"{name}: xs must consist of tensors with a first dim, got {describe(xs)}; use mg.stack")
    lengths = dict.fromkeys([*[x.shape[0] for x in leaves if x is not None], *([] if length is None else [length])])
    if not lengths:
        raise ArgumentError(f"{name}: expected xs or length, got neither; pass length=10, for example")
    if len(lengths) > 1:
        raise ShapeError(f"{name}: xs and length must have one length, got {' and '.join([str(n) for n in lengths])}")
    return int(next(iter(lengths)))


def map(f: Function, xs: Any, *, batch_size: int | None = None) -> Any:
    """Call `f` for each slice of `xs` along the first dim, and stack the results.

    f: Function of a slice.
    xs: Tensors with a first dim of the same length.
    batch_size: Number of slices that `vmap` computes at once; by default, one slice at a time, which needs the least
    memory.

    Returns (nested structure of tensors): Results, stacked along a new first dim.

    Raises ArgumentError if `xs` contains anything other than tensors.
    Raises ShapeError if the tensors differ in length.

    >>> mg.func.map(lambda x: x * x, mg.tensor([1.0, 2.0, 3.0])).tolist()
    [1.0, 4.0, 9.0]
    """
    if batch_size is not None:
        return vmap(f, chunk_size=batch_size)(xs)
    return scan(lambda _, x: ((), f(x)), (), xs)[1]


def while_loop(cond_fun: Function, body_fun: Function, init_val: Any) -> Any:
    """Return the first value of `init_val`, `body_fun(init_val)`, ... for which `cond_fun` is false.

    cond_fun: Function of the value, which returns a boolean or a 0-d tensor.
    body_fun: Function of the value, which returns the next value with the same nesting, shapes and dtypes.
    init_val: First value; numbers become tensors.

    Returns (nested structure of tensors): The value.

    Raises ArgumentError if `body_fun` returns another nesting.
    Raises ShapeError if it changes a shape or dtype.
    Raises RecordingError if `mg.jit` records the loop, since the number of calls depends on values.

    Gradient: Of every order, through the calls; JAX has forward mode only.

    Under `vmap`, the loop runs until the condition is false for all samples; each sample keeps its own value, and its
    derivatives are those of its own calls.

    >>> mg.func.while_loop(lambda x: x < 100, lambda x: x * 2, mg.tensor(3.0)).item()
    192.0
    """
    carry, form = flatten(init_val)
    carry = tensors(carry)
    first = [x if x is None else x.detach() for x in carry]
    while True:
        chosen = cond_fun(unflatten(form, carry))
        if isinstance(chosen, Tensor) and host.defer is not None:
            raise RecordingError(
                "while_loop: the number of calls depends on a tensor, which has no values while mg.jit records; call "
                "while_loop outside the jitted function, or use mg.func.scan with a fixed length and mg.where"
            )
        values = truth("while_loop: cond_fun", chosen)
        if not bool(values.any() if isinstance(values, Tensor) else values):
            return unflatten(form, carry)
        entered = carry
        if values is not chosen:  # derivatives may be infinite where a sample ended, so it starts again from its first
            entered = [x if x is None else where(chosen, x, start) for x, start in zip(carry, first)]
        before = [] if values is chosen else versions(entered)
        after = checked("while_loop: body_fun", carry, form, body_fun(unflatten(form, entered)))
        if values is not chosen:
            expect_unwritten("while_loop: body_fun", before, entered)
            after = [x if x is None else where(chosen, y, x) for x, y in zip(carry, after)]
        carry = after


def truth(name: str, chosen: Any) -> Any:
    """Return a condition as values outside all transforms: those of all samples under `vmap`."""
    if isinstance(chosen, Tensor) and chosen.ndim:
        raise ShapeError(f"{name} must return a boolean or a 0-d tensor, got {describe(chosen)}; use .any() or .all()")
    return innermost(chosen)


def innermost(x: Tensor) -> Any:
    """Return the tensor outside all transforms that a value stands for."""
    while isinstance(x, Tracer):
        x = x.value if hasattr(x, "value") else x.primal  # type: ignore[attr-defined]
    return x


def versions(values: Any) -> list[tuple[Any, int]]:
    """Return the tensor that each value stands for, and how often its memory was written."""
    tensors = [innermost(x) for x in flatten(values)[0] if isinstance(x, Tensor)]
    return [(x, x.storage.version) for x in tensors]


def expect_unwritten(name: str, before: list[tuple[Any, int]], values: Any) -> None:
    """Raise ArgumentError if a function wrote into its arguments, although its result is not selected everywhere."""
    if any(x is not y or old != new for (x, old), (y, new) in zip(before, versions(values))):
        raise ArgumentError(
            f"{name} must not write into its arguments in mg.jit and vmap, where its result is selected element by "
            "element; return a new tensor, for example x + 1 instead of x.add_(1)"
        )


def cond(pred: Any, true_fun: Function, false_fun: Function, *operands: Any) -> Any:
    """Return `true_fun(*operands)` if `pred` is true, and otherwise `false_fun(*operands)`.

    pred (bool or Tensor): Boolean or 0-d tensor.
    true_fun and false_fun: Functions of the operands.
    operands: Arguments of both functions.

    Returns: Result of one function.

    Raises ArgumentError if both functions run, and the nesting of their results differs.
    Raises ShapeError if `pred` has dims.

    Gradient: That of the function that ran.

    In `mg.jit` and in `vmap`, `pred` can have several values.  Then both functions run, and `mg.where` selects the
    result; as in JAX, the gradient is nan where the function that was not selected has an infinite derivative.

    >>> x = mg.tensor(-2.0)
    >>> mg.func.cond(x > 0, lambda x: x, lambda x: -x, x).item()
    2.0
    """
    values = truth("cond: pred", pred)
    if values is pred and not (isinstance(pred, Tensor) and host.defer is not None):
        return true_fun(*operands) if pred else false_fun(*operands)
    before = versions(operands)
    (yes, form), (no, other) = flatten(true_fun(*operands)), flatten(false_fun(*operands))
    expect_unwritten("cond: a function", before, operands)
    if repr(form) != repr(other):
        raise ArgumentError(f"cond: both functions must return the same nesting, got {form} and {other}")
    for x, y in zip(yes, no):
        if isinstance(x, Tensor) and isinstance(y, Tensor) and (x.shape != y.shape or x.dtype is not y.dtype):
            raise ShapeError(
                f"cond: both functions must return one shape and dtype, got {describe(x)} and {describe(y)}"
            )
    chosen = pred if pred.dtype is bool_ else pred != 0
    return unflatten(form, [x if x is y else where(chosen, x, y) for x, y in zip(yes, no)])


def associative_scan(fn: Function, elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """Return all prefix combinations `e0, fn(e0, e1), fn(fn(e0, e1), e2), ...` in about `2 log2 n` calls of `fn`.

    fn: Associative function of two structures like `elems`, which combines them position by position along `axis`.
    elems: Elements along `axis`.
    reverse: Whether to combine from the end.
    axis: Dim of the elements.

    Returns (nested structure of tensors): Combinations, with the shapes of `elems`.

    Raises ShapeError if the tensors differ in length along `axis`.

    The order of the operations is that of JAX (Blelloch, Prefix sums and their applications, 1990).

    >>> mg.func.associative_scan(lambda a, b: a * b, mg.tensor([1.0, 2.0, 3.0, 4.0])).tolist()
    [1.0, 2.0, 6.0, 24.0]
    """
    leaves, tree = flatten(elems)
    if not all(isinstance(x, Tensor) for x in leaves):
        raise ArgumentError(f"associative_scan: elems must consist of tensors, got {describe(elems)}; use mg.tensor")
    lengths = {x.shape[axis] for x in leaves}
    if len(lengths) > 1:
        raise ShapeError(f"associative_scan: elems must have one length along axis {axis}, got {sorted(lengths)}")
    leaves = [x.movedim(axis, 0).flip(0) if reverse else x.movedim(axis, 0) for x in leaves]

    def combined(a: list[Any], b: list[Any]) -> list[Any]:
        a, b = ([x.movedim(0, axis) for x in each] for each in (a, b))
        made, form = flatten(fn(unflatten(tree, a), unflatten(tree, b)))
        if repr(form) != repr(tree):
            raise ArgumentError(f"associative_scan: fn must return values nested like elems, {tree}, got {form}")
        return [x.movedim(axis, 0) for x in made]

    def prefixes(xs: list[Any]) -> list[Any]:
        """Combine neighbours, scan the pairs, and combine these results with the elements between."""
        n = len(xs[0])
        if n < 2:
            return xs
        odd = prefixes(combined([x[: n - 1 : 2] for x in xs], [x[1::2] for x in xs]))
        shorter = [x[: (n - 1) // 2] for x in odd]
        even = combined(shorter, [x[2::2] for x in xs]) if n > 2 else [x[:0] for x in xs]
        even = [cat([narrow(x, 0, 0, 1), y]) for x, y in zip(xs, even)]
        pairs = [stack([x[: n // 2], y], 1).flatten(0, 1) for x, y in zip(even, odd)]
        return [cat([x, y[n // 2 :]]) if n % 2 else x for x, y in zip(pairs, even)]

    made = [x.flip(0) if reverse else x for x in prefixes(leaves)]
    return unflatten(tree, [x.movedim(0, axis) for x in made])
