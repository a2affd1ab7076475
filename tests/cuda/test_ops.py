"""The op table on `device="cuda"`: values of every op, in every dtype and layout, with threads in both orders."""

import pytest
from op_table import ROWS
from ops import test_forward

rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


@rows
def test_every_op_gives_the_right_values_in_every_dtype(row):
    for dtype in row.dtypes:
        test_forward.test_dtypes(row, "cuda", dtype)
