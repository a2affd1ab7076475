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
from minigrad.backends.reference.scalars import first_accumulator, names
from minigrad.core import requests
from minigrad.core.dtype import as_dtype, cast_array, to_logical
from minigrad.core.storage import Storage
from minigrad.kernels.rendering import fresh, render, settle

quiet = np.errstate(all="ignore")  # infinities, nan and wrapping are valid results
WORDS = {"where": np.where, "Not": np.logical_not, "USub": lambda x: -WORDS["UAdd"](x)}
WORDS["UAdd"] = lambda x: x * np.int8(1) if np.asarray(x).dtype == bool else x  # a boolean counts as 0 or 1
WORDS |= {"And": lambda *x: functools.reduce(np.logical_and, x), "Or": lambda *x: functools.reduce(np.logical_or, x)}
PYTHONS = ("erf", "erfc", "gamma", "lgamma", "logistic", "normal_cdf")  # functions that NumPy does not have


class OnArrays(ast.NodeTransformer):
    """Replaces Python's `if`, `and`, `or` and `not`, which need one boolean, by functions of arrays."""

    def visit_IfExp(self, node):
        return ast.Call(ast.Name("where"), [self.visit(x) for x in (node.test, node.body, node.orelse)], [])

    def visit_BoolOp(self, node):
        return ast.Call(ast.Name(type(node.op).__name__), [self.visit(x) for x in node.values], [])

    def visit_UnaryOp(self, node):
        return ast.Call(ast.Name(type(node.op).__name__), [self.visit(node.operand)], [])

    def visit_BinOp(self, node):
        a, b = (ast.Call(ast.Name("UAdd"), [self.visit(x)], []) for x in (node.left, node.right))
        return ast.Call(ast.Name("_power"), [a, b], []) if isinstance(node.op, ast.Pow) else ast.BinOp(a, node.op, b)


@functools.cache
def on_arrays(scalar, compute):
    """Return the scalar function of a loop as a function of arrays; `names` defines the words that `render` writes."""
    used = set()
    args = [fresh(name, used) for name in scalar.args]
    lines, result = render(scalar, [ast.Name(name) for name in args], compute, used)
    body = "".join(f"    {line}\n" for line in [*lines, f"return T({ast.unparse(result)})"])
    tree = OnArrays().visit(ast.parse(settle(f"def function({', '.join(args)}):\n{body}", ("_power",))))
    words = names(compute) | WORDS | {"T": lambda x: np.asarray(x).astype(compute)}
    words |= {name: np.vectorize(words[name], [np.int64]) for name in words if name.startswith("int_")}
    vars(words["math"]).update({name: np.vectorize(getattr(words["math"], name), [compute]) for name in PYTHONS})
    exec(ast.unparse(tree), words)
    return quiet(words["function"])


def view(buffer, spec):
    """Return the elements of a tensor as an array over its buffer."""
    layout, size = spec.layout, buffer.itemsize
    return np.ndarray(layout.shape, buffer.dtype, buffer, layout.offset * size, [s * size for s in layout.strides])


def read(buffer, spec, compute):
    """Return the elements in the dtype in which a loop computes."""
    return cast_array(to_logical(view(buffer, spec), spec.dtype), as_dtype(compute))


def places(buffer, index, dim):
    """Return the elements that an index selects along `dim` as NumPy expects them: one array per dim."""
    found = read(buffer, index, np.dtype(np.int64))
    return tuple(found if d == dim else at for d, at in enumerate(np.indices(found.shape, sparse=True)))


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
    (out,), function = steps.outs, on_arrays(request.scalar, request.compute)

    def launch(*buffers):
        values = function(*[read(x, spec, request.compute) for x, spec in zip(buffers, steps.operands)])
        view(buffers[-1], out)[...] = cast_array(values, out.dtype)

    return launch


@serves(Toy, requests.Reduce)
def reduce(steps, request):
    (out,), operands, reducer, dims = steps.outs, steps.operands, request.reducer, request.dims
    compute = request.compute
    step, join, finish = (f and on_arrays(f, compute) for f in (reducer.scalar, reducer.combine, reducer.finish))
    whole, order = operands[0].shape, sorted(range(len(operands[0].shape)), key=lambda d: d not in dims)
    n, shape = int(np.prod([whole[d] for d in dims])), [whole[d] for d in order[len(dims) :]]
    start = np.full(shape, first_accumulator(reducer.identity, compute), compute)

    @quiet
    def launch(*buffers):
        columns = [read(x, a, compute).transpose(order).reshape(n, *shape) for x, a in zip(buffers, operands)]
        rows = step(start, *columns) if join else ()
        while len(rows) > 1:  # partial results are joined in pairs
            rows = np.concatenate([join(rows[:-1:2], rows[1::2]), rows[len(rows) // 2 * 2 :]])
        acc = rows[0] if len(rows) else functools.reduce(lambda acc, xs: step(acc, *xs), zip(*columns), start)
        acc = finish(*(acc, compute.type(n))[: len(reducer.finish.args)]) if finish else acc
        view(buffers[-1], out)[...] = cast_array(np.asarray(acc), out.dtype).reshape(out.shape)

    return launch


@serves(Toy, requests.Gather)
def gather(steps, request):
    def launch(x, i, z):
        (out,), (a, index) = steps.outs, steps.operands
        try:
            view(z, out)[...] = view(x, a)[places(i, index, request.dim)]
        except IndexError:  # NumPy checks each index
            return True

    return launch


@serves(Toy, requests.ScatterAdd)
def scatter_add(steps, request):
    def launch(x, i, y, z):
        (out,), (a, index, src) = steps.outs, steps.operands
        sums = read(x, a, out.dtype.compute).copy()
        try:
            np.add.at(sums, places(i, index, request.dim), read(y, src, out.dtype.compute))
        except IndexError:
            return True
        view(z, out)[...] = cast_array(sums, out.dtype)

    return quiet(launch)


mg.register_backend("toy", Toy)

if __name__ == "__main__":  # fit a straight line to five points on the toy device
    x = mg.linspace(0.0, 1.0, 5, device="toy").reshape(5, 1)
    w, b = mg.Var([[0.0]], device="toy"), mg.Var([0.0], device="toy")
    for _ in range(100):
        loss = ((x @ w + b - (x * 2.0 + 1.0)) ** 2).mean()
        w, b = (mg.Var(v.detach() - 0.5 * slope) for v, slope in zip((w, b), mg.grad(loss, [w, b])))
    print(f"y = {w.item():.3f} x + {b.item():.3f} after 100 steps, loss {loss.item():.6f} on {loss.device}")
