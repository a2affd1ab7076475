"""Checks of integers whose values must be in a range, such as lengths and offsets, by the launch that copies them.

The host reads the values only for the message of an error.  So the check works inside transforms, in `mg.jit`, and on
devices whose memory the host reads slowly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from minigrad.backends.limits import IndexLimits
from minigrad.backends.lowering.functions import DIFFERENCE
from minigrad.core.device import CPU
from minigrad.core.dtype import iinfo, int64
from minigrad.core.op import Spec
from minigrad.core.requests import Bounds
from minigrad.core.storage import Storage
from minigrad.declare.decorators import kernel
from minigrad.declare.rules import index_dtype, same_shape
from minigrad.runtime.tensor import Tensor

LARGEST: int = iinfo(int64).max


class Refusal(NamedTuple):
    """The error for values outside their range: its class, the name of the op, and its text; {} stands for values."""

    kind: type[Exception]
    name: str
    text: str

    def error(self, values: Any) -> Exception:
        """Return the error for these values, which may have become valid in the meantime."""
        return self.kind(self.text.replace("{}", str(values)), op=self.name)  # type: ignore[call-arg]


class ValueLimits(IndexLimits):
    """The values that the errors of a launch refer to."""

    __slots__ = ("refusal",)

    def __init__(self, backend: Any, values: Spec, refusal: Refusal) -> None:
        super().__init__(backend, refusal.name, 0, values, values, -1)
        self.refusal = refusal

    def error(self, buffers: tuple[Any, ...]) -> Any:
        """Return the error for a call on these buffers."""
        storage = Storage(buffers[self.slot], self.index.dtype, CPU)
        return self.refusal.error(self.backend.array(storage, self.index.layout).tolist())


@kernel(
    dtype=index_dtype, shape=same_shape, namespace=(), out=False, label="checked integers",
    batch="front",
)  # fmt: skip
def checked(steps, out, input: Tensor, *, low, high, ascending, refusal):
    """Return integers in int64.  The launch raises the error of `refusal` for a value that is not from low to high.

    ascending: whether the values along the last dim must also ascend, and the first one must be `low`.
    """
    steps.copy(out, input)
    if input.layout.numel:
        bounds, last = steps.work((2,), int64), len(input.shape) - 1
        steps.ask(Bounds(), bounds, out)
        steps.check(bounds, low, high)
        if ascending:
            n = input.shape[last]
            steps.ask(Bounds(), bounds, out.at(last, 0))
            steps.check(bounds, low, low)
            growth = steps.work(out.at(last, 1, n - 1).shape, int64)
            if growth.layout.numel:
                steps.each(DIFFERENCE, growth, out.at(last, 1, n - 1), out.at(last, 0, n - 1))
                steps.ask(Bounds(), bounds, growth)
                steps.check(bounds, 0, LARGEST)
    return steps.launch.within(ValueLimits(steps.backend, input, refusal))
