"""Checks of gradients and of values: against finite differences, other libraries, and expected numbers."""

from minigrad.declare.advice import imported, present
from minigrad.testing.close import assert_close
from minigrad.testing.compare import CompareError, compare
from minigrad.testing.gradcheck import gradcheck, gradgradcheck
from minigrad.testing.report import GradcheckError, Report

present(globals(), imported(globals()))
