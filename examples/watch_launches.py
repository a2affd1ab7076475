"""Which launches does an op need?  A device that logs each request and runs it on the reference backend.

    python examples/watch_launches.py

A request is a small record; there are about fifty kinds.  If a device does not implement a request, minigrad composes
it from simpler requests.  The first device logs the requests of ops; the second logs the parts of a sort.
"""

import minigrad as mg
from minigrad.backends.reference import ReferenceBackend
from minigrad.core.allocator import get_allocator, set_allocator
from minigrad.core.op import ScalarFn
from minigrad.core.rows import RowFn


class Watch(ReferenceBackend):
    """The reference backend with a list of the requests it ran.  parts: log only those with loops."""

    def __init__(self, parts=False):
        self.parts, self.lines, self.depth = parts, [], 0

    def prepare(self, request, outs, *operands):
        """Prepare a launch, once for layouts and dtypes; each run of it appends a line."""
        self.depth += 1
        launch = super().prepare(request, outs, *operands)
        self.depth -= 1
        if (type(request) not in self.served()) if self.parts else self.depth:
            return launch
        results = outs if isinstance(outs, tuple) else (outs,)
        line = f"{summary(request):48} {', '.join(map(repr, operands))} -> {', '.join(map(repr, results))}"

        def run(*buffers):
            self.lines.append(line)
            return launch(*buffers)

        return run

    def show(self, title, result=None):
        """Print a title and the lines since the last time, which making the result has written."""
        print(title, *self.lines, sep="\n  ")
        self.lines.clear()
        return result


def summary(request):
    """Return a request in a few words: its kind, its functions by name, and its dims."""
    words = []
    for name, value in request.fields().items():
        value = getattr(value, "scalar", value)  # the scalar function of a reduction
        if isinstance(value, (ScalarFn, RowFn)):
            words.append(value.name)
        elif name.startswith("dim"):
            words.append(f"{name}={value}")
    return f"{type(request).__name__}({', '.join(words)})"


def main():
    """Register both devices, and show what each was asked for."""
    whole, small = Watch(), Watch(parts=True)
    for kind, backend in (("watch", whole), ("watch_small", small)):
        mg.register_backend(kind, lambda backend=backend: backend)
        set_allocator(kind, get_allocator("cpu"))
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device="watch")
    w = mg.Var([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], device="watch", name="w")
    whole.lines.clear()
    loss = whole.show("forward:", -mg.log_softmax(x @ w, 1).mean())
    whole.show("\nbackward:", loss.backward())
    print("\none launch each, and var two:")
    whole.show("norm(x)", mg.norm(x))
    whole.show("logsumexp(x, 1)", mg.logsumexp(x, 1))
    whole.show("count_nonzero(x)", mg.count_nonzero(x))
    whole.show("mse_loss(x, x)", mg.nn.functional.mse_loss(x, x))
    whole.show("lerp(x, x, 0.5)", mg.lerp(x, x, 0.5))
    whole.show("var(x)", mg.var(x))
    y = mg.tensor([3.0, 1.0, 2.0], device="watch_small")
    print("\nthe order is", small.show("\na sort on a device that has none:", mg.argsort(y)).tolist())


if __name__ == "__main__":
    main()
