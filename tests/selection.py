"""Which part of the op table's product runs on a compiling device without `--full`.

A kernel is a template with dtypes, a layout class and an op pasted in.  What can go wrong belongs to one of them, so
each op runs once and each combination of the others once, shared out among the ops that have the same template: a
family.  The choice depends on the table alone, so it is the same in every run.  The reference device compiles nothing
and always runs the full product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from cases import over
from layouts import LAYOUTS
from op_rows.row import Row
from op_table import ROWS

import minigrad as mg

Family = tuple[object, ...]
BASE = "float64"
STRANGE = (*[name for name in LAYOUTS if name != "dense"], "broadcast")

# Dtypes that differ in width or in one conversion, so that one of each group stands for a template's way with all.
KINDS = (
    ("bool",), ("uint8", "uint32"), ("int8", "int16", "int32", "int64"), ("float16", "bfloat16"), ("float32",)
)  # fmt: skip
FEW_KINDS = (("bool", "uint8", "uint32"), ("int8", "int16", "int32", "int64"), ("float16", "bfloat16", "float32"))

# Ops that the same templates serve, by what they have in common; another op is a family of its own.
TEMPLATES = {
    "reduction": "sum prod mean amax amin any all count length sum_of_magnitudes number_present log_of_sum variance "
    "deviation mse_loss_sum mse_loss_mean",
    "search": "argmax argmin max min",
    "order": "sort argsort topk",
    "scan": "cumsum reversed_cumsum cumprod logcumsumexp",
    "search on the way": "cummax cummin",
    "gather": "gather index_select embedding unique",
    "scatter": "scatter_add index_add index_copy",
    "copy": "clone cast transfer cat as_strided expand view attained",
    "product": "matmul addmm linear",
    "factor": "cholesky solve_triangular lu_factor solve cofactors det slogdet qr eigh svd pinv",
    "convolution": "conv conv_input conv_weight",
    "largest of a window": "max_pool max_pool_indices max_pool_pick max_pool_back",
    "mean of a window": "avg_pool avg_pool_back",
    "rows": "softmax log_softmax layer_norm rms_norm",
    "rows of a gradient": "softmax_backward log_softmax_backward layer_norm_backward rms_norm_backward",
    "sums of rows": "layer_norm_sums layer_norm_gradients rms_norm_sums rms_norm_gradients",
    "losses": "cross_entropy cross_entropy_backward",
}
COMPOSED = ("composed of other ops",)
TEMPLATE_OF = {op: name for name, ops in TEMPLATES.items() for op in ops.split()}


def over_rows(rows: Sequence[Row] = ROWS, items: int = 20) -> Callable[[Any], Any]:
    """Run a test on every row, in this number of items."""
    return over("row", rows, ids=lambda row: row.name, items=items)


def base_dtype(row: Row) -> str:
    """Return the dtype in which every row runs in every layout, at least on the reference device."""
    return BASE if BASE in row.dtypes else row.dtypes[-1]


def family_of(row: Row) -> Family:
    """Return what the kernels of a row share with other rows: the count of operands and the results, or a template."""
    if not row.ops or (row.elementwise and not row.refuses):
        return COMPOSED
    if row.elementwise and mg.schema[row.ops[0]].result is not None:
        return ("elementwise with several results",)
    if row.elementwise:
        return (min(len(row.domains), 2), row.result, row.dtypes, row.name == "where")
    return (TEMPLATE_OF.get(row.ops[0], row.ops[0]),)


def shape_of(row: Row) -> Family:
    """Return the family as far as layouts matter: for an elementwise loop, only whether it has several operands."""
    family = family_of(row)
    return (min(len(row.domains), 2),) if row.elementwise and len(family) > 1 else family


def families(kind: Callable[[Row], Family]) -> dict[Family, list[Row]]:
    """Return the rows of each family, in the order of the table."""
    found: dict[Family, list[Row]] = {}
    for row in ROWS:
        if row.kernels:
            found.setdefault(kind(row), []).append(row)
    return found


@cache
def chosen_dtypes() -> set[tuple[str, str]]:
    """Return (row, dtype) pairs: the dtypes of a family besides the base dtype, distributed evenly over its rows.

    A family has one dtype of each kind, and the next family has the next dtype of that kind.  Composed ops have no
    kernels of their own.
    """
    found = set()
    for turn, (family, rows) in enumerate(families(family_of).items()):
        dtypes = [kind[turn % len(kind)] for kind in kinds_of(rows[0])]
        for k, dtype in enumerate(dtypes):
            able = [row for row in rows if dtype in row.dtypes and dtype != base_dtype(row)]
            if able and family != COMPOSED:
                found.add((spread(able, k, len(dtypes)).name, dtype))
    return found


@cache
def chosen_layouts() -> set[tuple[str, str]]:
    """Return (row, layout) pairs: the layouts except the dense one, distributed evenly over a family."""
    groups = families(shape_of).values()
    return {(spread(rows, k, len(STRANGE)).name, layout) for rows in groups for k, layout in enumerate(STRANGE)}


def kinds_of(row: Row) -> tuple[tuple[str, ...], ...]:
    """Return the kinds of dtype that matter to a family: ops without arithmetic only load, store and compare."""
    return KINDS if row.elementwise and row.name != "where" else FEW_KINDS


def spread(rows: list[Row], k: int, count: int) -> Row:
    """Return the row for the k-th of `count` things; if there are enough rows, all things get different rows."""
    return rows[k * len(rows) // count if len(rows) > count else k % len(rows)]


def compiles(device: str) -> bool:
    """Return whether kernels are compiled for a device, which is true except for the reference."""
    return device != "reference"


def is_view(row: Row) -> bool:
    """Return whether the row's op only returns a view, which needs no kernel."""
    return bool(row.ops) and mg.schema[row.ops[0]].kind == "view"


def layout_once_a_family(row: Row, device: str, layout: str) -> bool:
    """Select every row in the dense layout; the other layouts are distributed over a family."""
    if not compiles(device):
        return True
    return row.kernels and (layout == "dense" or is_view(row) or (row.name, layout) in chosen_layouts())


def gradient_layout_once_a_family(row: Row, device: str, layout: str) -> bool:
    """Do the same with only two other layouts, because rules use the loops of the forward pass."""
    few = layout in ("dense", "transposed", "broadcast") or is_view(row) or not compiles(device)
    return few and layout_once_a_family(row, device, layout)


def dtype_once_a_family(row: Row, device: str, dtype: str) -> bool:
    """Select every row in its base dtype; the other dtypes are distributed over a family."""
    if not compiles(device):
        return True
    return row.kernels and (dtype == base_dtype(row) or is_view(row) or (row.name, dtype) in chosen_dtypes())


def with_kernels(row: Row, device: str) -> bool:
    """Return whether a row runs on a device; some rows run only on the reference device."""
    return row.kernels or not compiles(device)


def runs_in(op: str, dtype: str) -> bool:
    """Return whether some row of an op runs in a dtype, so that there is a kernel for both."""
    return any(runs_alone_in(row, dtype) for row in ROWS if op in row.ops)


def runs_alone_in(row: Row, dtype: str) -> bool:
    """Return whether the table compiles this row in a dtype."""
    return row.kernels and ((row.name, dtype) in chosen_dtypes() or dtype == base_dtype(row))
