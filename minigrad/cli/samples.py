"""Sample operands of ops: `python -m minigrad kernel NAME` prints the kernels for a sample.

Most ops take matrices; the tables contain the shapes and the parameters of the other ops.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.core.device import Device
from minigrad.core.layout import Layout
from minigrad.core.op import Op
from minigrad.core.shape import Window
from minigrad.declare.record import schema
from minigrad.ops.indexing.checks import Refusal

# Sizes by letter, for small and large samples: r rows, c columns, n batch, k channels, s image size, t filter size, o
# and h output sizes; digits are sizes themselves.
SMALL = {"r": 8, "c": 8, "n": 2, "k": 4, "s": 8, "t": 3, "o": 6, "h": 4, "1": 1, "2": 2, "3": 3, "4": 4}
LARGE = {"r": 256, "c": 256, "n": 16, "k": 32, "s": 32, "t": 3, "o": 30, "h": 16, "1": 1, "2": 2, "3": 3, "4": 4}
ROW = {"weight": "c", "bias": "c"}
CELL = dict.fromkeys(("h", "c", "dh", "dc", "c_next"), "r1")
SEQUENCE = {"sums": "nr4", "weight": "41", "h": "r1", "c": "r1", "dhs": "nr1", "dcs": "nr1", "hs": "nr1", "cs": "nr1",
            "activated": "nr4"}  # fmt: skip
GRU = {"sums": "nr3", "weight": "31", "bias": "3", "activated": "nr3", "hidden": "nr3"}


def named_rows(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table in which each of the names of a key is a key."""
    return {name: value for names, value in table.items() for name in names.split()}


# Shapes of operands, and parameters that are sizes; each letter is a size.
SHAPES: dict[str, dict[str, str]] = named_rows({
    "attention attention_backward attention_kept": {
        "g": "nrk", "query": "nrk", "key": "nck", "value": "nck", "mask": "nrc", "state": "2", "limits": "3",
    },
    "avg_pool max_pool max_pool_indices": {"x": "nkss", "size": "hh"},
    "cross_entropy minus_named": {"target": "r"},
    "cross_entropy_backward named_gradient": {"target": "r", "g": "r"},
    "layer_norm layer_norm_backward layer_norm_gradients rms_norm rms_norm_backward rms_norm_gradients": ROW,
    "normalized_channels normalized_groups": {"x": "nkss", "weight": "k", "bias": "k"},
    "row_distances row_gradients": {"a": "rk", "b": "ck"},
    "avg_pool_back": {"output": "nkhh", "size": "ss"},
    "channel_gradients": {"g": "nkss", "x": "nkss", "weight": "k", "center": "k", "spread": "k"},
    "conv": {"x": "nkss", "weight": "kktt", "bias": "k", "size": "oo"},
    "conv_input": {"output": "nkoo", "weight": "kktt", "size": "ss"},
    "conv_weight": {"output": "nkoo", "x": "nkss", "size": "tt"},
    "count_up": {"start": "", "step": ""},
    "crossed": {"a": "r3", "b": "r3"},
    "draw": {"state": "2", "limits": "3"},
    "group_gradients": {"x": "nkss", "g": "nkss", "weight": "k"},
    "grid_gradient": {"g": "nkhh", "input": "nkss", "grid": "nhh2"},
    "image_gradient": {"g": "nkhh", "grid": "nhh2", "size": "ss"},
    "sampled": {"input": "nkss", "grid": "nhh2"},
    "glu_backward": {"g": "hc", "input": "sc"},
    "gru_step gru_step_backward": CELL | {"x": "r3", "hidden": "r3", "activated": "r3"},
    "lstm_step lstm_step_backward": CELL | {"x": "r4", "hidden": "r4", "activated": "r4"},
    "gru_sequence gru_sequence_backward": SEQUENCE | GRU,
    "lstm_sequence lstm_sequence_backward": SEQUENCE,
    "linear": {"bias": "c"},
    "max_pool_back": {"output": "nkhh", "x": "nkss", "size": "ss"},
    "margin_gradients": {"g": "r", "target": "r", "weight": "c"},
    "margin_losses": {"target": "r", "weight": "c"},
    "max_pool_pick": {"h": "nkss", "x": "nkss", "size": "hh"},
    "pair_distances": {"x": "3k"},
    "pair_gradients": {"g": "3", "y": "3", "x": "3k"},
    "put": {"size": "rc", "stride": "c1"},
    "resample": {"index": "1r", "weight": "1r"},
    "occurrences": {"input": "c"},
    "permuted": {"state": "2"},
    "tapped": {"x": "nks", "index": "ntr", "weight": "ntr"},
    "unique": {"index": "c"},
    "unit_matrix": {"value": ""},
    "windows_added": {"input": "nkttoo", "image": "ss", "size": "tt"},
    "windows_of": {"input": "nkss", "size": "tt"},
})  # fmt: skip
CLASSES = {"ignore": -100, "reduction": "none"}
PARAMS: dict[str, dict[str, object]] = named_rows({
    "binned": {"bins": 4, "low": 0.0, "high": 1.0, "widens": False},
    "checked": {"low": 0, "high": 9, "ascending": False, "refusal": Refusal(ValueError, "checked", "{}")},
    "draw": {"kind": "uniform"},
    "existing_classes": {"name": "a loss", "low": 0, "classes": 8},
    "marked_classes": {"classes": 8},
    "margin_losses margin_gradients": {"power": 1, "margin": 1.0, "reduction": "none"},
    "cross_entropy cross_entropy_backward": CLASSES,
    "minus_named named_gradient": CLASSES | {"dim": 1},
    "windows_added windows_of": {"step": (1, 1), "stride": (1, 1)},
    "group_gradients normalized_groups": {"groups": 2},
    "grid_gradient image_gradient sampled": {"near": False, "beyond": 0, "corners": False},
    "pair_distances pair_gradients row_distances row_gradients": {"order": 2},
    "put": {"storage_offset": 0},
    "rearranged": {"order": (1, 0), "spread": ()},
    "rolled": {"shifts": (1,)},
    "surrounded taken_back": {"counts": (1, 1, 1, 1), "mode": "reflect"},
})  # fmt: skip
DTYPES = {"condition": "bool", "mask": "bool", "state": "int64", "index": "int64", "starts": "int64", "target": "int64"}
# Functions that check their arguments and call one op.
CALLED = {f"conv{d}d": "conv" for d in (1, 2, 3)} | {f"conv_transpose{d}d": "conv_input" for d in (1, 2, 3)} | {
    f"{kind}_pool{d}d": f"{kind}_pool" for kind in ("max", "avg") for d in (1, 2, 3)
}  # fmt: skip


def operands_of(op: Op, dtype: str, layout: str, large: bool) -> list[tuple[Layout, mg.DType]]:
    """Return a layout and a dtype for each operand: masks are bool, indices and targets int64, all others `dtype`."""
    sizes = LARGE if large else SMALL
    operands = []
    for name in op.operands:
        shape = tuple(sizes[letter] for letter in SHAPES.get(op.name, {}).get(name, "rc"))
        listed = name == "index" and op.name.startswith("index_")
        kind = DTYPES.get(name, dtype)
        operands.append((Layout.contiguous(shape[:1]) if listed else laid_out(shape, layout), mg.as_dtype(kind)))
    return operands


def laid_out(shape: tuple[int, ...], layout: str) -> Layout:
    """Return a layout of the kind "dense", "rows", "strided" or "tiled"; scalars, and "tiled" vectors, are dense."""
    last = len(shape) - 1
    if layout == "dense" or last < 0 or (layout == "tiled" and last < 1):
        return Layout.contiguous(shape)
    if layout == "tiled":
        return Layout.contiguous((*shape[:-2], shape[-1], shape[-2])).transpose(last - 1, last)
    wide = Layout.contiguous((*shape[:-1], 2 * shape[-1]))
    return wide.narrow(last, 0, shape[-1]) if layout == "rows" else wide.slice(last, 0, None, 2)


def params_of(op: Op, device: Device, large: bool) -> dict[str, object]:
    """Return parameters for such operands, with defaults for all others."""
    sizes = LARGE if large else SMALL
    matrix = (sizes["r"], sizes["c"])
    known = {"dims": (1,), "keepdim": False, "dim": 0, "dtype": mg.float64, "device": device, "shape": matrix,
             "sizes": matrix, "view": schema["permute"], "params": (("dims", (0, 1)),)}  # fmt: skip
    needed = {"alpha": 1, "beta": 1, "count": 8, "parts": 1, "k": 2, "how": "amax", "size": sizes["r"],
              "rows": sizes["r"], "columns": sizes["c"], "n": sizes["r"],
              "scale": 1.0, "causal": False, "dropout": 0.5}  # fmt: skip
    params = {}
    for name, default in op.params.items():
        value = needed.get(name, np.nan) if default is inspect.Parameter.empty else default
        params[name] = known.get(name, value)
    shapes = SHAPES.get(op.name, {})
    own: dict[str, Any] = {
        name: tuple(sizes[letter] for letter in shapes[name]) for name in ("image", "size", "stride") if name in shapes
    }
    if "window" in params:
        taps, stride = ((), (1, 1)) if op.name.startswith("conv") else ((2, 2), (2, 2))
        own = {"window": Window(own["size"], taps, stride, (0, 0), (1, 1))}
    return params | {name: value for name, value in PARAMS.get(op.name, {}).items() if name in params} | own
