"""A wrong row of the op table fails with a sentence that names the row and the field."""

from __future__ import annotations

from typing import Any

import numpy as np
import op_table
import pytest
from op_rows.row import FLOATS, Row
from op_support import arrays, assert_close, assert_refuses_backward, assert_untracked, operands, result_of, wide

import minigrad as mg


def compared(row: Row, dtype: str = "float32") -> None:
    """What the tests of a row do."""
    given = operands(row, arrays(row), dtype, "reference")
    got = result_of(row, given, dtype)
    assert_close(row, got, row.numpy(*[wide(x) for x in given]), dtype)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"domains": ("reel",)}, "Row 'tanh': domains must be among real, positive, .*, got 'reel'"),
        ({"dtypes": ("float31",)}, r"Row 'tanh': dtypes must name some of bool, .*, got \('float31',\)"),
        ({"dtypes": ()}, "Row 'tanh': dtypes must name some of bool, "),
        ({"result": "floats"}, "Row 'tanh': result must be a dtype, 'float', 'sum' or None, got 'floats'"),
        (
            {"shapes": ((2, 3), (3,))},
            "Row 'tanh': shapes and domains must have one entry per operand, got 2 shapes and 1",
        ),
        ({"domains": ("real", "real")}, "Row 'tanh': domains= lists 2 operands, and fn does not accept 2 arguments"),
        (
            {"numpy": lambda x, y: x},
            "Row 'tanh': domains= lists 1 operand, and numpy does not accept 1 argument; .*'y'",
        ),
        ({"numpy": np.add}, "Row 'tanh': domains= lists 1 operand, and numpy does not accept 1 argument; .*2 operands"),
        ({"tolerance": 0.0}, "Row 'tanh': tolerance must be above 0, a factor on the allowed error, got 0.0"),
    ],
)
def test_a_field_that_cannot_be_right_is_named(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Row(**{"name": "tanh", "fn": mg.tanh, "numpy": np.tanh, **fields})


def test_a_field_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(ValueError, match=r"Row 'tanh': there is no field 'grad'; there are name, fn, .*kernels"):
        Row("tanh", mg.tanh, np.tanh, grad=False)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"Row 'tanh': there is no field 'shape'; .* similar: shapes"):
        Row(name="tanh", fn=mg.tanh, numpy=np.tanh, shape=((2,),))  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"Row without a name: there is no field 'operator'"):
        Row(operator=mg.tanh)  # type: ignore[call-arg]


def test_a_row_of_an_op_along_a_dim_without_shapes_is_named() -> None:
    from ops import test_forward

    row = Row("spread", lambda x: x.amax(1) - x.amin(1), lambda x: np.ptp(x, 1))
    with pytest.raises(AssertionError, match=r"Row 'spread': fn refuses operands of shapes \(\); .* shapes="):
        test_forward.test_scalars_empties_and_five_dims(row, "reference", ())


def test_a_refusal_after_an_allocation_names_the_row_and_a_remedy() -> None:
    row = Row("late", lambda x: mg.amax(x, 0) - mg.amin(x, 0), lambda x: np.ptp(x, 0))
    sentence = r"Row 'late': with bool, fn raises DTypeError after 2 allocations; check .* first, or pass refuses=False"
    from ops import test_forward

    with pytest.raises(AssertionError, match=sentence):
        test_forward.test_other_dtypes_are_refused(row, "reference", "bool")


def test_an_op_that_is_not_there_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"Row 'a': there is no op 'tahn'; declare it, or correct ops=; similar: .*tan"
    ):
        Row("a", mg.tanh, np.tanh, ops=("tahn",)).check_ops(mg.schema)
    with pytest.raises(ValueError, match=r"Row 'tahn': neither mg nor mg\.nn\.functional has this function"):
        op_table._row("tahn", np.tanh)


def test_a_row_that_denies_a_gradient_is_named() -> None:
    x = mg.Var([1.0], device="reference")
    with pytest.raises(AssertionError, match=r"Row 'tanh': smooth=False promises .*, and fn returned a tracked tensor"):
        assert_untracked(Row("tanh", mg.tanh, np.tanh, smooth=False), x.tanh())
    with pytest.raises(AssertionError, match="Row 'tanh': slope=True promises that backward raises, and it returned"):
        assert_refuses_backward(Row("tanh", mg.tanh, np.tanh, slope=True), x.tanh())


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            Row("tanh", mg.tanh, lambda x: np.tanh(x)[:1]),
            r"fn returned shape \(3, 4\) and numpy returned shape \(1, 4\)",
        ),
        (Row("tanh", mg.tanh, np.sinh), "Row 'tanh': fn and numpy disagree on float32; correct the op, or numpy="),
        (Row("matmul", mg.matmul, np.matmul, ("real", "real"), shapes=((2, 3), (2, 3))), "matmul"),
    ],
)
def test_a_row_that_disagrees_with_its_op_fails_with_a_sentence(row: Row, sentence: str) -> None:
    with pytest.raises((AssertionError, mg.ShapeError), match=sentence):
        compared(row)


def test_a_dtype_that_the_op_refuses_is_named() -> None:
    row = Row("logical", mg.bitwise_not, np.invert, dtypes=FLOATS)
    with pytest.raises(AssertionError, match="Row 'logical': dtypes= promises float32, and the op refuses it"):
        compared(row)


def test_an_op_of_a_user_needs_no_docstring() -> None:
    @mg.elementwise(dtype=mg.rules.promote, vjp=(lambda g: g * 3.0,))
    def thrice(x):
        return x + x + x

    x = mg.Var([1.0, 2.0], device="reference")
    y = thrice(x)
    assert y.tolist() == [3.0, 6.0] and y.backward()[x].tolist() == [3.0, 3.0]
    assert thrice.op.doc == "thrice(x), declared without a docstring."
