"""Answers to A1, the precision microscope."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import minigrad as mg


def _kahan(numbers: Any, sign: int = 1, use: bool = True) -> Any:
    total = lost = type(numbers[0])(0)
    for number in numbers:
        y = number + lost if use else number
        new = total + y
        lost = ((total - new) + y) * type(y)(sign)
        total = new
    return total


def _lost_at_the_end(numbers: Any) -> Any:
    total = lost = type(numbers[0])(0)
    for number in numbers:
        new = total + number
        lost = (total - new) + number
        total = new
    return total + lost


def _lost_all_collected(numbers: Any) -> Any:
    """Right as well: Neumaier's way."""
    total, lost = numbers[0], 0.0
    for number in numbers[1:]:
        new = total + number
        lost += float((total - new) + number if total >= number else (number - new) + total)
        total = new
    return float(total) + lost


def _by_backward(loss: Any, w: Any, scale: float) -> Any:
    w.grad = None
    (loss(w) * scale).backward()
    return w.grad.float() / scale


def _cos_in_two_pieces(x: Any) -> Any:
    return mg.where(x.abs() > 1.0, 1.0 - x.cos(), 2.0 * (x / 2.0).sin() * (x / 2.0).sin())


def _cos_by_numpy(x: Any) -> Any:
    return mg.from_numpy(2 * np.sin(x.detach().numpy() / 2) ** 2)


RIGHT: dict[str, list[Any]] = {
    "A1.1": [
        lambda x, fraction: 2.0 ** (math.floor(math.log2(x)) - fraction),
        lambda x, fraction: math.ldexp(1.0, math.frexp(x)[1] - 1 - fraction),
    ],
    "A1.2": [lambda x: 2.0 * (x / 2.0).sin() ** 2, _cos_in_two_pieces],
    "A1.3": [_kahan, lambda numbers: math.fsum(map(float, numbers)), _lost_all_collected],
    "A1.4": [lambda loss, w, scale: mg.grad(loss(w) * scale, w).float() / scale, _by_backward],
}
WRONG: dict[str, list[Any]] = {
    "A1.1": [
        lambda x, fraction: x * 2.0**-fraction,
        lambda x, fraction: 2.0**-fraction,
        lambda x, fraction: 2.0 ** (math.frexp(x)[1] - fraction),
        lambda x, fraction: 2.0 ** (round(math.log2(x)) - fraction),
        lambda x, fraction: 2.0 ** (math.ceil(math.log2(x)) - fraction),
        lambda x, fraction: float(np.spacing(np.float32(x))),
    ],
    "A1.2": [
        lambda x: 1.0 - x.cos(),
        lambda x: x * x / 2.0,
        lambda x: x * x / 2.0 - x * x * x * x / 24.0,
        lambda x: (1.0 - x.double().cos()).to(x.dtype),
        lambda x: (x / 2.0).sin() ** 2,
        lambda x: x.sin() ** 2 / (1.0 + x.cos()) + 1e-12,
        _cos_by_numpy,
    ],
    "A1.3": [
        lambda numbers: sum(numbers),
        lambda numbers: _kahan(numbers, sign=-1),
        lambda numbers: _kahan(numbers, use=False),
        _lost_at_the_end,
        lambda numbers: np.cumsum(numbers)[-1],
        lambda numbers: float(sum(sorted(numbers))),
    ],
    "A1.4": [
        lambda loss, w, scale: mg.grad(loss(w), w).float(),
        lambda loss, w, scale: (mg.grad(loss(w) * scale, w) / scale).float(),
        lambda loss, w, scale: mg.grad(loss(w) * scale, w).float(),
        lambda loss, w, scale: (mg.grad(loss(w), w) * scale).float() / scale,
        lambda loss, w, scale: mg.grad(loss(w * scale), w).float() / scale,
        lambda loss, w, scale: mg.grad(loss(w) / scale, w).float() * scale,
    ],
}
PRINTED = [
    "float16   0 01011       1001100110               0.0999755859375\n",
    "bfloat16  0 01111011    1001101                  0.10009765625\n",
    "float32    1.2e-07     7.2   3.4e+38  1.18e-38\nfloat16    0.00098     3.3  6.55e+04   6.1e-05\n",
    "#0  x    0.1             0.12   0.12         0.25  0.25          0.12  0.12\n",
    "bfloat16: the result is 0.015869141, and 0.015807437 in float64: off by 0.5 eps",
    "float64: variance 0.001252  deviation 0.0354\nfloat32: variance -0.0625  deviation nan\n",
    "float32: the result is 0.001252",
    "float16: the result is 0, and 0.0012523165 in float64: no digit is correct",
    "fixed    moved by 0, 1024 and 65536: [2059.2, 2059.2, 2059.2]\n",
    "4096 tenths in float16: 256.0  a million in float32: 100958.34\n",
    "4096 tenths in float16: 409.5\na million in float32:   100000.0\n",
    "float16: the result is -1.1920929e-07, and -1.4901161e-07 in float64: no digit is correct",
    "bfloat16: the result is -1.4901161e-07, and -1.4901161e-07 in float64: exact",
    "float16: the result is -0.0024414062, and -0.0024414062 in float64: exact\n",
]
