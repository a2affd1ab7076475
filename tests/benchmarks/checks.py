"""Are the results right?  What is compared before a row is timed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.benchmarks.case import Case
from tests.benchmarks.libraries import Minigrad


def values(library: Minigrad, result: Any) -> list[Any]:
    """The results as arrays."""
    return [library.array(x) for x in (result if isinstance(result, (list, tuple)) else [result])]


def check(case: Case, results: dict[str, list[Any]], base: str = "minigrad") -> None:
    """Raise AssertionError where a library's result is not that of `base`, to `rtol` of the largest value."""
    ours = results[base]
    for name, theirs in results.items():
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.shape == other.shape, f"{name} has shape {other.shape}, {base} {mine.shape}"
            scale = np.max(np.abs(other), initial=0.0, where=np.isfinite(other)) if mine.size else 0.0
            close = np.allclose(mine, other, rtol=case.rtol, atol=case.rtol * float(scale), equal_nan=True)
            assert close, f"{base} and {name} differ"
