"""Attach the protocols of NumPy, DLPack and the array API to Tensor, and enter minigrad in einops and opt_einsum.

The modules with NumPy's functions and with those of the array API are imported at their first use.
"""

from __future__ import annotations

from typing import Any

from minigrad.api.interop import backends
from minigrad.api.interop.arrays import array_interface, dlpack, dlpack_device, numpy, to_array, to_device
from minigrad.errors import ArgumentError
from minigrad.runtime.tensor import Tensor


def array_namespace(x: Tensor, *, api_version: str | None = None) -> Any:
    """Return the module with the functions of the array API standard: `mg.array_api`.

    Raises ArgumentError, a ValueError, for a version of the standard that is not supported.
    """
    from minigrad.api.interop import array_api

    if api_version not in (None, "2021.12", "2022.12", "2023.12", array_api.__array_api_version__):
        raise ArgumentError(
            "__array_namespace__: api_version must be None or one of '2021.12', '2022.12', '2023.12' and "
            f"{array_api.__array_api_version__!r}, got {api_version!r}; omit api_version"
        )
    return array_api


def array_function(x: Tensor, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Compute a NumPy function that is called on tensors: see `numpy_calls.py`."""
    from minigrad.api.interop import numpy_calls

    return numpy_calls.array_function(x, function, types, args, kwargs)


class ArrayUfunc:
    """Define `__array_ufunc__`: the class Tensor returns a function, and a tensor returns None.

    NumPy's ufuncs read the attribute from the class.  NumPy's masked arrays read the attribute from the tensor.  If a
    masked array found a function, it would convert the tensor to an array and lose the gradient.  With None, the
    operator of the tensor runs instead and raises an error.
    """

    def __get__(self, x: Tensor | None, kind: type) -> Any:
        if x is not None:
            return None
        from minigrad.api.interop import numpy_calls

        return numpy_calls.ufunc

    def __set__(self, x: Tensor, value: Any) -> None:
        raise AttributeError("__array_ufunc__ cannot be set: it directs NumPy's functions to minigrad")


NAMES: dict[str, Any] = {
    "numpy": numpy, "__array__": to_array, "__dlpack__": dlpack, "__dlpack_device__": dlpack_device,
    "__cuda_array_interface__": property(array_interface), "__array_namespace__": array_namespace,
    "to_device": to_device, "__array_function__": array_function, "__array_ufunc__": ArrayUfunc(),
}  # fmt: skip
for _name, _function in NAMES.items():
    setattr(Tensor, _name, _function)
backends.connect()
