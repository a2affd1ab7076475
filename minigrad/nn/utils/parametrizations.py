"""Common parametrizations: weight normalization, spectral normalization, orthogonal matrices."""

from __future__ import annotations

from functools import wraps
from typing import Any

from minigrad.core.roles import Number
from minigrad.nn import functional as F
from minigrad.nn.modules.module import Module
from minigrad.nn.utils.orthogonal_matrices import orthogonal
from minigrad.nn.utils.parametrize import expect_module, register_parametrization, remove_parametrizations
from minigrad.ops.linalg.matrices import vector_norm
from minigrad.ops.linalg.vectors import vdot
from minigrad.ops.random import randn
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor

# The suffixes of PyTorch's old names, and the names of these tensors in the parametrization.
LENGTHS = {"g": "original0", "v": "original1"}
VECTORS = {"orig": "original", "u": "0._u", "v": "0._v"}

__all__ = ["orthogonal", "remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """A weight as the product of lengths and directions: one length per slice along a dim, or one length."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def lengths(self, weight: Tensor) -> Tensor:
        """Return the norms of the slices along the dim; all other dims have length 1."""
        if self.dim == -1:
            return vector_norm(weight)
        return vector_norm(weight, dim=tuple(d for d in range(weight.ndim) if d != self.dim), keepdim=True)

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / self.lengths(weight_v))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return the lengths and directions of a weight."""
        return self.lengths(weight), weight


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Parametrize a weight by its lengths and directions: weight = length * direction / norm(direction).

    dim: Dim along which each slice has a separate length. With None, the whole weight has one length.

    Returns (Module): The module. `parametrizations.weight.original0` contains the lengths, `original1` the directions.

    Source: Salimans and Kingma, Weight normalization, 2016.

    >>> layer = mg.nn.utils.parametrizations.weight_norm(mg.nn.Linear(3, 2))
    >>> layer.parametrizations.weight.original0.shape
    (2, 1)
    """
    expect_module("weight_norm", module, name)
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(OldKeys(name, LENGTHS))
    return module


class OldKeys:
    """Rename the keys of older state dicts, such as `weight_g`, when a state is loaded.

    An object of this class is a hook for `load_state_dict`.  Unlike a nested function, it can be pickled.
    names: maps each suffix of an old key to the name of a tensor of the parametrization.  A state dict counts as old if
    it has a key with the first suffix.
    """

    def __init__(self, name: str, names: dict[str, str]) -> None:
        self.paths = {f"{name}_{ending}": f"parametrizations.{name}.{new}" for ending, new in names.items()}

    def __call__(self, state: Any, prefix: str, *rest: Any) -> None:
        if prefix + next(iter(self.paths)) in state:
            for old, new in self.paths.items():
                if prefix + old in state:
                    state[prefix + new] = state.pop(prefix + old)

    def save(self, module: Any, state: Any, prefix: str, *rest: Any) -> None:
        """Rename new keys to old ones; this is a hook for `state_dict`."""
        for old, new in self.paths.items():
            if prefix + new in state:
                state[prefix + old] = state.pop(prefix + new)


def with_old_keys(normalize: Any, names: dict[str, str]) -> Any:
    """Return a function like `normalize` whose modules have PyTorch's old names in their state dicts and attributes.

    names: as for `OldKeys`.
    """

    @wraps(normalize)
    def normalized(module: Any, name: str = "weight", *args: Any, **kwargs: Any) -> Any:
        keys = OldKeys(name, names)
        normalize(module, name, *args, **kwargs).register_state_dict_post_hook(keys.save)
        module.parametrizations[name][0].old = True
        module.__dict__["_old_names"] = {**module.__dict__.get("_old_names", {}), **keys.paths}
        return module

    return normalized


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Make a weight that `weight_norm` parametrizes an ordinary parameter again, with its current value."""
    return remove_parametrizations(module, name)


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, from a power iteration.

    old: whether a step begins with v, as in PyTorch's `nn.utils.spectral_norm`.
    """

    old = False

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        Number(1, whole=True, example=1).expect("spectral_norm", n_power_iterations=n_power_iterations)
        self.dim = dim if dim >= 0 else dim + weight.ndim
        self.eps, self.n_power_iterations = eps, n_power_iterations
        if weight.ndim > 1:
            matrix = self._matrix(weight.detach())
            for name, length in zip(("_u", "_v"), matrix.shape, strict=True):
                start = randn(length, dtype=weight.dtype, device=weight.device)
                self.register_buffer(name, F.normalize(start, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Any) -> Any:
        """Return the weight with `dim` first and all other dims flattened."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *[d for d in range(weight.ndim) if d != self.dim])
        return weight.flatten(1)

    def _iterate(self, matrix: Any, steps: int) -> None:
        """Move the vectors u and v towards the first pair of singular vectors."""
        u, v = self.__dict__["_u"], self.__dict__["_v"]
        pairs = [(u, matrix, v), (v, matrix.mH, u)]
        with no_grad():
            for _ in range(steps):
                for target, m, other in reversed(pairs) if self.old else pairs:
                    target.copy_(F.normalize(m @ other, dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        # The next call changes the vectors in place, but the backward pass needs the vectors of this call.
        u, v = self.__dict__["_u"].clone(), self.__dict__["_v"].clone()
        return weight / vdot(u, matrix @ v)

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return the value unchanged: an assigned weight is normalized at its next use."""
        return value


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Parametrize a weight so that it is divided by its largest singular value at each use.

    Source: Miyato, Kataoka, Koyama and Yoshida, Spectral normalization for generative adversarial networks, 2018.

    >>> layer = mg.nn.utils.parametrizations.spectral_norm(mg.nn.Linear(3, 2))
    >>> [name for name, _ in layer.parametrizations.named_buffers()]
    ['weight.0._u', 'weight.0._v']
    """
    weight = expect_module("spectral_norm", module, name)
    if dim is None:
        dim = 1 if getattr(module, "transposed", False) else 0
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    module._register_load_state_dict_pre_hook(OldKeys(name, VECTORS))
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Make a weight that `spectral_norm` parametrizes an ordinary parameter again, with its current value."""
    return remove_parametrizations(module, name)


old_weight_norm, old_spectral_norm = with_old_keys(weight_norm, LENGTHS), with_old_keys(spectral_norm, VECTORS)
