"""einsum: equations as NumPy reads them, what PyTorch reads beyond that, and errors that name the wrong part."""

from __future__ import annotations

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import ArgumentError, ShapeError

EQUATIONS = {
    "ij,jk->ik": ((2, 3), (3, 4)),
    "ij,jk": ((2, 3), (3, 4)),
    "bij,bjk->bik": ((2, 2, 3), (2, 3, 4)),
    "bhid,bhjd->bhij": ((2, 2, 3, 4), (2, 2, 5, 4)),
    "i,j->ji": ((2,), (3,)),
    "ij->": ((2, 3),),
    "ba": ((2, 3),),
    "bA": ((2, 3),),
    "ii": ((3, 3),),
    "ii->i": ((3, 3),),
    "iij->ij": ((2, 2, 3),),
    "iii->i": ((2, 2, 2),),
    "...i,i->...": ((2, 3, 4), (4,)),
    "i...,...j->j...i": ((2, 3, 4), (3, 4, 2)),
    "...ij,...jk": ((2, 1, 3, 4), (5, 4, 2)),
    ",i->i": ((), (3,)),
    ",": ((), ()),
    "ij,jk,kl,l->i": ((2, 3), (3, 4), (4, 2), (2,)),
    " i j , j -> i ": ((2, 3), (3,)),
    "ij,kj->ik": ((2, 0), (3, 0)),
    "ij,jk->ik ": ((0, 3), (3, 2)),
}


@over("equation", EQUATIONS)
def test_an_equation_is_read_as_numpy_reads_it(equation: str) -> None:
    rng = np.random.default_rng(0)
    given = [rng.normal(size=shape) for shape in EQUATIONS[equation]]
    tensors = [mg.tensor(x, device="reference") for x in given]
    want = np.einsum(equation.replace(" ", ""), *given)
    got = mg.einsum(equation, *tensors)
    assert got.shape == want.shape
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(mg.einsum(equation, tensors).numpy(), got.numpy(), "operands as a list")


def test_dims_of_length_one_broadcast_and_an_ellipsis_may_be_summed() -> None:
    x, row = (mg.tensor(np.arange(float(n)), device="reference") for n in (6, 3))
    x = x.reshape(2, 3)
    assert mg.einsum("ij,ij->i", x, row.reshape(1, 3)).tolist() == [5.0, 14.0]
    assert mg.einsum("ij,ij->ij", x, mg.ones(2, 1, device="reference")).tolist() == x.tolist()
    assert mg.einsum("...j->j", x).tolist() == [3.0, 5.0, 7.0]
    assert mg.einsum("ij->...ij", x).tolist() == x.tolist()


def test_lists_of_ints_after_the_operands_are_an_equation() -> None:
    x, y = (mg.tensor(np.arange(float(n)), device="reference") for n in (6, 12))
    x, y = x.reshape(2, 3), y.reshape(3, 4)
    product = (x @ y).tolist()
    assert mg.einsum(x, [0, 1], y, [1, 2], [0, 2]).tolist() == product == mg.einsum(x, [7, 30], y, (30, 40)).tolist()
    assert mg.einsum(x, [..., 1], y, [1, 2], [..., 2]).tolist() == product
    assert mg.einsum(x, [1, 0]).tolist() == x.T.tolist() and mg.einsum(x, [0, 1], []).item() == 15.0
    assert np.einsum(x, [0, 1], y, [1, 2], [0, 2]).tolist() == product


@pytest.mark.parametrize("given", [([0, 52],), ([0, -1],), ([0, "a"],), ([..., 0, ...],), (0,), (np.ones(2),)])
def test_lists_of_ints_that_are_no_equation_are_refused(given: tuple[object, ...]) -> None:
    with pytest.raises(ArgumentError, match="a list of ints from 0 to 51"):
        mg.einsum(mg.ones(2, 2, device="reference"), *given)


def test_one_operand_that_is_not_summed_is_a_view() -> None:
    x = mg.tensor(np.arange(6.0), device="reference").reshape(2, 3)
    assert mg.einsum("ij->ji", x).storage is x.storage and mg.einsum("ij->ji", x).strides == (1, 3)


@pytest.mark.parametrize("equation", ["ij->ij", "ij", "...->...", "ij->ji"])
def test_a_view_is_not_the_operand_itself(equation: str) -> None:
    x = mg.Var([[1.0, 2.0], [3.0, 4.0]], device="reference")
    for _ in range(2):  # the second call finds its plan
        y = mg.einsum(equation, x)
        assert y is not x and not y.is_leaf and y.storage is x.storage
    assert mg.grad(mg.einsum(equation, x).sum(), x)[0].tolist() == [1.0, 1.0]


def test_integers_are_added_as_sum_and_matmul_add_them() -> None:
    x = mg.ones(3, dtype="int32", device="reference")
    assert mg.einsum("i->", x).dtype is mg.int64 and mg.einsum("i,i->", x, x).dtype is mg.int32


@pytest.mark.parametrize(
    ("equation", "error", "words"),
    [
        ("ij,jk->ik", ArgumentError, "names the dims of 2 operands before '->', but got 1 operand;"),
        ("ijk", ShapeError, r"the part 'ijk' of 'ijk' has 3 letters, and its operand is float32\(2, 3\)"),
        ("i", ShapeError, "has 1 letter, "),
        ("ijk...", ShapeError, "has 3 letters"),
        ("i1", ArgumentError, "the part 'i1' of 'i1' must contain only letters .*, got '1'"),
        ("i.j", ArgumentError, r"the part 'i\.j' of .*, got '\.'"),
        ("......", ArgumentError, r"the part .*, got '\.'"),
        ("ij->ijk", ArgumentError, "the letter 'k' after '->' in 'ij->ijk' does not occur in an operand"),
        ("ij->ii", ArgumentError, "the letter 'i' after '->' in 'ij->ii' occurs twice there"),
        ("ij->j->i", ArgumentError, "the part 'j->i' .*, got '-'"),
        ("ii", ShapeError, "the letter 'i' of 'ii' must have the same size .* twice in operand 0 with different sizes"),
    ],
)
def test_an_error_names_the_part_that_is_wrong(equation: str, error: type, words: str) -> None:
    with pytest.raises(error, match=f"einsum: .*{words}"):
        mg.einsum(equation, mg.ones(2, 3, device="reference"))


def test_sizes_that_differ_name_both_operands() -> None:
    a, b = mg.ones(2, 3, device="reference"), mg.ones(4, 2, device="reference")
    with pytest.raises(ShapeError, match=r"letter 'j' of .* is in operand 1 and in operand 0 .*float32\(2, 3\) and fl"):
        mg.einsum("ij,jk->ik", a, b)
    with pytest.raises(ShapeError, match="dim -2 of the ellipsis of"):
        mg.einsum("...,...", a, b)
    with pytest.raises(ArgumentError, match=r"argument must be an equation such as 'ij,jk->ik', .*got float32"):
        mg.einsum(a, b)
