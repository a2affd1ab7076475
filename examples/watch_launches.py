"""What does a device have to do?  One that writes down all it is asked for, while somebody else does it.

    python examples/watch_launches.py

Ops ask with requests: small records, of which there are thirty.  A request that a device does not serve is made of
simpler ones.  First passes and some functions on a device that serves all, then a sort on one that serves four.
"""

import minigrad as mg
from minigrad.backends.reference import ReferenceBackend
from minigrad.core.allocator import get_allocator, set_allocator
from minigrad.core.op import ScalarFn
from minigrad.core.requests import Elementwise, Gather, Reduce, ScatterAdd
from minigrad.core.rows import RowFn


class Watch(ReferenceBackend):
    """The reference backend, which says what it runs.  only: the kinds of requests that it serves, if not all."""

    def __init__(self, only=None):
        self.only, self.lines = only, []

    def prepare(self, request, outs, *operands):
        """Called once for layouts and dtypes; what it gives runs at each call of an op, and writes a line."""
        results = outs if isinstance(outs, tuple) else (outs,)
        if self.only and type(request) not in self.only:
            return self.lower(request, results, operands)
        launch = super().prepare(request, outs, *operands)
        line = f"{told(request):36} {', '.join(map(repr, operands))} -> {', '.join(map(repr, results))}"

        def run(*buffers):
            self.lines.append(line)
            return launch(*buffers)

        return run

    def read(self):
        """The lines since the last time."""
        lines, self.lines = self.lines, []
        return lines


def told(request):
    """A request in a few words: its kind, its functions by name, and its numbers."""
    words = []
    for name, value in request.fields().items():
        value = getattr(value, "scalar", value)  # a fold's function
        if isinstance(value, (ScalarFn, RowFn)):
            words.append(value.name)
        elif name.startswith("dim"):
            words.append(f"{name}={value}")
    return f"{type(request).__name__}({', '.join(words)})"


def main():
    """The two devices, and what they were asked for."""
    whole, small = Watch(), Watch(only=(Elementwise, Reduce, Gather, ScatterAdd))
    for kind, backend in (("watch", whole), ("watch_small", small)):
        mg.register_backend(kind, lambda backend=backend: backend)
        set_allocator(kind, get_allocator("cpu"))

    x = mg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device="watch")
    w = mg.Var([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], device="watch", name="w")
    whole.read()
    loss = -mg.log_softmax(x @ w, 1).mean()
    print("forward:", *whole.read(), sep="\n  ")
    loss.backward()
    print("\nbackward:", *whole.read(), sep="\n  ")

    mg.norm(x), mg.logsumexp(x, 1), mg.count_nonzero(x), mg.nn.functional.mse_loss(x, x), mg.std(x), mg.lerp(x, x, 0.5)
    print("\none launch each, and std two:", *whole.read(), sep="\n  ")
    y = mg.tensor([3.0, 1.0, 2.0], device="watch_small")
    small.read()
    order = mg.argsort(y)
    print("\na sort on a device that has none:", *small.read(), sep="\n  ")
    print(f"\nthe order is {order.tolist()}")


if __name__ == "__main__":
    main()
