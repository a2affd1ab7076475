"""The ops of complex numbers, and functions that rules call for complex operands only.

The rows of `op_table` have real operands, so `ops/test_complex.py` and `ops/test_fourier.py` test these ops: their
values, their gradients of both orders and forward mode.
"""

from __future__ import annotations

NAMES = frozenset({
    "angle", "as_complex", "as_real", "complex", "conj", "conj_physical", "eig", "eigvals", "expect_no_phase", "imag",
    "imag_copy", "polar", "real", "real_copy", "real_part", "resolve_conj", "sgn", "view_as_complex", "view_as_real",
    "view_as_complex_copy", "view_as_real_copy",
    "fourier", "hermitian_fourier", "real_fourier", "fftshift", "ifftshift", "stft", "istft",
    *[f"{name}{dims}" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for dims in ("", "2", "n")],
})  # fmt: skip
PARTS = (
    "phase_gradient", "gU is not None or gVh is not None", "U * phases", "with_real_diagonals", "expect_no_phase",
    "is_complex", "cast_to", "sign_of", "away_from_one", "pow_exponent_rule: swapped branches in `exponent.real",
    "conjugated",
)  # fmt: skip


def is_complex_only(of: str, what: str) -> bool:
    """Return whether a broken op, or the broken line of a rule, matters to complex numbers only."""
    return of in NAMES or any(part in what for part in PARTS)
