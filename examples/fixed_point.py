"""Implicit differentiation: the gradient of a fixed point, without the iterations that led to it.

    python examples/fixed_point.py

z = tanh(W z + x) is iterated until z no longer changes.  Recording every iteration would save all of them.  But if z =
f(z, x), the implicit function theorem gives the derivatives of z with respect to x and W, however z was found.  For an
incoming gradient u of z, the gradients of the other inputs of f are their VJPs with v = u + J^T v.  This v is a fixed
point again, and `mg.func.vjp` at z computes J^T v.
"""

from collections.abc import Callable

import minigrad as mg

SIZE, ROUNDS = 8, 200
Pair = tuple[mg.Tensor, mg.Tensor]


def step(z: mg.Tensor, w: mg.Tensor, x: mg.Tensor) -> mg.Tensor:
    """Return the result of one iteration."""
    return mg.tanh(w @ z + x)


def iterated(function: Callable[[mg.Tensor], mg.Tensor], start: mg.Tensor) -> tuple[mg.Tensor, int]:
    """Iterate a function that converges; return the limit and the number of iterations."""
    z = start
    for count in range(1, ROUNDS + 1):
        new = function(z)
        if (new - z).abs().max().item() < 1e-14:
            return new, count
        z = new
    return z, ROUNDS


def fixed_point(w: mg.Tensor, x: mg.Tensor) -> mg.Tensor:
    """Return the z for which z = step(z, w, x), without recording a graph."""
    with mg.no_grad():
        return iterated(lambda z: step(z, w, x), mg.zeros_like(x))[0]


def pulled_back(w: mg.Tensor, x: mg.Tensor, z: mg.Tensor, u: mg.Tensor) -> Pair:
    """Return the gradients of w and x from the incoming gradient u of the fixed point."""
    _, back = mg.func.vjp(step, z, w, x)
    v, count = iterated(lambda v: u + back(v)[0], u)
    print(f"the way back took {count} rounds, each a product with the transposed Jacobian")
    return back(v)[1:]


def unrolled(w: mg.Tensor, x: mg.Tensor) -> mg.Tensor:
    """Return the same loss, with every iteration recorded; implicit differentiation avoids this."""
    z = mg.zeros_like(x)
    for _ in range(ROUNDS):
        z = step(z, w, x)
    return (z * z).sum()


def main() -> None:
    """Compute the gradients in both ways, and print how much they differ."""
    mg.manual_seed(3)
    w = 0.5 * mg.randn(SIZE, SIZE, dtype="float64") / SIZE**0.5
    x = mg.randn(SIZE, dtype="float64")
    z = fixed_point(w, x)
    print(f"z is a fixed point: z and step(z) differ by {(step(z, w, x) - z).abs().max().item():.0e}")
    implicit = pulled_back(w, x, z, 2.0 * z)  # 2 z is the gradient of the loss |z|^2
    explicit = mg.func.grad(unrolled, argnums=(0, 1))(w, x)
    for name, mine, theirs in zip(("w", "x"), implicit, explicit):
        apart = (mine - theirs).abs().max().item()
        print(f"d loss / d {name}: implicit and through {ROUNDS} rounds differ by {apart:.0e}")


if __name__ == "__main__":
    main()
