"""An op declares which operands it writes, and its writes are checked and counted."""

from __future__ import annotations

from typing import Any

import pytest
from cases import over
from op_support import arrays, operands
from op_table import BY_NAME

import minigrad as mg
from minigrad.declare.decorators import composed, kernel
from minigrad.errors import DeclarationError, GradientError, StorageError
from minigrad.runtime.into import write_operands


@kernel(dtype=mg.rules.floating, shape=mg.rules.same_shape, vjp=(lambda g: g, lambda g: g), writes=("count",))
def counted(backend: Any, out: Any, x: mg.Tensor, count: mg.Tensor) -> Any:
    """x, and one more in every element of count."""

    def launch(x: Any, count: Any, out: Any) -> None:
        count += 1
        out[:2] = x[:2]

    return launch


def tensor(*data: float) -> Any:
    return mg.tensor(list(data), dtype="float64", device="reference")


def test_a_kernel_that_writes_an_operand_counts_as_a_write() -> None:
    x, count = mg.Var([1.0, 2.0], dtype="float64", device="reference"), tensor(0.0, 0.0)
    assert counted.op.writes == ("count",) and counted.writes == ("count",)
    loss = (count * mg.Var([1.0, 1.0], dtype="float64", device="reference")).sum()
    assert counted(x, count).tolist() == [1.0, 2.0] and count.tolist() == [1.0, 1.0]
    assert count.storage.version == 1
    with pytest.raises(StorageError, match=r"saved its operand 'input'.* changed in place"):
        loss.backward()


def test_a_kernel_may_not_write_what_a_gradient_a_transform_or_another_operand_needs() -> None:
    x, count = tensor(1.0, 2.0), tensor(0.0, 0.0)
    with pytest.raises(GradientError, match="counted: cannot write into a Var"):
        counted(x, mg.Var([0.0, 0.0], dtype="float64", device="reference"))
    with pytest.raises(GradientError, match="counted: this op writes into count, which has no memory"):
        mg.func.vmap(lambda x: counted(x, count))(mg.stack([x, x]))
    with pytest.raises(StorageError, match=r"counted: an operand that is written must not share memory"):
        counted(count, count)
    with pytest.raises(StorageError, match="whose elements share memory"):
        counted(x, tensor(0.0).expand(2))
    y = mg.checkpoint(lambda y: (y + counted(x, count)).exp(), mg.Var(x))
    with pytest.raises(GradientError, match="counted: this op writes into count, so a checkpoint"):
        y.sum().backward()
    assert count.tolist() == [1.0, 1.0]


def test_a_declaration_writes_operands_that_it_has_and_lists() -> None:
    with pytest.raises(DeclarationError, match=r"writes of odd_name must be a tuple of names of its oper"):

        @composed(writes=("total",))
        def odd_name(x: mg.Tensor) -> mg.Tensor:
            """x."""
            return x

    @composed(out=False)
    def unlisted(x: mg.Tensor, total: mg.Tensor) -> mg.Tensor:
        """x, and zeros in total."""
        write_operands(unlisted.op, {"total": total}, {"total": total * 0.0})
        return x

    with pytest.raises(DeclarationError, match="unlisted writes into its operand 'total', which is not in writes="):
        unlisted(tensor(1.0), tensor(2.0))


@over("name", [name for name, row in BY_NAME.items() if not row.slope])
def test_a_call_writes_nothing_that_its_op_does_not_list(name: str) -> None:
    row = BY_NAME[name]
    given = operands(row, arrays(row), "float64" if "float64" in row.dtypes else row.dtypes[-1], "reference")
    row.fn(*given)
    assert [x.storage.version for x in given] == [0] * len(given)


def test_a_form_in_place_lists_its_first_operand() -> None:
    assert mg.Tensor.add_.writes == ("input",) and mg.add.writes == ()
