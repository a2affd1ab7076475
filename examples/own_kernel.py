"""A derivative by hand for a kernel of your own: a Numba loop inside a `mg.Function`.

The function is y[i] = r y[i-1] + x[i], which is x[i] + r x[i-1] + r**2 x[i-2] + ...  Every element needs the previous
one, which an elementwise op cannot express.  The derivative is the same loop from the other end, so `backward` calls
the Function itself on the flipped gradient, and derivatives of every order follow.
"""

import numba
import numpy as np

import minigrad as mg


@numba.njit
def leak(x, r):
    """Return y with y[..., i] = r * y[..., i - 1] + x[..., i], for each row."""
    y = np.empty_like(x)
    for row in range(x.shape[0]):
        total = 0.0
        for i in range(x.shape[1]):
            total = r * total + x[row, i]
            y[row, i] = total
    return y


class Leak(mg.Function):
    """The leaky sum along rows, for x of shape (rows, n) and a number r."""

    @staticmethod
    def forward(x, r):
        """Compute the result with NumPy arrays; this code is not recorded."""
        return mg.from_numpy(leak(x.detach().numpy(), r)).to(x.device)

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Save r.  The function is linear, so its derivative does not need x."""
        ctx.r = inputs[1]

    @staticmethod
    def backward(ctx, g):
        """Return one gradient per argument; r is a number and has none."""
        return Leak.apply(g.flip(1), ctx.r).flip(1), None

    @staticmethod
    def jvp(ctx, dx, _):
        """Return the tangent of the result, which is the same linear function of the tangent dx."""
        return Leak.apply(dx, ctx.r)


def main() -> None:
    """Print values and a gradient, and check the first and second derivatives."""
    x = mg.Var([[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]], dtype=mg.float64)
    y = Leak.apply(x, 0.5)
    print("y     =", y.tolist())
    y.square().sum().backward()
    print("dy/dx =", x.grad.tolist())

    point = mg.randn(2, 6, dtype=mg.float64, requires_grad=True)
    print("first derivative agrees with differences: ", bool(mg.testing.gradcheck(lambda x: Leak.apply(x, 0.9), point)))
    second = mg.testing.gradgradcheck(lambda x: Leak.apply(x, 0.9).sin(), point)
    print("second derivative agrees with differences:", bool(second))


if __name__ == "__main__":
    main()
