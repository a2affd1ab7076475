"""Calls as scripts write them: forms and layouts that the rows of a family do not have, each forward and backward."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.case import Arrays, Table, normal

TABLE = Table("forms")
MATRIX, IMAGES = (256, 1024), (8, 64, 28, 28)


def with_integers(shape: tuple[int, ...], *more: tuple[int, tuple[int, ...]]) -> Arrays:
    """A float32 tensor, then integers below a limit in some shapes."""
    return lambda rng: [rng.standard_normal(shape).astype(np.float32), *[rng.integers(0, n, s) for n, s in more]]


TABLE.both("x.pow(2) (256, 1024)", normal(MATRIX), lambda m, x: x.pow(2))
TABLE.both("x ** 3 (256, 1024)", normal(MATRIX), lambda m, x: x**3)
TABLE.both(
    "x[i, j] of 1,000 pairs in (256, 512)", with_integers((256, 512), (256, (1000,)), (512, (1000,))),
    lambda m, x, i, j: x[i, j],
)  # fmt: skip
TABLE.both(
    "cross_entropy of images (8, 21, 64, 64)", with_integers((8, 21, 64, 64), (21, (8, 64, 64))),
    lambda m, x, t: m.nn.functional.cross_entropy(x, t), rtol=1e-4,
)  # fmt: skip
TABLE.both(
    "embedding_bag, 64 bags of 32 in (1000, 64)", with_integers((1000, 64), (1000, (64, 32))),
    lambda m, w, i: m.nn.functional.embedding_bag(i, w), rtol=1e-4,
)  # fmt: skip
TABLE.both("mean of images to (8, 256, 1, 1)", normal((8, 256, 7, 7)),
           lambda m, x: m.nn.functional.adaptive_avg_pool2d(x, 1))  # fmt: skip
for name, weight, more in (
    ("depthwise 3x3", (64, 1, 3, 3), {"padding": 1, "groups": 64}),
    ("depthwise 3x3, stride 2", (64, 1, 3, 3), {"padding": 1, "groups": 64, "stride": 2}),
    ("3x3 to 128, stride 2", (128, 64, 3, 3), {"padding": 1, "stride": 2}),
):
    conv = lambda m, x, w, more=more: m.nn.functional.conv2d(x, w, **more)
    TABLE.add(f"conv2d {IMAGES}, {name}", normal(IMAGES, weight), conv, rtol=1e-4)
    TABLE.add(f"conv2d {IMAGES}, {name}, backward", normal(IMAGES, weight), conv, tracks=2, rtol=1e-3)
