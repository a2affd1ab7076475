"""The ops of neural networks under PyTorch's names and arguments: `mg.nn.functional.relu(x)`.

Nothing is computed here.  Each name is an op of `minigrad/ops`, so it exists once, has one derivative rule and is
tested with the other ops.  The functions below accept arguments that only `torch.nn.functional` has: `inplace`, an
optional `dim`, and `_stacklevel`, which has no effect.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minigrad.declare.advice import present
from minigrad.declare.decorators import public
from minigrad.declare.names import FUNCTIONAL, namespaces
from minigrad.errors import ArgumentError, warn
from minigrad.nn.heads import with_parameters
from minigrad.ops.nn import activation
from minigrad.ops.nn import softmax as normalized
from minigrad.runtime.tensor import Tensor, describe, expect_tensors


@public(namespace=FUNCTIONAL)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `mg.relu` of the input; with `inplace`, overwrite and return the input."""
    return activation.relu(input) if not inplace else input.relu_()


@public(namespace=FUNCTIONAL)
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `mg.relu6(input)`; with `inplace`, overwrite and return the input."""
    return activation.relu6(input) if not inplace else input.relu6_()


@public(namespace=FUNCTIONAL)
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return `mg.silu(input)`; with `inplace`, overwrite and return the input."""
    return activation.silu(input) if not inplace else input.silu_()


@public(namespace=FUNCTIONAL)
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return `mg.softmax`; without a `dim`, warn and use 0 for 0, 1 or 3 dims and 1 otherwise, as PyTorch does."""
    return _along(normalized.softmax, input, dim, dtype)


@public(namespace=FUNCTIONAL)
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return `mg.log_softmax`; if `dim` is None, the default of `softmax` is used."""
    return _along(normalized.log_softmax, input, dim, dtype)


@public(namespace=FUNCTIONAL)
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Return softmax(-input); if `dim` is None, the default of `softmax` is used."""
    return _along(normalized.softmin, input, dim, dtype)


@public(namespace=FUNCTIONAL)
def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """Compute `rrelu` in place, and return the input."""
    return activation.rrelu(input, lower, upper, training, True)


@public(namespace=FUNCTIONAL)
def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True,
    key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None, static_k: Tensor | None = None, static_v: Tensor | None = None,
    average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Return (output, attention weights) of multi-head attention with the given projections.

    The arguments are the attributes of a `mg.nn.MultiheadAttention` module and the arguments of its `forward`.
    Raises ArgumentError unless static_k and static_v are None.
    """
    if static_k is not None or static_v is not None:
        raise ArgumentError(
            "multi_head_attention_forward: static_k and static_v must be None, because minigrad does not support "
            "them; pass key and value"
        )
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else (None,) * 3
    heads = with_parameters(
        embed_dim_to_check, num_heads, None if use_separate_proj_weight else in_proj_weight, separate, in_proj_bias,
        bias_k, bias_v, add_zero_attn, dropout_p if training else 0.0, out_proj_weight, out_proj_bias,
    )  # fmt: skip
    arguments = key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal
    return heads.forward(query, key, value, *arguments)


def _along(function: Callable[..., Tensor], input: Tensor, dim: int | None, dtype: Any) -> Tensor:
    """Call a function that works along a dim; without a `dim`, use PyTorch's default and warn."""
    expect_tensors(function.__name__, input)
    if dim is None:
        dim = 0 if input.ndim in (0, 1, 3) else 1
        warn(
            f"{function.__name__}: expected a dim for {describe(input)}, got None, so dim={dim} is taken; pass "
            f"dim={dim}"
        )
    return function(input, dim, dtype)


def with_indices(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a pooling function that also returns the positions of the largest elements, under PyTorch's name."""

    @functools.wraps(function)
    def pooled(*args: Any, return_indices: bool = True, **kwargs: Any) -> Any:
        return function(*args, return_indices=True, **kwargs)

    pooled.__name__ = pooled.__qualname__ = f"{function.__name__}_with_indices"
    pooled.__doc__ = (
        f"Return the values and the indices of `{function.__name__}` with return_indices=True.\n\n"
        "input: the signals, images or volumes; the other parameters are those of this function."
    )
    return pooled


for name in [f"{kind}max_pool{dims}d" for kind in ("", "adaptive_", "fractional_") for dims in (1, 2, 3)]:
    if name in namespaces[FUNCTIONAL]:  # there is no fractional_max_pool1d
        namespaces[FUNCTIONAL][f"{name}_with_indices"] = with_indices(namespaces[FUNCTIONAL][name])
namespaces[FUNCTIONAL]["logsigmoid"] = activation.log_sigmoid
# PyTorch has these in-place functions in this namespace as well.
for name in ("celu", "elu", "hardtanh", "leaky_relu", "relu", "selu", "threshold"):
    namespaces[FUNCTIONAL][f"{name}_"] = getattr(Tensor, f"{name}_")
present(globals(), namespaces[FUNCTIONAL])
