"""Declare an op of your own: one scalar function and one derivative are enough.

`mish(x) = x * tanh(softplus(x))` is declared below in four lines.  The declaration provides a compiled parallel loop
for any strides, float16 to float64, `out=`, gradients of every order, and the gradient check that finds the mistake in
the second declaration.  Source: D. Misra, "Mish: A Self Regularized Non-Monotonic Activation Function", arXiv
1908.08681.
"""

import math
import sys

import minigrad as mg


def mish_rule(g, x, y):
    """Return g * dy/dx.  The names of the arguments state which values are saved: operand x and result y."""
    sigma = x.sigmoid()
    t = x.softplus().tanh()
    return g * (t + x * sigma * (1.0 - t * t))


@mg.elementwise(dtype=mg.rules.to_float, vjp=(mish_rule,), fuse=True)
def mish(x):
    """x * tanh(log(1 + exp(x))).  Gradient: tanh(s) + x * sigmoid(x) * (1 - tanh(s)**2) with s = softplus(x)."""
    s = math.log1p(math.exp(-math.fabs(x))) + (x if x > 0 else 0)
    return x * math.tanh(s)


@mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, x: g * x.softplus().tanh(),))
def forgetful(x):
    """The same function, but its derivative rule lacks the second term."""
    s = math.log1p(math.exp(-math.fabs(x))) + (x if x > 0 else 0)
    return x * math.tanh(s)


def show_layouts(x: mg.Tensor) -> None:
    """Apply the op to tensors with different strides; none of them is copied to make it contiguous."""
    views = {
        "dense": x,
        "transposed": x.T,
        "every second column": x[:, ::2],
        "backwards": x.flip(0, 1),
        "one row, repeated": x[0].expand(3, 4),
        "windows of two": x.unfold(1, 2, 1),
    }
    for name, view in views.items():
        expected = [v * math.tanh(math.log1p(math.exp(v))) for v in view.flatten().tolist()]
        worst = (mish(view).flatten() - mg.tensor(expected)).abs().max().item()
        print(f"  {name:20} shape {view.shape!s:10} strides {view.strides!s:10} off by {worst:.0e}")


def main() -> None:
    """Print values, layouts, the gradient check, the kernel's source, and the mistake."""
    x = mg.tensor([[-2.0, -1.0, 0.0, 1.0], [2.0, 3.0, 0.5, -0.5], [0.1, 4.0, -4.0, 6.0]])
    print("mish of every layout, against Python's math:")
    show_layouts(x)

    for dtype in (mg.float16, mg.bfloat16, mg.float64):
        print(f"  in {dtype!s:9} mish(1) = {mish(mg.tensor(1.0, dtype=dtype)).item():.6f}")

    point = mg.Var(x, dtype=mg.float64)
    print("\nfirst derivative agrees with differences: ", bool(mg.testing.gradcheck(mish, point)))
    print("second derivative agrees with differences:", bool(mg.testing.gradgradcheck(mish, point)))

    print("\nwhat the machine runs:")
    (kernel,) = mg.viz.kernels(mish(mg.Var(x)))
    print("\n".join(kernel.read_text(encoding="utf-8").splitlines()[-4:]))
    print("in", kernel)

    print("\nand with a rule that is wrong:")
    try:
        mg.testing.gradcheck(forgetful, point)
    except mg.testing.GradcheckError as error:
        print(f"  {error}")
        print(f"  the function itself is fine: forgetful(x) == mish(x) is {(forgetful(x) == mish(x)).all().item()}")
        return
    sys.exit("the gradient check has missed a wrong rule")


if __name__ == "__main__":
    main()
