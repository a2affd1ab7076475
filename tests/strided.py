"""Buffers for tests that call a backend directly: the same values under many layouts."""

import numpy as np

from minigrad.core.dtype import as_dtype, cast_array, to_logical
from minigrad.core.layout import Layout
from minigrad.core.op import Spec

WAYS = ("dense", "offset", "transposed", "stepped", "flipped", "permuted")
JUNK = 90


def layout_of(shape, way="dense"):
    """Return a layout of that shape without repeated elements, and with gaps around or between them."""
    last = len(shape) - 1
    if way == "offset":
        return Layout.contiguous(shape, 3)
    if way == "transposed":
        return Layout.contiguous(shape[::-1], 1).permute(tuple(range(last, -1, -1)))
    if way == "permuted":
        order = (last, *range(last)) if shape else ()
        return Layout.contiguous(tuple(shape[d] for d in order)).permute(tuple(order.index(d) for d in range(last + 1)))
    if way == "stepped" and shape:
        return Layout.contiguous((*shape[:-1], 2 * shape[-1] + 1)).slice(last, 1, 2 * shape[-1], 2)
    if way == "flipped" and shape:
        return Layout.contiguous(shape, 2).flip()
    return Layout.contiguous(shape)


def blank(shape, dtype, way="dense"):
    """Return a buffer full of junk values, and the spec of a tensor in it."""
    layout = layout_of(tuple(shape), way)
    return np.full(max(layout.span()[1], 0) + 2, JUNK, as_dtype(dtype).storage), Spec(layout, as_dtype(dtype))


def arrange(values, dtype=None, way="dense"):
    """Return a buffer and a spec with the values of an array."""
    values = np.asarray(values)
    buffer, spec = blank(values.shape, values.dtype if dtype is None else dtype, way)
    buffer[list(spec.layout.offsets())] = cast_array(values, spec.dtype).reshape(-1)
    return buffer, spec


def broadcast(operand, shape):
    """Return an operand that is expanded with strides of 0."""
    buffer, spec = operand
    return buffer, Spec(spec.layout.expand(shape), spec.dtype)


def contents(buffer, spec):
    """Return the elements as a NumPy array of the logical dtype."""
    return to_logical(buffer, spec.dtype)[list(spec.layout.offsets())].reshape(spec.shape)


def run(prepare, out, *operands):
    """Prepare, launch and read `out`, a (buffer, spec), and assert that nothing else was written."""
    before = [buffer.copy() for buffer, _ in operands]
    prepare(out[1], *(spec for _, spec in operands))(*(buffer for buffer, _ in operands), out[0])
    for old, (buffer, _) in zip(before, operands):
        assert np.array_equal(old.view(np.uint8), buffer.view(np.uint8)), "an operand was changed"
    check_gaps(*out)
    return contents(*out)


def check_gaps(buffer, spec):
    """Assert that every position outside the layout still has the junk value."""
    gaps = np.ones(buffer.size, bool)
    gaps[list(spec.layout.offsets())] = False
    assert (buffer[gaps] == np.asarray(JUNK, buffer.dtype)).all(), "something was written outside the layout"
