"""Pieces of kernel texts that several families paste: what travels between threads, loads of neighbours, what is
kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.kernels.orders import keep_macro as keep_macro
from minigrad.kernels.pasting import Expand, expression_macro
from minigrad.kernels.pasting import parsed as parsed


def wire(compute: np.dtype[Any]) -> tuple[dict[str, Expand], dict[str, str]]:
    """The macros SEND and RECEIVE and the type WIRE: shuffles move integers of 32 and 64 bits, and floats of both."""
    if compute.kind == "f":
        plain = expression_macro("{}")
        return {"SEND": plain, "RECEIVE": plain}, {"WIRE": "T"}
    kind = "np.int32" if compute.kind == "b" or compute.itemsize < 4 or compute.name == "int32" else "np.int64"
    return {"SEND": expression_macro(f"{kind}({{}})"), "RECEIVE": expression_macro("T({})")}, {"WIRE": kind}


def group_words(along: bool) -> dict[str, str]:
    """A thread's position among the lanes of its group, and the group's in the block; along: lanes are neighbours."""
    lane, group = "xy" if along else "yx"
    return {
        "LANE": f"cuda.threadIdx.{lane}", "LANES": f"cuda.blockDim.{lane}", "GROUP": f"cuda.threadIdx.{group}",
        "GROUPS": f"cuda.blockDim.{group}",
    }  # fmt: skip
