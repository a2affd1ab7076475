"""Proofs for gradients, for our ops and for users' own: `gradcheck` and `gradgradcheck`, with their reports."""

from minigrad.testing.gradcheck import gradcheck, gradgradcheck
from minigrad.testing.report import GradcheckError, Report

__all__ = ["GradcheckError", "Report", "gradcheck", "gradgradcheck"]
