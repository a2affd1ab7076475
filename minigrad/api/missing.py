"""Advice for attributes that tensors do not have, although `mg` has a function or PyTorch a method of this name.

Each such name is a descriptor of the class, which raises AttributeError with advice.  A `__getattr__` would make the
lookup of every other attribute slower, and a call `x * x` slower by a fifth.  The module is imported after all methods
have been attached.
"""

from __future__ import annotations

from inspect import getattr_static
from typing import Any, Final, NoReturn

from minigrad.declare.names import namespaces
from minigrad.runtime.tensor import Tensor

# Methods of PyTorch 2.13, and names from its older releases and from NumPy that scripts use.
OTHERS: Final = (
    "angle as_subclass astype ccol_indices cdouble cfloat chalf coalesce col_indices crow_indices dense_dim dequantize "
    "eig geqrf igamma igammac imag indices int_repr is_coalesced istft lstsq lu map2_ masked_scatter_ matrix_exp "
    "nonzero_static orgqr ormqr polygamma_ q_per_channel_axis q_scale q_zero_point qscheme reinforce renorm_ resize "
    "resize_as set_ sgn slice_inverse smm solve sparse_dim sparse_mask sspaddmm stft symeig to_mkldnn to_numpy "
    "to_padded_tensor to_sparse to_sparse_coo to_sparse_csr triangular_solve untyped_storage values xpu"
).split()

# Python suggests no names for a class with 750 attributes and more, so typical slips in the names that are used most
# are listed too: a plural, or two letters in a wrong order.
USED: Final = (
    "backward clone contiguous data detach device dtype flatten float grad item long mean ndim numel numpy permute "
    "requires_grad reshape shape size squeeze sum tolist transpose unsqueeze view"
).split()


def slips(name: str) -> list[str]:
    """Return a name with an `s` at its end, and with each two neighbouring letters swapped."""
    return [f"{name}s", *[f"{name[:k]}{name[k + 1]}{name[k]}{name[k + 2 :]}" for k in range(len(name) - 1)]]


class Missing:
    """The descriptor of a missing attribute, which raises AttributeError with advice."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, x: Any, kind: type) -> NoReturn:
        from minigrad.api.absent import missing_attribute  # imported here, because only errors need it

        missing_attribute(kind, self.name)


def own_attributes(x: Tensor) -> list[str]:
    """Return the names of the attributes that a tensor really has, for its `__dir__`."""
    kind = type(x)
    return [name for name in object.__dir__(x) if not isinstance(getattr_static(kind, name, None), Missing)]


def attach() -> None:
    """Set a descriptor for each missing name on Tensor."""
    typed = [slip for name in USED for slip in slips(name)]
    for name in {*OTHERS, *typed, *[name for names in namespaces.values() for name in names]}:
        if not hasattr(Tensor, name):
            setattr(Tensor, name, Missing(name))
    Tensor.__dir__ = own_attributes  # type: ignore[method-assign,assignment]


attach()
