"""A derivative by hand around a kernel of one's own: Numba loops inside of a `mg.Function`.

The function is x[0] + r x[1] + r**2 x[2] + ... up to each place, y[i] = r y[i-1] + x[i]: every element needs the one
before, which no elementwise op can say.  Its derivative is the same loop from the other end, so the backward of the
Function calls the Function itself on what is turned around, and every order of derivative follows.
"""

import numba
import numpy as np

import minigrad as mg


@numba.njit
def leak(x, r):
    """y[..., i] = r * y[..., i - 1] + x[..., i], for rows."""
    y = np.empty_like(x)
    for row in range(x.shape[0]):
        total = 0.0
        for i in range(x.shape[1]):
            total = r * total + x[row, i]
            y[row, i] = total
    return y


class Leak(mg.Function):
    """The leaky sum along rows.  x: (rows, n); r: a number."""

    @staticmethod
    def forward(x, r):
        """Unrecorded: NumPy arrays may be looked at, and filled."""
        return mg.from_numpy(leak(x.detach().numpy(), r)).to(x.device)

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Nothing of x is needed: the function is linear."""
        ctx.r = inputs[1]

    @staticmethod
    def backward(ctx, g):
        """One gradient an argument; r is a number and has none."""
        return Leak.apply(g.flip(1), ctx.r).flip(1), None

    @staticmethod
    def jvp(ctx, dx, _):
        """What forward mode would derive, said: a linear function does to tangents what it does to values."""
        return Leak.apply(dx, ctx.r)


def main() -> None:
    """Values, a gradient, and the proof."""
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
