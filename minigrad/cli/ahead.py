"""The helper process that compiles kernels for another process, which sends its next calls to standard input.

A message is one of three: a call of an op, perhaps a composed one, with the op's name, its file and line, layouts and
dtypes of the operands, whether they are tracked, and the parameters; or the name of a program of this package; or a
kernel, whose text is in the kernel cache. The helper runs the call and its backward pass, or the program, with kernels
that do nothing, so large operands cost nothing.  The kernels that this requests are compiled into the kernel cache, the
last one first, because the other process begins with the first one.  `runtime/ahead.py` is the other end.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import Any

import minigrad as mg
from minigrad.backends.registry import backend_of
from minigrad.core.allocator import CpuAllocator, set_allocator
from minigrad.core.device import Device, as_device
from minigrad.core.dtype import DType, as_dtype
from minigrad.core.layout import Layout
from minigrad.core.op import Op
from minigrad.declare.forms import by_operands
from minigrad.declare.record import schema, unlisted
from minigrad.kernels.store import Text, cache_folder, collect, keep
from minigrad.runtime.ahead import LENGTH
from minigrad.runtime.dispatch import SCALAR, apply, number
from minigrad.runtime.graph import BackpropOp, Output
from minigrad.runtime.tensor import Tensor
from minigrad.runtime.var import Var

IDLE = 10.0  # the helper ends after this number of seconds without a message
SMALL = 1 << 16  # largest number of elements for operands of zeros, which a check may read


class Zeros(CpuAllocator):
    """An allocator whose small buffers contain zeros: kernels do nothing, and checks read their results."""

    def _scribble(self, buffer: Any, dtype: DType) -> None:
        if buffer.size <= SMALL:
            buffer.fill(0)


Message = tuple[str, str, list[tuple[Any, ...]], tuple[bool, ...], dict[str, Any]]


def serve() -> None:
    """Process messages until none arrives for IDLE seconds."""
    import numba  # noqa: F401  # while the process that will send messages does the same

    messages: queue.Queue[Message] = queue.Queue()
    writing = threading.Lock()
    threading.Thread(target=listen, args=(messages, writing), daemon=True).start()
    wanted = collect()
    set_allocator("cpu", Zeros(fill="zero"))
    while True:
        try:
            message = messages.get(timeout=IDLE)
        except queue.Empty:
            return
        with suppress(Exception):  # the process that needs the kernel reports the error
            process(message, wanted)
        while wanted:
            with suppress(Exception):
                keep(*wanted.pop(), writing)


def process(message: Message, wanted: list[Text]) -> None:
    """Add the kernels that a message requests to the list of kernels to compile."""
    name, where, specs, tracked, params = message
    if specs:
        op = unlisted.get(where) or schema[name]
        if op.where == where:  # a user's op may have the name of another op
            call(op, specs, tracked, params, wanted)
    elif "file" in params:
        wanted.append((name, params["file"], (cache_folder() / params["file"]).read_text(encoding="utf-8")))
    else:
        module, _, function = name.partition(":")
        getattr(import_module(f"minigrad.{module}"), function)()


def listen(messages: queue.Queue[Message], writing: threading.Lock) -> None:
    """Read messages; after the last one, end the process, but not during a write."""
    stream = sys.stdin.buffer
    while len(head := stream.read(LENGTH.size)) == LENGTH.size:
        messages.put(pickle.loads(stream.read(LENGTH.unpack(head)[0])))
    writing.acquire()
    os._exit(0)


def call(
    op: Op, specs: list[tuple[Any, ...]], tracked: tuple[bool, ...], params: dict[str, Any], wanted: list[Text]
) -> None:
    """Run one call of an op and, if an operand is tracked, the backward pass through it."""
    operands = [operand(leaf, *spec) for spec, leaf in zip(specs, tracked, strict=True)]
    if op.kind == "composed":
        return call_composed(op, operands, params, wanted)
    outcome = apply(op, tuple(operands), params)
    results = (outcome,) if op.result is None else tuple(outcome)
    node: Any = next((y.op for y in results if y.op is not None), None)
    if isinstance(node, Output):
        node = node.node
    if isinstance(node, BackpropOp):
        gradients = [cotangent(y) if y.dtype.is_float else None for y in results]
        with mg.no_grad():
            node.pull(gradients, None, False)


def call_composed(op: Op, operands: list[Tensor], params: dict[str, Any], wanted: list[Text]) -> None:
    """Run one call of a composed op and, if an operand is tracked, the backward pass through it.

    The other process begins with the first kernel of many, so this one takes them from the last one of the call on, and
    then those of the backward pass.
    """
    assert op.public is not None
    outcome = by_operands(op, op.public)(*operands, **params)
    results = [y for y in (outcome if isinstance(outcome, tuple) else (outcome,)) if y.requires_grad]
    first = len(wanted)
    if results:
        leaves = [x for x in operands if x.requires_grad]
        mg.grad(results, leaves, [cotangent(y) for y in results], allow_unused=True)
    wanted[:] = wanted[first:] + wanted[:first]


def operand(
    leaf: bool, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: str, device: str
) -> Tensor:
    """Return a tensor of the described layout with arbitrary elements; a leaf requires a gradient."""
    layout = Layout.make(shape, strides, offset)
    x = Tensor(memory(layout.span()[1] if layout.numel else 0, dtype, as_device(device)), layout)
    return Var.of(x) if leaf else x


def memory(size: int, dtype: str, device: Device) -> Any:
    """Return a storage with `size` elements; a small storage contains zeros."""
    storage = backend_of(device).maker(size, as_dtype(dtype), device)()
    if size <= SMALL:
        storage.buffer[:] = 0
    return storage


def cotangent(y: Tensor) -> Tensor:
    """Return a gradient for a result: for a scalar, the one with which `backward` begins, otherwise a dense tensor."""
    if y.layout is SCALAR:
        return number(1.0, y.dtype, y.device)
    layout = Layout.contiguous(y.shape)
    return Tensor(memory(layout.numel, y.dtype.name, y.device), layout)


if __name__ == "__main__":
    mg.config.settings.parallel_threshold = int(sys.argv[1])
    serve()
