"""Fourier transforms: one row, batches of rows, two dims, and real numbers."""

import numpy as np

from tests.benchmarks.case import Arrays, Table

TABLE = Table("fourier")


def terms(shape: tuple[int, ...]) -> Arrays:
    """Complex numbers in single precision."""

    def make(rng: np.random.Generator) -> list[np.ndarray]:
        return [(rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.complex64)]

    return make


def signals(shape: tuple[int, ...]) -> Arrays:
    """Real numbers in single precision."""
    return lambda rng: [rng.standard_normal(shape).astype(np.float32)]


for shape in ((1024,), (65536,), (256, 64), (256, 1000), (256, 1009), (256, 1024), (256, 4096)):
    TABLE.add(f"fft {shape}", terms(shape), lambda m, a: m.fft.fft(a), rtol=1e-4)
TABLE.add("fft2 (512, 512)", terms((512, 512)), lambda m, a: m.fft.fft2(a), rtol=1e-4)
TABLE.add("rfft (256, 1024)", signals((256, 1024)), lambda m, a: m.fft.rfft(a), rtol=1e-4)
TABLE.add("irfft (256, 513)", terms((256, 513)), lambda m, a: m.fft.irfft(a), rtol=1e-4)
