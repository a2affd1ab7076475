"""Orthogonal matrices as a parametrization: functions of skew-symmetric matrices."""

from __future__ import annotations

import math
from typing import Any

from minigrad.core.roles import Choice
from minigrad.errors import ArgumentError, ShapeError
from minigrad.nn.modules.module import Module
from minigrad.nn.utils.parametrize import expect_module, register_parametrization
from minigrad.ops.creation import eye, zeros
from minigrad.ops.linalg.lu import qr
from minigrad.ops.linalg.systems import solve
from minigrad.ops.random import randn
from minigrad.ops.shape.joining import cat
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor, describe


def matrix_exp(a: Any) -> Tensor:
    """Return the exponential of a square matrix: 18 terms of the series of a / 2**k, squared k times.

    Reference: Higham, Functions of matrices, 2008, section 10.3.
    """
    norm = float(a.detach().abs().sum(-2).max()) if a.numel() else 0.0
    squarings = max(0, math.ceil(math.log2(norm)) + 1) if norm > 0.5 else 0
    scaled = a / 2.0**squarings
    total = term = eye(a.shape[-1], dtype=a.dtype, device=a.device)
    for k in range(1, 19):
        term = term @ scaled / float(k)
        total = total + term
    for _ in range(squarings):
        total = total @ total
    return total


def orthonormal(weight: Any) -> Any:
    """Return the orthogonal factor of the QR decomposition whose R has a positive diagonal."""
    q, r = qr(weight)
    return q * r.diagonal().sign()


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
            self.base = orthonormal(q.contiguous())

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

    Raises ArgumentError if the tensor is not a matrix, or the map is unknown. PyTorch's "householder" is not available.

    Source: Lezcano-Casado, Trivializations for gradient-based optimization on manifolds, 2019.

    >>> layer = mg.nn.utils.parametrizations.orthogonal(mg.nn.Linear(4, 2))
    >>> (layer.weight @ layer.weight.T).round(decimals=3).abs().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    weight = expect_module("orthogonal", module, name)
    if weight.ndim != 2:
        raise ArgumentError(
            f"orthogonal: the weight must be a matrix, got {describe(weight)}; parametrize a weight with 2 dims"
        )
    chosen = "matrix_exp" if orthogonal_map is None else orthogonal_map
    Choice("matrix_exp", "cayley").expect("orthogonal", orthogonal_map=chosen)
    made = _Orthogonal(weight, chosen, use_trivialization)
    register_parametrization(module, name, made, unsafe=True)
    return module
