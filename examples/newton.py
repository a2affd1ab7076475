"""Newton's method with exact Hessians: thirty steps along a valley in which gradient descent is very slow.

    python examples/newton.py

Rosenbrock's valley in ten dims is long, bent and flat.  `mg.func.hessian` returns all second derivatives of a function,
and Newton's method goes to the lowest point of the parabola with the same first and second derivatives.  The system of
equations of each step is solved by conjugate gradients.  These need only products with the Hessian, which `mg.func.hvp`
computes when there are too many dims to store the Hessian.  Both are compared at the end.
"""

from collections.abc import Callable

import minigrad as mg

DIMS, STEPS = 10, 40


def valley(x: mg.Tensor) -> mg.Tensor:
    """Return Rosenbrock's function, which is 0 if all elements of x are 1."""
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def solve(times: Callable[[mg.Tensor], mg.Tensor], b: mg.Tensor) -> mg.Tensor:
    """Return x with A x = b, by conjugate gradients; the symmetric A is given only as a function v -> A v."""
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
    """Minimize the function; halve a step that would increase it, and print every step."""
    x = mg.full((DIMS,), -0.5, dtype="float64")
    slope_of = mg.func.value_and_grad(valley)
    for step in range(STEPS):
        value, slope = slope_of(x)
        print(f"step {step:2}: f = {value.item():.3e}, |slope| = {slope.norm().item():.1e}")
        if slope.norm().item() < 1e-9:
            break
        bends = mg.func.hessian(valley)(x)
        # At a saddle, a little is added to the diagonal; otherwise Newton's method would go to the saddle.
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
    """Return all second derivatives at x."""
    return mg.func.hessian(valley)(x)


def lowest(matrix: mg.Tensor) -> float:
    """Return a lower bound of the eigenvalues by Gershgorin's discs; 0 if the diagonal has no negative element."""
    middle = matrix.diagonal()
    reach = matrix.abs().sum(1) - middle.abs()
    return (middle - reach).min().item() if (middle < 0.0).any().item() else 0.0


if __name__ == "__main__":
    main()
