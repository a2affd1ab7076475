"""Initial values of parameters, under the names of `torch.nn.init`.

Each function writes into its tensor without recording and returns the tensor.  *Fan in* is the number of inputs that
one output of a layer depends on; *fan out* is the number of outputs that depend on one input.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from minigrad.core.conditions import Ndim, expect_multiple
from minigrad.core.roles import Choice
from minigrad.declare.advice import answering
from minigrad.declare.manual import document_all
from minigrad.errors import ArgumentError, warn
from minigrad.ops.generators import Generator
from minigrad.ops.linalg.lu import qr
from minigrad.ops.random import randperm
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip
if not TYPE_CHECKING:  # a type checker would otherwise accept every attribute of this module
    __getattr__ = answering(__name__)

GAINS = {"linear": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3.0, "relu": math.sqrt(2.0), "selu": 0.75}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor by which initial values compensate for a nonlinearity.

    nonlinearity: Name of a function in `mg.nn.functional`, such as "relu" or "leaky_relu".
    param: Negative slope of leaky_relu, 0.01 by default; not used for other functions.

    Returns: The gain: 1 for linear and convolution functions, sqrt(2) for relu.

    Raises ArgumentError if the name is unknown, or `param` is not a number.

    >>> calculate_gain("leaky_relu", 0.2)
    1.3867504905630728
    """
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, int | float | None):
            raise ArgumentError(f"calculate_gain: param must be a number, got {param!r}; pass 0.01, for example")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity.startswith("conv") and nonlinearity.rstrip("123d") in ("conv", "conv_transpose"):
        return 1.0
    Choice("leaky_relu", *GAINS, advice="pass 'relu', for example").expect("calculate_gain", nonlinearity=nonlinearity)
    return GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return (fan in, fan out) of a weight of shape (out, in, *window)."""
    purpose, advice = "for a fan in and a fan out", "use uniform_ for a vector"
    Ndim(least=2, layout=purpose, advice=advice).expect("init", tensor=tensor)
    window = math.prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


# ---- plain distributions --------------------------------------------------------------------------------------------


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill a tensor with samples of the uniform distribution between `a` and `b`.

    tensor: Floating tensor, written in place.
    a and b: Lower and upper bound.
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill a tensor with normal samples; see `uniform_` for the other arguments."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill a tensor with samples of a normal distribution truncated to [a, b].

    tensor: Floating tensor, written in place.
    mean and std: Mean and standard deviation of the distribution before it is truncated.
    a and b: Lower and upper bound.

    The samples are computed with the inverse of the distribution function, from uniform random numbers.
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            f"trunc_normal_: mean={mean} is more than 2 std from [a, b], so the distribution of the samples is "
            "inaccurate; pass a mean between a and b"
        )
    low, high = [math.erf((edge - mean) / (std * math.sqrt(2.0))) for edge in (a, b)]
    with no_grad():
        tensor.uniform_(low, high, generator=generator)
        return tensor.erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(a, b)


def constant_(tensor: Any, val: float) -> Tensor:
    """Fill a tensor with the value `val`."""
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Any) -> Tensor:
    """Fill a tensor with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Any) -> Tensor:
    """Fill a tensor with zeros."""
    return constant_(tensor, 0.0)


# ---- structured values ----------------------------------------------------------------------------------------------


def eye_(tensor: Any) -> Tensor:
    """Fill a matrix with ones on the diagonal and zeros elsewhere.

    Raises ShapeError if the tensor does not have 2 dims.
    """
    Ndim(2, advice="reshape or slice the weight").expect("eye_", tensor=tensor)
    with no_grad():
        tensor.zero_()
        k = min(tensor.shape)
        tensor.detach()[:k, :k].diagonal().fill_(1.0)
    return tensor


def dirac_(tensor: Any, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that output channel k of each group copies input channel k of the group.

    Output channels that have no such input channel are filled with zeros.

    tensor: Weight of 3, 4 or 5 dims, written in place.
    groups: Number of groups of the convolution.

    Raises ShapeError if the tensor does not have 3 to 5 dims, or if dim 0 is not divisible by `groups`.
    """
    Ndim(3, 4, 5, advice="pass the weight of a convolution").expect("dirac_", tensor=tensor)
    expect_multiple("dirac_", "the length of dim 0", len(tensor), tensor, "pass groups=1, for example", groups=groups)
    each = tensor.shape[0] // groups
    center = [n // 2 for n in tensor.shape[2:]]
    with no_grad():
        tensor.zero_()
        values = tensor.detach()
        for g in range(groups):
            for d in range(min(each, tensor.shape[1])):
                values[(g * each + d, d, *center)] = 1.0
    return tensor


def _orthonormal(weight: Any) -> Any:
    """Return the Q of the QR decomposition whose R has a positive diagonal; a normal weight yields a uniform Q."""
    q, r = qr(weight)
    return q * r.diagonal().sign()


def orthogonal_(tensor: Any, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill a tensor with a random matrix whose rows or columns are orthonormal.

    The matrix has one row per index of dim 0, and all other dims are flattened into its columns.  The rows are
    orthonormal if there are at most as many rows as columns; otherwise the columns are orthonormal.

    tensor: Floating tensor of at least 2 dims, written in place.
    gain: Factor by which the matrix is multiplied.

    Source: Saxe, McClelland and Ganguli, Exact solutions to the nonlinear dynamics of learning in deep linear neural
    networks, 2013.
    """
    Ndim(least=2, advice="use normal_ for a vector").expect("orthogonal_", tensor=tensor)
    if not tensor.numel():
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    with no_grad():
        flat = tensor.detach().new_empty((rows, columns)).normal_(generator=generator)
        q = _orthonormal(flat.t().contiguous() if rows < columns else flat)
        return tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape) * gain)


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill a matrix with samples of the normal distribution with mean 0, and set a fraction of each column to zero.

    tensor: Floating matrix, written in place.
    sparsity: Fraction of zeros in each column.
    std: Standard deviation of the other elements.

    Source: Martens, Deep learning via Hessian-free optimization, 2010.
    """
    Ndim(2, advice="reshape or slice the weight").expect("sparse_", tensor=tensor)
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        values = tensor.detach()
        for column in range(columns):
            chosen = randperm(rows, generator=generator, device=tensor.device)[:zeros]
            values[chosen, column] = 0.0
    return tensor


# ---- variances that pass through layers -----------------------------------------------------------------------------


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill a weight with uniform samples of variance `gain**2 * 2 / (fan in + fan out)`.

    gain: Factor of the standard deviation, see `calculate_gain`.

    Source: Glorot and Bengio, Understanding the difficulty of training deep feedforward neural networks, 2010.
    """
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill a weight with normal samples of variance `gain**2 * 2 / (fan in + fan out)`; see `xavier_uniform_`."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _kaiming(name: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """Return the standard deviation gain / sqrt(fan); warn, and return 0, for a tensor without elements."""
    if 0 not in tensor.shape:
        Choice("fan_in", "fan_out").expect("init", mode=mode.lower())
        fan = _calculate_fan_in_and_fan_out(tensor)[mode.lower() == "fan_out"]
        return calculate_gain(nonlinearity, a) / math.sqrt(fan)
    warn(
        f"{name}: tensor has no elements, got {describe(tensor)}, so no element is initialized; pass a weight with "
        "elements"
    )
    return 0.0


def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill a weight with uniform samples of variance `gain**2 / fan`.

    a: Negative slope of the nonlinearity, if it is "leaky_relu".
    mode: The fan in the formula: "fan_in" preserves the variance in the forward pass, "fan_out" in the backward pass.
    nonlinearity: Nonlinearity after the layer, see `calculate_gain`.

    Source: He, Zhang, Ren and Sun, Delving deep into rectifiers, 2015.
    """
    bound = math.sqrt(3.0) * _kaiming("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Fill a weight with normal samples of variance `gain**2 / fan`.

    The arguments are the same as for `kaiming_uniform_`.
    """
    return normal_(tensor, 0.0, _kaiming("kaiming_normal_", tensor, a, mode, nonlinearity), generator)


# ---- older names ----------------------------------------------------------------------------------------------------


def _older(function: Any) -> Any:
    """Return an alias of `function` whose name lacks the final underscore; the alias warns, as in PyTorch."""
    name = function.__name__[:-1]

    def alias(*args: Any, **kwargs: Any) -> Tensor:
        warn(f"init.{name}: this name is deprecated; write init.{name}_")
        return function(*args, **kwargs)

    alias.__name__ = alias.__qualname__ = name
    alias.__doc__ = f"Call `{name}_`; this is its older name."
    return alias


OLDER = (
    uniform_, normal_, constant_, eye_, dirac_, xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_,
    orthogonal_, sparse_,
)  # fmt: skip
globals().update({alias.__name__: alias for alias in map(_older, OLDER)})
document_all(globals())
