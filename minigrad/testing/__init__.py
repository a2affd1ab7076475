"""Checks of gradients and of values: against finite differences, other libraries, and expected numbers."""

from minigrad.declare.advice import present
from minigrad.testing.close import assert_close
from minigrad.testing.compare import CompareError, compare
from minigrad.testing.gradcheck import gradcheck, gradgradcheck
from minigrad.testing.report import GradcheckError, Report

__all__ = ["CompareError", "GradcheckError", "Report", "assert_close", "compare", "gradcheck", "gradgradcheck"]
present(globals(), {name: globals()[name] for name in __all__})
