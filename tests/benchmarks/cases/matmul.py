"""Matrix products of every size and shape."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.case import Table, normal

TABLE = Table("matmul")


def of_bfloat16(m: Any, a: Any, b: Any) -> Callable[[], Any]:
    """A product of matrices that were converted before."""
    left, right = a.bfloat16(), b.bfloat16()
    return lambda: left @ right


for dtype, short in (("float32", "f32"), ("float64", "f64")):
    rtol = 1e-4 if dtype == "float32" else 1e-11
    for n in (8, 16, 32, 64, 128, 256, 512, 1024, 2048):
        square = normal((n, n), (n, n), dtype=dtype)
        row = {"flops": 2 * n**3, "rtol": rtol, "goal": 1.4 if n >= 256 else 0.9}
        TABLE.add(f"{n} {short}", square, lambda m, a, b: a @ b, numpy=np.matmul, **row)
        if n in (64, 256, 1024):
            TABLE.add(f"{n} {short}, backward", square, lambda m, a, b: a @ b, tracks=2, rtol=rtol, flops=6 * n**3)
        TABLE.add(f"{n} {short} A.T @ B.T", square, lambda m, a, b: a.t() @ b.t(), numpy=lambda a, b: a.T @ b.T, **row)
    TABLE.add(
        f"matrix x vector 1024 {short}",
        normal((1024, 1024), (1024,), dtype=dtype),
        lambda m, a, b: a @ b,
        numpy=np.matmul,
        flops=2 * 1024**2,
        rtol=rtol,
        goal=0.9,
    )
    TABLE.add(
        f"vector x matrix 1024 {short}",
        normal((1024,), (1024, 1024), dtype=dtype),
        lambda m, a, b: a @ b,
        numpy=np.matmul,
        flops=2 * 1024**2,
        rtol=rtol,
        goal=0.9,
    )
    TABLE.add(
        f"tall and skinny (65536, 16) x (16, 16) {short}",
        normal((65536, 16), (16, 16), dtype=dtype),
        lambda m, a, b: a @ b,
        numpy=np.matmul,
        flops=2 * 65536 * 256,
        rtol=rtol,
        goal=0.9,
    )
    TABLE.add(
        f"long inner (16, 65536) x (65536, 16) {short}",
        normal((16, 65536), (65536, 16), dtype=dtype),
        lambda m, a, b: a @ b,
        numpy=np.matmul,
        flops=2 * 65536 * 256,
        rtol=rtol * 10,
        goal=0.9,
    )
    TABLE.both(
        f"64 products of (64, 64) {short}",
        normal((64, 64, 64), (64, 64, 64), dtype=dtype),
        lambda m, a, b: m.matmul(a, b),
        numpy=np.matmul,
        tracks=2,
        flops=2 * 64**4,
        rtol=rtol,
        goal=0.9,
    )

for n in (128, 512, 1024):
    square = normal((n, n), (n, n))
    TABLE.add(f"{n} bf16", square, build=of_bfloat16, flops=2 * n**3, rtol=2e-2, goal=0.9)
