"""`mg.checkpoint` under PyTorch's name, and `checkpoint_sequential`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from typing import Any

from minigrad.autodiff.checkpoint import CheckpointError, checkpoint, set_checkpoint_early_stop
from minigrad.declare.advice import present
from minigrad.errors import ArgumentError


def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]:
    """Open a block, which has no effect: a second run that differs names the values in any case.

    Parameters
    ----------
    enabled : bool, optional
        Accepted as in PyTorch.

    Returns
    -------
    context manager
        The block.
    """
    return nullcontext()


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, *, preserve_rng_state: bool = True
) -> Any:
    """Call functions one after the other, in segments that save only their inputs.

    functions (Sequential or list of callable): Functions of one argument, in the order of their calls.
    segments: Number of segments. The last segment saves its intermediate values, because its backward pass comes first.
    input (Any): Argument of the first function.
    use_reentrant: Has no effect.
    preserve_rng_state: Whether the second forward pass draws the same random numbers, as in `mg.checkpoint`.

    Returns: Result of the last function.

    Raises ArgumentError if there are fewer functions than segments, or if `segments` is less than 1.

    >>> x = mg.Var([0.5])
    >>> y = checkpoint_sequential([mg.sin, mg.exp, mg.sqrt], 2, x)
    >>> y.sum().backward()[x].shape
    (1,)
    """
    parts: list[Callable[[Any], Any]] = list(functions)
    if not 1 <= segments <= len(parts):
        raise ArgumentError(
            f"checkpoint_sequential: segments must be from 1 to {len(parts)}, the number of functions, got {segments}; "
            "pass segments=1, for example"
        )
    size = len(parts) // segments
    cuts = [k * size for k in range(segments)]
    for begin, end in pairwise(cuts):
        input = checkpoint(in_turn(parts[begin:end]), input, preserve_rng_state=preserve_rng_state)
    return in_turn(parts[cuts[-1] :])(input)


def in_turn(functions: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """Return a function that calls the given functions one after the other."""

    def call(x: Any) -> Any:
        for function in functions:
            x = function(x)
        return x

    return call


present(globals(), {
    "CheckpointError": CheckpointError, "checkpoint": checkpoint, "checkpoint_sequential": checkpoint_sequential,
    "set_checkpoint_debug_enabled": set_checkpoint_debug_enabled,
    "set_checkpoint_early_stop": set_checkpoint_early_stop,
})  # fmt: skip
