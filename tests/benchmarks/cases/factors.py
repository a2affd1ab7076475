"""Factors of matrices: alone and many small ones."""

import numpy as np

from tests.benchmarks.case import Arrays, Table

TABLE = Table("factors")
SHAPES = ((256, 256), (64, 8, 8))


def definite(shape: tuple[int, ...]) -> Arrays:
    """Symmetric positive definite matrices, and right sides."""

    def make(rng: np.random.Generator) -> list[np.ndarray]:
        x, y = rng.standard_normal(shape), rng.standard_normal(shape)
        return [x @ np.swapaxes(x, -1, -2) / shape[-1] + np.eye(shape[-1]), y]

    return make


for shape in SHAPES:
    TABLE.both(f"cholesky {shape}", definite(shape), lambda m, a, b: m.linalg.cholesky(a), rtol=1e-9)
    TABLE.both(f"solve {shape}", definite(shape), lambda m, a, b: m.linalg.solve(a, b), tracks=2, rtol=1e-9)
    TABLE.both(
        f"solve_triangular {shape}", definite(shape),
        lambda m, a, b: m.linalg.solve_triangular(m.tril(a), b, upper=False), tracks=2, rtol=1e-7,
    )  # fmt: skip
    TABLE.both(f"qr {shape}", definite(shape), lambda m, a, b: m.linalg.qr(a)[1].abs(), rtol=1e-8)
    TABLE.add(f"lu_factor {shape}", definite(shape), lambda m, a, b: m.linalg.lu_factor(b)[0], rtol=1e-9)
    TABLE.both(f"slogdet {shape}", definite(shape), lambda m, a, b: m.linalg.slogdet(a)[1], rtol=1e-9)
    TABLE.both(f"eigvalsh {shape}", definite(shape), lambda m, a, b: m.linalg.eigvalsh(a), rtol=1e-9)
    TABLE.add(f"svdvals {shape}", definite(shape), lambda m, a, b: m.linalg.svdvals(b), rtol=1e-9)
