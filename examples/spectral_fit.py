"""Find the frequencies, heights and dampings of three tones by a loss on the spectrum.

    python examples/spectral_fit.py

The record of two seconds also contains noise, a slow drift, and a hum of 50 Hz that is louder than the tones.  The loss
compares spectra from 5 to 40 Hz only, so neither the drift nor the hum matters to it.  A tone is the real part of
a * exp(rate * t): the angle of the complex number a is its phase, and rate is -damping + 2 pi i frequency.  Gradients
go through `mg.fft.rfft` and the complex exponential.  The peaks of the spectrum are the start, because a gradient leads
to a tone only from a frequency that differs by less than about one turn over the whole record.
"""

import math

import numpy as np

import minigrad as mg

SAMPLES, SECONDS, STEPS, RATE = 512, 2.0, 400, 0.05
BAND = slice(int(5 * SECONDS), int(40 * SECONDS))  # the terms of the spectrum from 5 to 40 Hz
TONES = ((11.3, 1.0, 0.5), (17.8, 0.7, 1.5), (29.2, 0.5, 0.8))  # frequency in Hz, height, damping in 1/s

seconds = np.arange(SAMPLES) * (SECONDS / SAMPLES)
t = mg.tensor(seconds, dtype="complex128").unsqueeze(1)
window = mg.tensor(4.0 * np.hanning(SAMPLES))  # 0 at both ends, so that the drift and the hum stay out of the band


def record() -> mg.Tensor:
    """Return the tones with noise, a drift and a hum."""
    rng = np.random.default_rng(0)
    parts = [height * np.exp(-damping * seconds) * np.cos(2 * math.pi * f * seconds) for f, height, damping in TONES]
    hum = 2.0 * np.sin(2 * math.pi * 50.0 * seconds)
    return mg.tensor(sum(parts) + hum + 3.0 * seconds + 0.1 * rng.standard_normal(SAMPLES))


def tones(a: mg.Tensor, rates: mg.Tensor) -> mg.Tensor:
    """Return the real part of the sum of all a * exp(rate * t)."""
    return ((t @ rates.unsqueeze(0)).exp() @ a).real


def spectrum(signal: mg.Tensor) -> mg.Tensor:
    """Return the terms in the band; a tone that does not decay has the height |a| at its peak."""
    return mg.fft.rfft(window * signal, norm="forward")[BAND]


def peaks(terms: mg.Tensor, count: int) -> list[int]:
    """Return the positions of the largest local maxima in a spectrum."""
    size = terms.abs().tolist()
    tops = [k for k in range(1, len(size) - 1) if size[k] > max(size[k - 1], size[k + 1])]
    return sorted(sorted(tops, key=lambda k: -size[k])[:count])


def main() -> None:
    """Fit the tones, and print them beside the true ones."""
    target = spectrum(record())
    found = peaks(target, len(TONES))
    a = mg.Var([target[k].item() for k in found], dtype="complex128", name="a")
    starts = [complex(-1.0, 2 * math.pi * (BAND.start + k) / SECONDS) for k in found]
    rates = mg.Var(starts, dtype="complex128", name="rates")
    print("peaks at", ", ".join(f"{rate.imag / (2 * math.pi):.1f}" for rate in starts), "Hz")
    optimizer = mg.optim.Adam([a, rates], lr=RATE)
    for step in range(STEPS + 1):
        apart = spectrum(tones(a, rates)) - target
        loss = (apart * apart.conj()).real.sum()
        if step % 100 == 0:
            print(f"step {step:3}: loss {loss.item():.4f}")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for value, rate, (f, height, damping) in zip(a.tolist(), rates.tolist(), TONES):
        print(f"{rate.imag / (2 * math.pi):6.2f} Hz (true {f:5.2f}), height {abs(value):.2f} ({height:.2f}), "
              f"damping {-rate.real:.2f} ({damping:.2f})")  # fmt: skip


if __name__ == "__main__":
    main()
