"""Transcendental functions at 1e6, in float32 and float64."""

import numpy as np

from tests.benchmarks.case import Table, normal, uniform

TABLE = Table("functions")
N = 1_000_000
POSITIVE = ("log", "pow")
NUMPY = {"exp": np.exp, "log": np.log, "tanh": np.tanh, "sin": np.sin}
GOALS = {"exp": 2.0, "log": 2.0, "tanh": 2.0, "erf": 2.0, "sin": 2.0, "sigmoid": 1.1, "gelu": 1.1}

for dtype in ("float32", "float64"):
    width = 4 if dtype == "float32" else 8
    rtol = 2e-5 if dtype == "float32" else 1e-12
    for name in ("exp", "log", "tanh", "sigmoid", "erf", "sin", "gelu"):
        data = uniform(0.1, 9.0, (N,), dtype=dtype) if name in POSITIVE else normal((N,), dtype=dtype)
        TABLE.both(
            f"{name} {dtype}",
            data,
            (lambda m, x: m.nn.functional.gelu(x)) if name == "gelu" else lambda m, x, name=name: getattr(m, name)(x),
            numpy=NUMPY.get(name),
            nbytes=2 * width * N,
            goal=GOALS.get(name) if dtype == "float32" else 1.3,
            rtol=rtol,
        )
    TABLE.both(
        f"pow {dtype}",
        uniform(0.1, 3.0, (N,), (N,), dtype=dtype),
        lambda m, a, b: m.pow(a, b),
        numpy=np.power,
        tracks=2,
        nbytes=3 * width * N,
        goal=None if dtype == "float32" else 1.3,
        rtol=rtol,
    )
