"""Answers to 01, derivatives by nudging."""

from __future__ import annotations

from typing import Any


def _central_by_sides(f: Any, x: Any, h: Any) -> Any:
    right, left = (f(x + h) - f(x)) / h, (f(x) - f(x - h)) / h
    return (right + left) / 2


def _richardson_by_points(f: Any, x: Any, h: Any) -> Any:
    far, near = f(x + h) - f(x - h), f(x + h / 2) - f(x - h / 2)
    return (8 * near - far) / (6 * h)


RIGHT: dict[str, list[Any]] = {
    "01.1": [lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h), _central_by_sides],
    "01.2": [
        lambda f, x, h: (4 * (f(x + h / 2) - f(x - h / 2)) / h - (f(x + h) - f(x - h)) / (2 * h)) / 3,
        _richardson_by_points,
    ],
    "01.3": [lambda order: 2.0 ** (-52 / (order + 1)), lambda order: (order * 2.2e-16) ** (1 / (order + 1))],
    "01.4": [lambda f, x: f(complex(x, 1e-30)).imag / 1e-30, lambda f, x: f(x + 1e-100j).imag * 1e100],
}
WRONG: dict[str, list[Any]] = {
    "01.1": [
        lambda f, x, h: (f(x + h) - f(x)) / h,
        lambda f, x, h: (f(x + h) - f(x - h)) / h,
        lambda f, x, h: f(x + h) - f(x - h) / (2 * h),
        lambda f, x, h: 2 * x,
        lambda f, x, h: (f(x - h) - f(x + h)) / (2 * h),
    ],
    "01.2": [
        lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h),
        lambda f, x, h: (4 * (f(x + h / 2) - f(x - h / 2)) / h - (f(x + h) - f(x - h)) / (2 * h)) / 4,
        lambda f, x, h: 2 * (f(x + h / 2) - f(x - h / 2)) / h - (f(x + h) - f(x - h)) / (2 * h),
        lambda f, x, h: ((f(x + h) - f(x - h)) / (2 * h) - 4 * (f(x + h / 2) - f(x - h / 2)) / h) / 3,
        lambda f, x, h: 4 * x**3,
    ],
    "01.3": [
        lambda order: 1e-8,
        lambda order: 2.0**-52,
        lambda order: 2.0 ** (-52 / order),
        lambda order: 0.0,
        lambda order: [1e-8, 1e-5, 1e-3],
    ],
    "01.4": [
        lambda f, x: f(complex(x, 1e-30)).real / 1e-30,
        lambda f, x: f(complex(x, 1e-3)).imag / 1e-3,
        lambda f, x: (f(x + 1e-8) - f(x)) / 1e-8,
        lambda f, x: f(complex(x, 1e-30)).imag,
        lambda f, x: f(complex(x, 1e-30)) / 1e-30,
    ],
}
