"""A deep chain of ops in little memory: save the values at every eighth op, and compute the values between them again.

Each op of a chain saves its result for the backward pass, so memory grows with the depth.  With checkpoints of about
sqrt(depth) ops, only the input of each checkpoint is saved.  The backward pass computes the ops of one checkpoint at a
time again.  Source: T. Chen and others, "Training Deep Nets with Sublinear Memory Cost", arXiv 1604.06174.
"""

import minigrad as mg

DEPTH, EACH, SIZE = 64, 8, 65536


def several(x: mg.Tensor) -> mg.Tensor:
    """Return the result of one part of the chain."""
    for _ in range(EACH):
        x = x.tanh()
    return x


def plain(x: mg.Tensor) -> mg.Tensor:
    """Return the result of the whole chain, which saves the result of every op."""
    for _ in range(DEPTH // EACH):
        x = several(x)
    return x


def in_parts(x: mg.Tensor) -> mg.Tensor:
    """Return the same result, but save only the input of each part."""
    for _ in range(DEPTH // EACH):
        x = mg.checkpoint(several, x)
    return x


def peak_of(chain, x: mg.Var) -> tuple[int, list[float]]:
    """Return the peak memory of a forward and a backward pass in bytes, and the first elements of the gradient."""
    before = mg.get_allocator("cpu")
    counting = type(before)()
    mg.set_allocator("cpu", counting)
    try:
        (g,) = mg.grad(chain(x).sum(), [x])
        return counting.stats().peak_bytes, g[:3].tolist()
    finally:
        mg.set_allocator("cpu", before)


def main() -> None:
    """Compute the same gradient in both ways, and print how much memory each of them needs."""
    x = mg.Var(mg.linspace(-2.0, 2.0, SIZE))
    found = {chain.__name__: peak_of(chain, x) for chain in (plain, in_parts)}
    for name, (most, _) in found.items():
        print(f"{name:8} needs {most / (4 * SIZE):4.0f} buffers at most")
    print("the gradients are the same:", found["plain"][1] == found["in_parts"][1])


if __name__ == "__main__":
    main()
