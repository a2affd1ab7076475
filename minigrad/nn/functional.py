"""The ops of neural networks under PyTorch's names and arguments: `mg.nn.functional.relu(x)`.

Nothing is computed here.  Each name is an op of `minigrad/ops`, so it exists once, has one derivative rule and is
tested with the others; this module is where one who knows `torch.nn.functional` looks for it.  The functions below
read the arguments that exist there only: `inplace`, and a `dim` that is left out.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from minigrad.api.absent import present
from minigrad.declare.decorators import public
from minigrad.declare.names import FUNCTIONAL, namespaces
from minigrad.ops.nn import activation
from minigrad.ops.nn import softmax as normalized
from minigrad.runtime.tensor import Tensor, describe, expect_tensors


@public(namespace=FUNCTIONAL)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """`mg.relu`; inplace: in input's own memory, which is returned."""
    return activation.relu(input) if not inplace else input.relu_()


@public(namespace=FUNCTIONAL)
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`mg.relu6`; inplace: in input's own memory, which is returned."""
    return activation.relu6(input) if not inplace else input.relu6_()


@public(namespace=FUNCTIONAL)
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`mg.silu`; inplace: in input's own memory, which is returned."""
    return activation.silu(input) if not inplace else input.silu_()


@public(namespace=FUNCTIONAL)
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`mg.softmax`.  Without a dim, 0 is taken for 0, 1 and 3 dims and 1 for others, with a warning, as in PyTorch."""
    return _along(normalized.softmax, input, dim, dtype, _stacklevel)


@public(namespace=FUNCTIONAL)
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`mg.log_softmax`; for a dim that is left out, see `softmax`."""
    return _along(normalized.log_softmax, input, dim, dtype, _stacklevel)


@public(namespace=FUNCTIONAL)
def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax(-input); for a dim that is left out, see `softmax`."""
    return _along(normalized.softmin, input, dim, dtype, _stacklevel)


def _along(function: Callable[..., Tensor], input: Tensor, dim: int | None, dtype: Any, stacklevel: int) -> Tensor:
    """A function of rows along a dim, or along the one that PyTorch takes when none is given."""
    expect_tensors(function.__name__, input)
    if dim is None:
        dim = 0 if input.ndim in (0, 1, 3) else 1
        warnings.warn(
            f"{function.__name__}: no dim was given for {describe(input)}, and dim={dim} is taken; write it, for it "
            f"says which elements belong to one sum",
            stacklevel=stacklevel,
        )
    return function(input, dim, dtype)


namespaces[FUNCTIONAL]["logsigmoid"] = activation.log_sigmoid
present(globals(), namespaces[FUNCTIONAL])
