"""Each operand has the same gradient whichever of the others require one.

A rule for all operands at once reads values that the rules of some operands do not save.
"""

from itertools import combinations
from typing import Any

import numpy as np
from op_rows.row import Row
from op_support import arrays
from op_table import ROWS
from selection import over_rows

import minigrad as mg

SEVERAL = [row for row in ROWS if row.smooth and 1 < len(row.domains) < 6 and "bool" not in row.domains]


@over_rows(SEVERAL, items=20)
def test_a_gradient_does_not_depend_on_what_else_requires_one(row: Row) -> None:
    leaves = [mg.Var(values, "float64", "reference") for values in arrays(row)]
    whole = gradients(row, leaves, range(len(leaves)))
    for count in range(1, len(leaves)):
        for chosen in combinations(range(len(leaves)), count):
            for k, g in zip(chosen, gradients(row, leaves, chosen), strict=True):
                np.testing.assert_allclose(g, whole[k], rtol=1e-8, atol=1e-10, err_msg=f"operand {k} of {chosen}")


def gradients(row: Row, leaves: list[Any], chosen: Any) -> list[np.ndarray]:
    """The gradients of a weighted sum of a row's results with respect to some operands."""
    y = row.fn(*[x if k in chosen else x.detach() for k, x in enumerate(leaves)])
    weights = 1.0 + mg.arange(y.numel(), dtype="float64", device="reference").reshape(y.shape)
    if not y.requires_grad:
        return [np.zeros(leaves[k].shape) for k in chosen]
    results = mg.grad((y * weights).sum(), [leaves[k] for k in chosen], allow_unused=True)
    return [np.zeros(leaves[k].shape) if g is None else g.numpy() for k, g in zip(chosen, results, strict=True)]
