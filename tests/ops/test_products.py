"""Products that are added to something: broadcasting, factors, and what is refused before anything is allocated."""

import numpy as np
import pytest
from op_support import assert_sentence

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, ShapeError
from minigrad.nn import functional as F


def test_addmm_scales_both_terms():
    a, b = mg.tensor([[1.0, 2.0]]), mg.tensor([[3.0], [4.0]])
    assert mg.addmm(mg.tensor([10.0]), a, b, beta=2, alpha=3).tolist() == [[53]]
    assert mg.tensor([[10.0]]).addmm(a, b).tolist() == [[21]]


def test_with_beta_0_nan_in_the_input_does_not_show():
    nan = mg.full((2, 2), float("nan"))
    assert mg.addmm(nan, mg.ones(2, 3), mg.ones(3, 2), beta=0).tolist() == [[3, 3], [3, 3]]


def test_an_empty_product_leaves_the_scaled_input():
    assert mg.addmm(mg.tensor([1.0, 2.0]), mg.ones(2, 0), mg.ones(0, 2), beta=3).tolist() == [[3, 6], [3, 6]]


def test_linear_takes_any_leading_dims():
    w, b = mg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), mg.tensor([100.0, 200.0, 300.0])
    row = [103.0, 207.0, 311.0]
    assert F.linear(mg.ones(2), w, b).tolist() == row
    assert F.linear(mg.ones(2, 1, 4, 2), w, b).tolist() == [[[row] * 4]] * 2
    assert F.linear(mg.ones(0, 2), w, b).shape == (0, 3)


def test_the_gradient_of_a_bias_is_summed_over_all_rows():
    b = mg.Var([0.0, 0.0, 0.0])
    F.linear(mg.ones(4, 5, 2), mg.ones(3, 2), b).sum().backward()
    assert b.grad.tolist() == [20, 20, 20]


def test_batches_of_bmm_do_not_stretch():
    with pytest.raises(ShapeError, match="must have the shapes"):
        mg.bmm(mg.ones(1, 2, 3), mg.ones(4, 3, 2))


def test_a_vector_meets_a_batch_of_matrices():
    m = np.arange(24.0).reshape(2, 3, 4)
    assert np.array_equal((mg.tensor(m) @ mg.ones(4, dtype="float64")).numpy(), m.sum(2))
    assert np.array_equal((mg.ones(3, dtype="float64") @ mg.tensor(m)).numpy(), m.sum(1))


A, B = "float32(2, 3)", "float32(3, 4)"
BAD = [
    (lambda a, b: mg.addmm(mg.ones(3), a, b), ShapeError, f"addmm: input (2, 4) {A} @ {B}, got float32(3,)"),
    (lambda a, b: mg.addmm(mg.ones(4), b, a), ShapeError, f"addmm: {B} @ {A}: the left, 4, must equal 2"),
    (lambda a, b: mg.addmm(mg.ones(4), a, mg.ones(3)), ShapeError, f"addmm: 2 dims, got float32(3,) with {A}"),
    (lambda a, b: mg.addmm(mg.ones(4), a, b, alpha="2"), ArgumentError,
     "addmm: alpha must be a number, got str '2'"),
    (lambda a, b: mg.addmm(*(x.to(mg.int32) for x in (mg.ones(4), a, b)), beta=0.5), DTypeError,
     "addmm: beta must be an int for int32, got float 0.5"),
    (lambda a, b: mg.addmm(*(x.to(mg.bool) for x in (mg.ones(4), a, b))), DTypeError, "addmm: bool(4,) numbers"),
    (lambda a, b: mg.addmv(mg.ones(2), a, b), ShapeError, f"addmv: vec must have 1 dim, got {B} {A}"),
    (lambda a, b: mg.addmm([1.0], a, b), DTypeError, "addmm: list [1.0]"),
    (lambda a, b: F.linear(a, b), ShapeError, f"linear: the last dim of the input {A} second dim of the weight {B}, 4"),
    (lambda a, b: F.linear(a, b, mg.ones(3)), ShapeError, f"linear: the last dim of the input {A} weight {B}, 4"),
    (lambda a, b: F.linear(b, b, mg.ones(4)), ShapeError, f"linear: bias must have shape (3,) {B} got float32(4,)"),
    (lambda a, b: F.linear(a, mg.ones(3)), ShapeError, "linear: weight must have 2 dims got float32(3,)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), BAD, ids=[text[:40] for _, _, text in BAD])
def test_bad_arguments_are_named(call, error, text):
    with pytest.raises(error) as caught:
        call(mg.ones(2, 3), mg.ones(3, 4))
    assert_sentence(str(caught.value), text)


def test_a_left_operand_of_long_columns_is_copied_and_gives_the_same() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(130, 1100)).astype(np.float32), rng.normal(size=(130, 140)).astype(np.float32)
    x, y = mg.tensor(a), mg.tensor(b)
    found = x.T @ y
    np.testing.assert_allclose(found.numpy(), a.T.astype(np.float64) @ b, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(found.numpy(), (x.T.contiguous() @ y).numpy())
    part = mg.tensor(np.concatenate([b, a], axis=1))[:, 140:]
    np.testing.assert_array_equal((part.T @ y).numpy(), found.numpy())
    out = mg.zeros(140, 1100).T
    np.testing.assert_array_equal(mg.addmm(out, part.T, y).numpy(), found.numpy())


EMPTY = [((2, 0), (0, 3)), ((4, 2, 0), (0, 3)), ((4, 0, 5), (5, 3)), ((4, 2, 0), (4, 0, 3)), ((0,), (0, 3)),
         ((0, 2, 5), (5,)), ((4, 2, 5), (5, 0))]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), EMPTY)
def test_products_without_elements_have_gradients(a, b):
    x, y = (mg.Var(mg.zeros(*shape), device="reference") for shape in (a, b))
    gradients = mg.grad((x @ y).sum(), (x, y))
    assert [(g.shape, g.tolist()) for g in gradients] == [(v.shape, v.detach().tolist()) for v in (x, y)]


@pytest.mark.parametrize("shape", [(4, 2, 0), (4, 0, 5), (0,), (0, 3, 5)])
def test_linear_without_elements_has_gradients(shape):
    x, w = mg.Var(mg.zeros(*shape), device="reference"), mg.Var(mg.zeros(3, shape[-1]), device="reference")
    assert [g.shape for g in mg.grad(mg.nn.functional.linear(x, w).sum(), (x, w))] == [x.shape, w.shape]
