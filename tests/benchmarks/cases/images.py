"""Images that are resampled, sampled at given points, or padded by their own elements."""

import numpy as np

from tests.benchmarks.case import Table, normal

TABLE = Table("images")
IMAGES = (8, 16, 64, 64)


def points(rng: np.random.Generator) -> list[np.ndarray]:
    """Images, and the points at which they are sampled; some points are outside."""
    return [rng.standard_normal(IMAGES).astype(np.float32), rng.uniform(-1.1, 1.1, (8, 64, 64, 2)).astype(np.float32)]


for mode in ("bilinear", "nearest", "bicubic"):
    TABLE.both(
        f"grid_sample {mode} of {IMAGES}", points,
        lambda m, x, grid, mode=mode: m.nn.functional.grid_sample(x, grid, mode=mode, align_corners=False),
        tracks=2 if mode != "nearest" else 1, rtol=1e-4,
    )  # fmt: skip
for mode in ("nearest", "bilinear", "bicubic"):
    TABLE.both(
        f"interpolate {mode} of {IMAGES} by 2", normal(IMAGES),
        lambda m, x, mode=mode: m.nn.functional.interpolate(x, scale_factor=2, mode=mode), rtol=1e-4,
    )  # fmt: skip
for mode in ("reflect", "replicate", "circular"):
    TABLE.both(
        f"pad {mode} of {IMAGES}", normal(IMAGES), lambda m, x, mode=mode: m.nn.functional.pad(x, (3, 3, 3, 3), mode),
        rtol=1e-4,
    )  # fmt: skip
