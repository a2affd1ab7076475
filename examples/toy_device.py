"""A device of your own: four functions are enough to run all ops of minigrad on your memory with your loops.

    python examples/toy_device.py

Its memory is NumPy arrays, and its loops are NumPy's operators.  It implements four of the requests of ops, and
minigrad composes the others from these.  A real accelerator would begin in the same way, and add requests for speed.
"""

import ast
import functools

import numpy as np

import minigrad as mg
from minigrad.backends.base import Backend, serves
from minigrad.backends.lowering.functions import SUM
from minigrad.backends.reference.scalars import first_accumulator, names
from minigrad.core import requests
from minigrad.core.dtype import as_dtype, cast_array, to_logical
from minigrad.core.storage import Storage
from minigrad.kernels.rendering import as_python

quiet = np.errstate(all="ignore")  # infinities, nan and wrapping are valid results
WORDS = {"where": np.where, "Not": np.logical_not, "USub": lambda x: -WORDS["UAdd"](x)}
WORDS["UAdd"] = lambda x: x * np.int8(1) if np.asarray(x).dtype == bool else x  # a boolean counts as 0 or 1
WORDS |= {"And": np.logical_and, "Or": np.logical_or}
PYTHONS = ("erf", "erfc", "gamma", "lgamma", "logistic", "normal_cdf")  # functions that NumPy does not have


def call(name, *args):
    """Return the text of a call as a syntax tree."""
    return ast.Call(ast.Name(name, ast.Load()), [*args], [])


class OnArrays(ast.NodeTransformer):
    """Replaces Python's `if`, `and`, `or` and `not`, which need one boolean, by functions of arrays."""

    def visit_IfExp(self, node):
        return call("where", *map(self.visit, (node.test, node.body, node.orelse)))

    def visit_BoolOp(self, node):
        return functools.reduce(functools.partial(call, type(node.op).__name__), map(self.visit, node.values))

    def visit_UnaryOp(self, node):
        return call(type(node.op).__name__, self.visit(node.operand))

    def visit_BinOp(self, node):
        a, b = (call("UAdd", self.visit(x)) for x in (node.left, node.right))
        return call("_power", a, b) if isinstance(node.op, ast.Pow) else ast.BinOp(a, node.op, b)


@functools.cache
def on_arrays(scalar, compute):
    """Return the scalar function of a loop as a function of arrays that returns a tuple of arrays."""
    words = names(compute) | WORDS | {"T": lambda x: np.asarray(x).astype(compute)}
    words |= {name: np.vectorize(words[name], [np.int64]) for name in words if name.startswith("int_")}
    vars(words["math"]).update({name: np.vectorize(getattr(words["math"], name), [compute]) for name in PYTHONS})
    function = as_python(scalar, compute, words, OnArrays)
    return function if scalar.results > 1 else lambda *args: (function(*args),)


def view(buffer, spec):
    """Return the elements of a tensor as an array over its buffer."""
    layout, size = spec.layout, buffer.itemsize
    return np.ndarray(layout.shape, buffer.dtype, buffer, layout.offset * size, [s * size for s in layout.strides])


def read(buffer, spec, compute):
    """Return the elements in the dtype in which a loop computes."""
    return cast_array(to_logical(view(buffer, spec), spec.dtype), as_dtype(compute))


def launching(steps, function, *computes):
    """Return the launch of a function of arrays, which receives the operands in some dtypes and returns the results."""

    @quiet
    def launch(*buffers):
        try:
            results = function(*[read(*each) for each in zip(buffers, steps.operands, computes)])
        except IndexError:  # NumPy checks each index
            return True
        for buffer, spec, values in zip(buffers[len(steps.operands) :], steps.outs, results):
            view(buffer, spec)[...] = cast_array(values, spec.dtype)

    return launch


def places(index, dim):
    """Return the elements that an index selects along `dim` as NumPy expects them: one array per dim."""
    return tuple(index if d == dim else at for d, at in enumerate(np.indices(index.shape, sparse=True)))


class Toy(Backend):
    """Three methods for memory.  The four functions below receive layouts and dtypes once, and return `launch`."""

    def allocate(self, numel, dtype, device):
        return Storage(np.empty(numel, dtype.storage), dtype, device)

    def from_host(self, values, dtype, device):
        return Storage(np.array(values, dtype.storage), dtype, device)

    def to_host(self, storage):
        return storage.buffer


@serves(Toy, requests.Elementwise)
def elementwise(steps, request):
    return launching(steps, on_arrays(request.scalar, request.compute), *[request.compute] * len(steps.operands))


@serves(Toy, requests.Reduce)
def reduce(steps, request):
    reducer, compute, dims, shape = request.reducer, request.compute, request.dims, steps.outs[0].shape
    step, join, finish = (f and on_arrays(f, compute) for f in (reducer.scalar, reducer.combine, reducer.finish))
    start = [np.full(shape, first_accumulator(each, compute), compute) for each in reducer.identities]
    n = int(np.prod([steps.operands[0].shape[d] for d in dims]))

    def reduced(*operands):
        columns = [np.moveaxis(x, dims, range(len(dims))).reshape(n, *shape) for x in operands]
        rows = np.stack(np.broadcast_arrays(*step(*start, *columns)), 1) if join else ()
        while len(rows) > 1:  # partial results are joined in pairs
            pairs = join(*rows[:-1:2].swapaxes(0, 1), *rows[1::2].swapaxes(0, 1))
            rows = np.concatenate([np.stack(pairs, 1), rows[len(rows) // 2 * 2 :]])
        accs = rows[0] if len(rows) else functools.reduce(lambda accs, xs: step(*accs, *xs), zip(*columns), start)
        return finish(*(*accs, compute.type(n))[: len(reducer.finish.args)]) if finish else accs

    return launching(steps, reduced, *[compute] * len(steps.operands))


@serves(Toy, requests.Gather)
def gather(steps, request):
    def gathered(a, index):
        return [a[places(index, request.dim)]]

    return launching(steps, gathered, steps.operands[0].dtype.compute, np.dtype(np.int64))


@serves(Toy, requests.Scatter)
def scatter(steps, request):
    compute = steps.outs[0].dtype.compute
    join = on_arrays(request.join or SUM.scalar, compute)

    def scattered(a, index, src):
        result = a.copy()
        for at, value in zip(np.broadcast(*places(index, request.dim)), src.flat):
            (result[at],) = join(result[at], value)
        return [result]

    return launching(steps, scattered, compute, np.dtype(np.int64), compute)


mg.register_backend("toy", Toy)

if __name__ == "__main__":  # fit a straight line to five points on the toy device
    x = mg.linspace(0.0, 1.0, 5, device="toy").reshape(5, 1)
    w, b = mg.Var([[0.0]], device="toy"), mg.Var([0.0], device="toy")
    for _ in range(100):
        loss = ((x @ w + b - (x * 2.0 + 1.0)) ** 2).mean()
        w, b = (mg.Var(v.detach() - 0.5 * slope) for v, slope in zip((w, b), mg.grad(loss, [w, b])))
    print(f"y = {w.item():.3f} x + {b.item():.3f} after 100 steps, loss {loss.item():.6f} on {loss.device}")
