"""Quasirandom numbers under PyTorch's name: `mg.quasirandom.SobolEngine`.

SciPy computes the points.  Its table of direction numbers, 590 kB, and PyTorch's are the same: those of Joe and Kuo,
"Constructing Sobol sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30 (2008), for the search
criterion D(6).  So the points without scrambling are PyTorch's.
"""

from __future__ import annotations

import warnings
from typing import Any

from minigrad.core.dtype import as_dtype, default_float
from minigrad.declare.advice import present
from minigrad.errors import ArgumentError, RecordingError
from minigrad.ops.creation import tensor
from minigrad.ops.random import randint
from minigrad.runtime.hosting import host
from minigrad.runtime.tensor import Tensor


class SobolEngine:
    """Draw points of a Sobol sequence, which fill the unit cube more evenly than random points; it needs SciPy.

    dimension: Number of coordinates of a point, from 1 to 21201.
    scramble: Whether to scramble the points by random linear maps of their digits and a random shift (Owen 1998). The
    points are those of SciPy, and differ from PyTorch's.
    seed: Seed of the scrambling. If it is None, the default generator draws the seed.

    Raises ArgumentError if there is no table for `dimension`.
    Raises ImportError if SciPy is not installed.
    """

    MAXBIT, MAXDIM = 30, 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ArgumentError(
                f"SobolEngine: dimension must be from 1 to {self.MAXDIM}, got {dimension}; draw the others by mg.rand"
            )
        try:
            from scipy.stats import qmc  # not a dependency: few programs draw such points
        except ImportError as error:
            raise ImportError("SobolEngine: SciPy is not installed; run pip install scipy") from error
        self.dimension, self.scramble, self.seed, self.num_generated = dimension, scramble, seed, 0
        start = int(randint(2**31 - 1).item()) if seed is None and scramble else seed
        self._points = qmc.Sobol(dimension, scramble=scramble, bits=self.MAXBIT, seed=start)

    def _expect_no_recording(self, name: str) -> None:
        """Raise RecordingError while a program is recorded, because later calls would not move on."""
        if host.defer is not None:
            raise RecordingError(
                f"jit: SobolEngine.{name} cannot be called in a recorded function, whose later calls would use the "
                "points of the recording; draw the points outside this function and pass them as an argument"
            )

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """Return the next n points, a tensor (n, dimension) of the default float dtype or of `dtype`."""
        self._expect_no_recording("draw")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The balance properties", UserWarning)  # PyTorch does not warn
            values = self._points.random(n)
        self.num_generated += n
        result = tensor(values, dtype=default_float() if dtype is None else as_dtype(dtype))
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """Return the next 2**m points, as `draw`.

        Raises ArgumentError unless the number of all drawn points is then a power of 2, for which points are balanced.
        """
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ArgumentError(
                f"SobolEngine: the number of all points must be a power of 2, got {self.num_generated} + 2**{m}; use "
                "draw(n)"
            )
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Return to the start of the sequence."""
        self._expect_no_recording("reset")
        self._points.reset()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skip the next n points."""
        self._expect_no_recording("fast_forward")
        if n:  # SciPy cannot skip 0 points at the start
            self._points.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        scramble = f", scramble=True{'' if self.seed is None else f', seed={self.seed}'}" if self.scramble else ""
        return f"SobolEngine(dimension={self.dimension}{scramble})"


present(globals(), {"SobolEngine": SobolEngine})
