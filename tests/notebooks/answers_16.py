"""Answers to 16, waves."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg


def _differences(f: Any, z: Any, step: complex = 1j, sides: int = 2, h: float = 1e-6) -> tuple[float, float]:
    """Derivatives along both parts; `step` is the direction of the second one."""
    low = [f(z - h), f(z - step * h)] if sides == 2 else [f(z)] * 2
    return (f(z + h) - low[0]) / (sides * h), (f(z + step * h) - low[1]) / (sides * h)


def _by_real_numbers(f: Any, z: Any) -> Any:
    h, (x, y) = 1e-6, (z.real, z.imag)
    first = (f(complex(x + h, y)) - f(complex(x - h, y))) / (2 * h)
    return first + 1j * ((f(complex(x, y + h)) - f(complex(x, y - h))) / (2 * h))


def _rule(of_a: Any, of_b: Any) -> Any:
    return lambda u, a, b: (of_a(u, a, b), of_b(u, a, b))


def _spread(u: Any, n: Any, weight: float = 1.0, sign: int = -1) -> Any:
    """The real part of the columns of the matrix of rfft times u, with NumPy."""
    k = np.arange(len(u))
    weights = np.where((k == 0) | (2 * k == n), 1.0, weight)
    table = np.exp(sign * 2j * np.pi * np.outer(np.arange(n), k) / n)
    return mg.tensor((table @ (weights * u.numpy())).real)


def _by_irfft(u: Any, n: Any) -> Any:
    """The sum of a transform to real numbers, which counts the terms between the first and n/2 twice."""
    k = np.arange(len(u))
    weights = np.where((k == 0) | (2 * k == n), 1.0, 0.5)
    return mg.fft.irfft(mg.tensor(weights * u.numpy()).conj(), n=n, norm="forward")


def _slope(numbers: Any = None, turn: float = 2 * np.pi, by_length: bool = True, part: str = "real") -> Any:
    def slope(x: Any, length: Any) -> Any:
        n = len(x)
        k = np.fft.fftfreq(n) * n if numbers is None else numbers(n)
        factors = mg.tensor(1j * turn * k / (length if by_length else 1.0))
        return getattr(mg.fft.ifft(mg.fft.fft(x) * factors), part)

    return slope


def _slope_of_half(x: Any, length: Any) -> Any:
    n = len(x)
    factors = mg.tensor(2j * np.pi / length * np.arange(n // 2 + 1))
    return mg.fft.irfft(mg.fft.rfft(x) * factors, n=n)


def _slope_by_differences(x: Any, length: Any) -> Any:
    values = x.detach().numpy()
    return mg.tensor((np.roll(values, -1) - np.roll(values, 1)) * (len(values) / (2 * length)))


def _slope_without_gradient(x: Any, length: Any) -> Any:
    return _slope()(x.detach(), length)


def _height(s: Any, w: Any) -> Any:
    return abs(s.numpy() @ np.exp(-1j * np.outer(np.arange(len(s)), w)))


def _by_grids(s: Any, rounds: int = 12, start: Any = None, half: float = 1.0) -> float:
    """The largest sum on finer and finer grids around the peak of the FFT."""
    n = len(s)
    w = 2 * np.pi * np.argmax(abs(np.fft.fft(s.numpy(), 8 * n))) / (8 * n) if start is None else start
    width = np.pi / n
    for _ in range(rounds):
        grid = w + np.linspace(-width, width, 41)
        w, width = grid[np.argmax(_height(s, grid))], width / 10
    return float(w % (half * 2 * np.pi))


def _by_peak(s: Any, times: int = 1) -> float:
    n = times * len(s)
    return float(2 * np.pi * np.argmax(abs(np.fft.fft(s.numpy(), n))) / n)


def _by_neighbours(s: Any) -> float:
    values = s.numpy()
    return float(np.angle((values[:-1].conj() * values[1:]).sum()) % (2 * np.pi))


def _below_zero(s: Any) -> float:
    found = _by_grids(s)
    return found - 2 * np.pi if found > np.pi else found


RIGHT: dict[str, list[Any]] = {
    "16.1": [lambda f, z: complex(*_differences(f, z)), _by_real_numbers],
    "16.2": [
        lambda u, a, b: [u * b.conj(), u.conj() * a.conj()],
        lambda u, a, b: tuple(mg.tensor(x) for x in (u.numpy() * b.numpy().conj(), (u.numpy() * a.numpy()).conj())),
    ],
    "16.3": [_spread, _by_irfft],
    "16.4": [_slope(), _slope_of_half],
    "16.5": [_by_grids, lambda s: np.float64(_by_grids(s, rounds=16))],
}
WRONG: dict[str, list[Any]] = {
    "16.1": [
        lambda f, z: complex(*_differences(f, z)).conjugate(),
        lambda f, z: sum(_differences(f, z)),
        lambda f, z: _differences(f, z)[0],
        lambda f, z: complex(*_differences(f, z)) / 2,
        lambda f, z: complex(*_differences(f, z, sides=1, h=0.1)),
        lambda f, z: _differences(f, z),
        lambda f, z: complex(*_differences(f, z, step=1.0)),
    ],
    "16.2": [
        _rule(lambda u, a, b: u * b, lambda u, a, b: u * a),
        _rule(lambda u, a, b: u * b.conj(), lambda u, a, b: u * a),
        _rule(lambda u, a, b: u.conj() * b, lambda u, a, b: u * a),
        _rule(lambda u, a, b: u * b.conj(), lambda u, a, b: u * a.conj()),
        _rule(lambda u, a, b: (u * a).conj(), lambda u, a, b: u * b.conj()),
        lambda u, a, b: u * b.conj(),
        lambda u, a, b: mg.func.vjp(lambda a, b: a * b.conj(), a, b)[1](u),
        lambda u, a, b: [g.conj() for g in mg.func.vjp(lambda a, b: a * b.conj(), a, b)[1](u.conj())],
    ],
    "16.3": [
        lambda u, n: mg.fft.irfft(u, n=n),
        lambda u, n: mg.fft.irfft(u, n=n, norm="forward"),
        lambda u, n: mg.fft.fft(u, n=n),
        lambda u, n: mg.fft.fft(u).real,
        lambda u, n: mg.fft.rfft(u.real, n=n).real,
        lambda u, n: _spread(u, n, weight=2.0),
        lambda u, n: _spread(u, n, weight=0.5),
        lambda u, n: _spread(u, n, sign=1),
        lambda u, n: mg.func.vjp(mg.fft.rfft, mg.zeros(n, dtype="float64"))[1](u.conj())[0],
    ],
    "16.4": [
        _slope(numbers=np.arange),
        _slope(turn=1.0),
        _slope(turn=-2 * np.pi),
        _slope(by_length=False),
        _slope(numbers=np.fft.fftfreq),
        _slope(part="imag"),
        _slope_by_differences,
        _slope_without_gradient,
    ],
    "16.5": [
        _by_peak,
        lambda s: _by_peak(s, times=8),
        _by_neighbours,
        _below_zero,
        lambda s: _by_grids(s, start=0.7),
        lambda s: _by_grids(s, half=0.5),
        lambda s: _by_grids(s) / (2 * np.pi),
        lambda s: s,
    ],
}
PRINTED = [
    "gradient:    3.300000-9.400000j\ndifferences: 3.300000 and -9.400000\n",
    "the ends of the paths: 0.949+0.316j -0.949-0.316j -0.949-0.316j\nthe square root of c:  0.949+0.316j\n",
    "x receives ȳ · y\nx receives conj(ȳ)\ninput receives ȳ · other\nother receives ȳ · input\n",
    "step 30: loss  91753.76, a = 1.49-235.85j, -0.48+188.03j\n",
    "real       -2.3391632 and  -2.3391632\nimaginary  -2.9908544 and   2.9908544\n",
    "loss 0.012, a = 1.50+1.00j, -0.48-0.79j\n",
    "input receives fourier(ȳ, dim=0)\n<u, Fv> = 0.461004-2.363700j\n<Fu, v> = 0.461004-2.363700j\n",
    "input receives hermitian_fourier(ȳ · float64(5,))\npeaks at [5.5, 9.0]\n",
    "frequencies 5.318, 8.911\ndampings: 0.56, 1.17  true: [0.6, 1.1]\n",
    "wave  0: weight 1.0000+",
    "j heat equation 0.0017\nwave  9: weight -0.7245+1.4867j \n",
    "weights 9 to 11 have changed by [0.0, 0.0, 0.0]\nthe imaginary part of weight 0 has changed by 0.0\n",
    "step 400: error on held-out curves 3.",
    "linear map, 64 points: 56.4%\nsolver, 64 points:     0.4%\nnetwork, 64 points:    3.",
    "network, 128 points:   3.",
    "twice as high: 1",
]
