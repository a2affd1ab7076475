"""Proofs for gradients, for our ops and for users' own: `gradcheck` and `gradgradcheck`."""

from minigrad.testing.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
