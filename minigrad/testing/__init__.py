"""Checks of gradients and of values: against finite differences, other libraries, and expected numbers."""

from typing import TYPE_CHECKING

from minigrad.declare.advice import answering
from minigrad.declare.manual import document_all
from minigrad.declare.names import listed
from minigrad.testing.close import assert_close
from minigrad.testing.compare import CompareError, compare
from minigrad.testing.gradcheck import gradcheck, gradgradcheck
from minigrad.testing.report import GradcheckError, Report

__all__ = ["CompareError", "GradcheckError", "Report", "assert_close", "compare", "gradcheck", "gradgradcheck"]
__dir__ = listed(__all__)
document_all(globals())
if not TYPE_CHECKING:  # a type checker would otherwise accept every attribute of this module
    __getattr__ = answering(__name__)
