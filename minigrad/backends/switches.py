"""PyTorch's switches of libraries that minigrad does not use, for scripts that set them.  They have no effect.

The switches of deterministic algorithms fill uninitialized memory; all results are deterministic in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from minigrad.config import settings


@contextmanager
def flags(*args: Any, **kwargs: Any) -> Iterator[None]:
    """Open a block in which switches have other values."""
    yield


def always(value: Any) -> Callable[..., Any]:
    """Return a function that accepts any arguments and returns a value."""
    return lambda *args, **kwargs: value


class Deterministic:
    """PyTorch's switches of deterministic algorithms; `fill` is `utils.deterministic.fill_uninitialized_memory`."""

    enabled, warn_only, fill = False, False, True

    def set(self, **values: bool) -> None:
        """Change switches: with `enabled` and `fill`, the memory of `empty` and similar functions is filled."""
        vars(self).update(values)
        settings.fill_uninitialized = self.enabled and self.fill


deterministic = Deterministic()
KERNELS = ("flash", "mem_efficient", "math", "cudnn")  # PyTorch's implementations of attention
cuda = SimpleNamespace(
    matmul=SimpleNamespace(
        allow_tf32=False, allow_fp16_reduced_precision_reduction=False, allow_bf16_reduced_precision_reduction=False
    ),
    cufft_plan_cache=SimpleNamespace(max_size=0, size=0, clear=always(None)),
    is_built=always(False),
    sdp_kernel=flags,
    preferred_linalg_library=always("default"),
    preferred_blas_library=always("default"),
    **{f"enable_{name}_sdp": always(None) for name in KERNELS},
    **{f"{name}_sdp_enabled": always(False) for name in KERNELS},
)
mkldnn = SimpleNamespace(enabled=False, flags=flags, is_available=always(False), verbose=flags)
mps = SimpleNamespace(is_available=always(False), is_built=always(False))  # Apple GPUs
mkl = SimpleNamespace(is_available=always(False), verbose=flags)
openmp = SimpleNamespace(is_available=always(False))
