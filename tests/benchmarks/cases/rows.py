"""Softmax and its relatives, row by row."""

import numpy as np

from tests.benchmarks.case import Table, normal

TABLE = Table("rows")

for rows, cols in ((4096, 1024), (64, 32768)):
    shape, nbytes = (rows, cols), 8 * rows * cols
    size = f"({rows}, {cols})"
    for name in ("softmax", "log_softmax"):
        # A cotangent of ones would give softmax no gradient at all, so the result is squared.
        fn = lambda m, x, name=name: getattr(m, name)(x, dim=1)
        TABLE.add(f"{name} {size}", normal(shape), fn, nbytes=nbytes)
        TABLE.add(
            f"{name} {size}, backward",
            normal(shape, shape),
            tracks=1,
            goal=1.2,
            build=lambda m, x, g, fn=fn: pulled_back(m, fn, x, g),
        )
    TABLE.both(
        f"cross_entropy {size}",
        lambda rng, r=rows, c=cols: [rng.standard_normal((r, c)).astype(np.float32), rng.integers(0, c, r)],
        lambda m, x, t: m.nn.functional.cross_entropy(x, t),
        nbytes=nbytes // 2,
        goal2=1.2,
    )
    layer_norm = lambda m, x, w, b, c=cols: m.nn.functional.layer_norm(x, (c,), w, b)
    TABLE.add(f"layer_norm {size}", normal(shape, (cols,), (cols,)), layer_norm, nbytes=nbytes)
    TABLE.add(
        f"layer_norm {size}, backward",
        normal(shape, (cols,), (cols,), shape),
        tracks=3,
        goal=1.2,
        rtol=1e-4,
        build=lambda m, x, w, b, g, fn=layer_norm: pulled_back(m, fn, x, w, b, g),
    )


def pulled_back(m, fn, *tensors):  # type: ignore[no-untyped-def]
    """Forward, and backward with a cotangent that differs from element to element."""
    *leaves, cotangent = tensors

    def run():  # type: ignore[no-untyped-def]
        for x in leaves:
            x.grad = None
        fn(m, *leaves).backward(cotangent)
        return [x.grad for x in leaves]

    return run
