"""The ops `softmax` and `log_softmax`, whose forward pass and backward pass are one kernel each.

The totals of a row and its elements are scalar functions, stored in a `RowFn`.  The body of an op is its definition,
with which tests compare the kernels.  Both ops save their result instead of their operand, so derivatives of higher
order are written in tensor code.  The compiler may re-order the additions of a row's sums; the order is the same for
any number of threads.
"""

from __future__ import annotations

from minigrad.core.roles import Cast, Dim
from minigrad.core.rows import RowFn, Total
from minigrad.declare.decorators import composed
from minigrad.declare.names import MG
from minigrad.declare.rows import rows
from minigrad.kernels.scalar import formula
from minigrad.ops.reduction.sums import amax, sum, wide
from minigrad.runtime.tensor import Tensor

PEAK = Total("peak", "max", formula("itself(input)", "input"))
EXP_BELOW = formula("exp_below(input, peak)", "math.exp(input - peak)")
SOFTMAX = RowFn(
    "softmax", ("input",), (PEAK, Total("scale", "sum", EXP_BELOW, formula("inverse(total)", "1 / total"))),
    formula("softmax_of(input, peak, scale)", "math.exp(input - peak) * scale"),
    formula("softmax_again(kept, scale)", "kept * scale"),
)  # fmt: skip
LOG_SOFTMAX = RowFn(
    "log_softmax", ("input",), (PEAK, Total("log", "sum", EXP_BELOW, formula("log(total)", "math.log(total)"))),
    formula("log_softmax_of(input, peak, log)", "(input - peak) - log"),
)  # fmt: skip
SOFTMAX_BACKWARD = RowFn(
    "softmax_backward", ("g", "y"), (Total("total", "sum", formula("product(g, y)", "g * y")),),
    formula("softmax_back(g, y, total)", "(g - total) * y"),
)  # fmt: skip
LOG_SOFTMAX_BACKWARD = RowFn(
    "log_softmax_backward", ("g", "y"), (Total("total", "sum", formula("gradient(g)", "g")),),
    formula("log_softmax_back(g, y, total)", "g - math.exp(y) * total"),
)  # fmt: skip


def _shifted(x: Tensor, dim: int) -> Tensor:
    """Return x minus its maximum along `dim`; the maximum counts as a constant, because the shift has no effect."""
    return x if x.shape[dim] == 0 else x - amax(x.detach(), dim, keepdim=True)


def softmax_gradient(g: Tensor, y: Tensor, dim: int) -> Tensor:
    """Return the gradient of a softmax with the result y, in differentiable tensor code."""
    g, y = wide(g), wide(y)
    return (g - sum(g * y, dim, keepdim=True)) * y


def _log_softmax_gradient(g: Tensor, y: Tensor, dim: int) -> Tensor:
    g, y = wide(g), wide(y)
    return g - y.exp() * sum(g, dim, keepdim=True)


@rows(
    SOFTMAX,
    backward=SOFTMAX_BACKWARD,
    vjp=(lambda g, y, *, dim: softmax_gradient(g, y, dim),),
    # The Jacobian of softmax is symmetric, so both rules are equal.
    jvp=lambda dinput, y, *, dim: softmax_gradient(dinput, y, dim),
    batch="along",
    namespace=MG,
    method=True,
    floats=True,
)
def softmax(input: Tensor, dim: Dim, dtype: Cast = None):
    """Return exp(input) / sum(exp(input)) along `dim`; the input is first shifted by its maximum to avoid overflow.

    DTypes: the result has the given dtype; by default, that of the input, or the default float for integers. float16
    and bfloat16 are computed in float32.
    Gradient: y * (g - sum(g * y)) with the result y.  Special values: a row of -inf produces nan.
    """
    e = _shifted(input, dim).exp()
    return e / sum(e, dim, keepdim=True)


@rows(
    LOG_SOFTMAX, backward=LOG_SOFTMAX_BACKWARD, vjp=(lambda g, y, *, dim: _log_softmax_gradient(g, y, dim),),
    jvp=lambda dinput, y, *, dim: dinput - sum(dinput * y.exp(), dim, keepdim=True), batch="along", namespace=MG,
    method=True, floats=True,
)  # fmt: skip
def log_softmax(input: Tensor, dim: Dim, dtype: Cast = None):
    """Return log(softmax(input)) along `dim`, computed as input - log(sum(exp(input))), which does not underflow.

    Gradient: g - exp(y) * sum(g) with the result y.
    """
    shifted = _shifted(input, dim)
    return shifted - sum(shifted.exp(), dim, keepdim=True).log()


@composed(namespace=MG, floats=True)
def softmin(input: Tensor, dim: Dim, dtype: Cast = None) -> Tensor:
    """Return softmax(-input) along `dim`, in which the smallest elements have the largest values."""
    return softmax(-input, dim)
