"""Orthogonal matrices as a parametrization: functions of skew-symmetric matrices."""

from __future__ import annotations

from typing import Any

from minigrad.core.conditions import Ndim
from minigrad.core.roles import Choice
from minigrad.errors import ArgumentError, ShapeError
from minigrad.nn.init import _orthonormal
from minigrad.nn.modules.module import Module
from minigrad.nn.utils.parametrize import expect_module, register_parametrization
from minigrad.ops.creation import eye, zeros
from minigrad.ops.linalg.matrices import matrix_exp
from minigrad.ops.linalg.systems import solve
from minigrad.ops.random import randn
from minigrad.ops.shape.joining import cat
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe


class _Orthogonal(Module):
    """A weight with orthonormal rows or columns: a base times an orthogonal function of a skew-symmetric matrix."""

    base: Tensor | None

    def __init__(self, weight: Any, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.orthogonal_map, self.shape, self.registered = orthogonal_map, weight.shape, False
        self.register_buffer("base", None)
        if use_trivialization:
            self._keep_base(weight)

    def forward(self, x: Any) -> Tensor:
        wide = x.shape[0] < x.shape[1]
        x = x.T if wide else x
        n, k = x.shape
        a = x.tril()
        if n != k:
            a = cat([a, zeros(n, n - k, dtype=a.dtype, device=a.device)], 1)
        a = a - a.T
        if self.orthogonal_map == "matrix_exp":
            q: Any = matrix_exp(a)
        else:
            one = eye(n, dtype=a.dtype, device=a.device)
            q = solve(one - a * 0.5, one + a * 0.5)
        q = q[:, :k] if self.base is None else (self.base @ q)[:, :k]
        return q.T if wide else q

    def _keep_base(self, weight: Any) -> None:
        """Set the base to the orthogonal factor of the QR decomposition of a weight."""
        with no_grad():
            q = weight.detach()
            q = q.T if q.shape[0] < q.shape[1] else q
            n, k = q.shape
            if n != k:
                q = cat([q, randn(n, n - k, dtype=q.dtype, device=q.device)], 1)
            self.base = _orthonormal(q.contiguous())

    def right_inverse(self, weight: Any) -> Tensor:
        """Set the base to a weight, and return the original for which the result equals the base."""
        if weight.shape != self.shape:
            raise ShapeError(
                f"orthogonal: the weight must have the shape {self.shape}, got {describe(weight)}; assign a tensor of "
                "this shape"
            )
        if self.base is None:
            if self.registered:
                raise ArgumentError(
                    "orthogonal: the weight can be assigned only if the parametrization has use_trivialization=True, "
                    "got use_trivialization=False; pass use_trivialization=True"
                )
            self.registered = True
            return weight.clone()  # the first original is the weight of the module
        self._keep_base(weight)
        original = zeros(weight.shape, dtype=weight.dtype, device=weight.device)
        original.diagonal().fill_(-1.0)  # with -1 on the diagonal, the skew-symmetric part is 0
        return original


def orthogonal(
    module: Any, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Parametrize a matrix so that its rows are orthonormal, or its columns if it has more rows than columns.

    name: Name of the matrix.
    orthogonal_map ({"matrix_exp", "cayley"}): Function that maps a skew-symmetric matrix to an orthogonal matrix; the
    matrix exponential by default.
    use_trivialization: Whether the orthogonal matrix is multiplied by a base, which an assignment to the weight
    replaces. If False, there is no base, the original tensor begins with the values of the weight, and the weight
    cannot be assigned.

    Raises ShapeError if the tensor is not a matrix.
    Raises ArgumentError if the map is unknown. PyTorch's "householder" is not available.

    Source: Lezcano-Casado, Trivializations for gradient-based optimization on manifolds, 2019.

    >>> layer = mg.nn.utils.parametrizations.orthogonal(mg.nn.Linear(4, 2))
    >>> (layer.weight @ layer.weight.T).round(decimals=3).abs().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    weight = expect_module("orthogonal", module, name)
    Ndim(2, advice="parametrize a weight with 2 dims").expect("orthogonal", weight=weight)
    chosen = "matrix_exp" if orthogonal_map is None else orthogonal_map
    Choice("matrix_exp", "cayley").expect("orthogonal", orthogonal_map=chosen)
    made = _Orthogonal(weight, chosen, use_trivialization)
    register_parametrization(module, name, made, unsafe=True)
    return module
