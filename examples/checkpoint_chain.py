"""A deep chain in little memory: keep the values at every eighth op, and compute what is between them again.

Each op of a chain keeps its result for the way back, so memory grows with the depth.  In checkpoints of about
sqrt(depth) ops only what goes into each of them is kept, and one of them at a time is computed a second time.
Source: T. Chen and others, "Training Deep Nets with Sublinear Memory Cost", arXiv 1604.06174.
"""

import minigrad as mg

DEPTH, EACH, SIZE = 64, 8, 65536


def several(x: mg.Tensor) -> mg.Tensor:
    """A part of the chain."""
    for _ in range(EACH):
        x = x.tanh()
    return x


def plain(x: mg.Tensor) -> mg.Tensor:
    """The whole chain, which keeps every result."""
    for _ in range(DEPTH // EACH):
        x = several(x)
    return x


def in_parts(x: mg.Tensor) -> mg.Tensor:
    """The same, which keeps what goes into each part."""
    for _ in range(DEPTH // EACH):
        x = mg.checkpoint(several, x)
    return x


def peak_of(chain, x: mg.Var) -> tuple[int, list[float]]:
    """Megabytes that a forward and a backward pass need at most, and the beginning of the gradient."""
    before = mg.get_allocator("cpu")
    counting = type(before)()
    mg.set_allocator("cpu", counting)
    try:
        (g,) = mg.grad(chain(x).sum(), [x])
        return counting.stats().peak_bytes, g[:3].tolist()
    finally:
        mg.set_allocator("cpu", before)


def main() -> None:
    """The same gradient twice, and what each took."""
    x = mg.Var(mg.linspace(-2.0, 2.0, SIZE))
    found = {chain.__name__: peak_of(chain, x) for chain in (plain, in_parts)}
    for name, (most, _) in found.items():
        print(f"{name:8} needs {most / (4 * SIZE):4.0f} buffers at most")
    print("the gradients are the same:", found["plain"][1] == found["in_parts"][1])


if __name__ == "__main__":
    main()
