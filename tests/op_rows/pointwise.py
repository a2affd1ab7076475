"""Rows of functions of one element: activations.  Their loops are those of other rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import minigrad as mg

from .row import ALL, FLOATS, NUMBERS, Row


def _row(name: str, numpy: Callable[..., Any], *domains: str, **more: Any) -> Row:
    """A row of the function of that name, in mg or in mg.nn.functional."""
    function = more.pop("fn", None) or getattr(mg, name, None) or getattr(mg.nn.functional, name)
    more = {"ops": (name,), "dtypes": ALL, "result": "float", "kernels": False} | more
    return Row(name, function, numpy, domains or ("real",), **more)


def _selu(x: np.ndarray) -> np.ndarray:
    return 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))


def _composed(name: str, numpy: Callable[..., Any], *shapes: tuple[int, ...], **more: Any) -> Row:
    """A row of a function that is made of others."""
    more = {"dtypes": FLOATS, "refuses": False, "kernels": False} | more
    return Row(name, getattr(mg.nn.functional, name), numpy, ("real",) * len(shapes), (), shapes, **more)


def _glu(x: np.ndarray) -> np.ndarray:
    a, b = np.split(x, 2, -1)
    return a / (1 + np.exp(-b))


ROWS = [
    _row("celu", lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha)), "real", "positive"),
    _row("selu", _selu),
    _row("mish", lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    _row("softsign", lambda x: x / (1 + np.abs(x))),
    _row("hardsigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    Row("hardsigmoid-ends", lambda x: mg.nn.functional.hardsigmoid(x * 4.0), lambda x: np.clip(x / 1.5 + 0.5, 0, 1),
        ("real",), ("hardsigmoid",), dtypes=FLOATS, refuses=False, kernels=False),
    _row("hardtanh", lambda x, lo, hi: np.where(x <= lo, lo, np.where(x >= hi, hi, x)), "real", "low", "high"),
    _row("hardshrink", lambda x, lambd: np.where(np.abs(x) > lambd, x, 0), "real", "positive"),
    _row("softshrink", lambda x, lambd: np.sign(x) * np.maximum(np.abs(x) - lambd, 0), "real", "positive"),
    _row("tanhshrink", lambda x: x - np.tanh(x), tolerance=4),
    _row("threshold", lambda x, t, value: np.where(x > t, x, value), "real", "small", "real", result=None,
         dtypes=NUMBERS),
    _composed("prelu", lambda x, w: np.where(x > 0, x, w[:, None] * x), (2, 3, 4), (3,)),
    _composed("glu", _glu, (3, 4)),
]  # fmt: skip
