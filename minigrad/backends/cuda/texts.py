"""Pieces of kernel texts that several families paste.

They exchange values between threads, and index the threads of a group.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.kernels.macros import expression_macro
from minigrad.kernels.pasting import Expand
from minigrad.kernels.pasting import parsed as parsed


def wire(compute: np.dtype[Any]) -> tuple[dict[str, Expand], dict[str, str]]:
    """Return the macros SEND and RECEIVE and the type WIRE: shuffles move integers and floats of 32 and 64 bits."""
    if compute.kind == "f":
        plain = expression_macro("{}")
        return {"SEND": plain, "RECEIVE": plain}, {"WIRE": "T"}
    kind = "np.int32" if compute.kind == "b" or compute.itemsize < 4 or compute.name == "int32" else "np.int64"
    return {"SEND": expression_macro(f"{kind}({{}})"), "RECEIVE": expression_macro("T({})")}, {"WIRE": kind}


def group_words(along: bool) -> dict[str, str]:
    """Return the texts of a thread's lane in its group, and of its group in the block. along: lanes are neighbours."""
    lane, group = "xy" if along else "yx"
    return {
        "LANE": f"cuda.threadIdx.{lane}", "LANES": f"cuda.blockDim.{lane}", "GROUP": f"cuda.threadIdx.{group}",
        "GROUPS": f"cuda.blockDim.{group}",
    }  # fmt: skip
