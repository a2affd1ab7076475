"""Newton's method with exact Hessians: thirty steps down a valley in which gradient descent crawls.

    python examples/newton.py

Rosenbrock's valley in ten dims is long, bent and flat.  `mg.func.hessian` gives all second derivatives of a function at
once, and Newton's method goes where a parabola with these slopes and bends would have its lowest point.  Each step's
system of equations is solved by conjugate gradients.  Those need products with the Hessian only, which `mg.func.hvp`
gives where there are too many dims to write it down; both are compared at the end.
"""

from collections.abc import Callable

import minigrad as mg

DIMS, STEPS = 10, 40


def valley(x: mg.Tensor) -> mg.Tensor:
    """Rosenbrock's function: 0 where all x are 1."""
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def solve(times: Callable[[mg.Tensor], mg.Tensor], b: mg.Tensor) -> mg.Tensor:
    """x with A x = b by conjugate gradients, for a symmetric A that is only known as a function v -> A v."""
    x, rest = mg.zeros_like(b), b
    way, size = rest, (rest * rest).sum()
    for _ in range(3 * len(b)):
        if size.item() < 1e-24:
            break
        pushed = times(way)
        step = size / (way * pushed).sum()
        x, rest = x + step * way, rest - step * pushed
        old, size = size, (rest * rest).sum()
        way = rest + (size / old) * way
    return x


def main() -> None:
    """Walk down, halving a step that leads up, and print the way."""
    x = mg.full((DIMS,), -0.5, dtype="float64")
    slope_of = mg.func.value_and_grad(valley)
    for step in range(STEPS):
        value, slope = slope_of(x)
        print(f"step {step:2}: f = {value.item():.3e}, |slope| = {slope.norm().item():.1e}")
        if slope.norm().item() < 1e-9:
            break
        bends = mg.func.hessian(valley)(x)
        # A little is added to the diagonal where the valley is a saddle, or Newton would climb to it.
        damping = max(0.0, 1e-3 - lowest(bends))
        move = solve(lambda v, bends=bends, damping=damping: bends @ v + damping * v, slope)
        length = 1.0
        while valley(x - length * move).item() > value.item() and length > 1e-6:
            length /= 2
        x = x - length * move
    again = mg.func.hvp(valley, (x,), (mg.ones_like(x),))
    print(f"lowest point: all within {(x - 1.0).abs().max().item():.0e} of 1")
    print(f"hvp and the Hessian agree to {(again - bends_at(x) @ mg.ones_like(x)).abs().max().item():.0e}")


def bends_at(x: mg.Tensor) -> mg.Tensor:
    """All second derivatives."""
    return mg.func.hessian(valley)(x)


def lowest(matrix: mg.Tensor) -> float:
    """A bound below the eigenvalues of a symmetric matrix, by Gershgorin's discs, for those that are not negative."""
    middle = matrix.diagonal()
    reach = matrix.abs().sum(1) - middle.abs()
    return (middle - reach).min().item() if (middle < 0.0).any().item() else 0.0


if __name__ == "__main__":
    main()
