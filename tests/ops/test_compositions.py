"""What the rows of compositions cannot show: numbers from PyTorch 2.13 at edges, draws, writes and errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError
from minigrad.ops.linalg.distances import pair_gradients, row_gradients

pytestmark = pytest.mark.usefixtures("reference")

F = mg.nn.functional
NAN, INF = math.nan, math.inf


@pytest.fixture(autouse=True)
def seeded() -> None:
    mg.manual_seed(0)


# ---- losses ---------------------------------------------------------------------------------------------------------


def test_binary_cross_entropy_at_its_ends_is_100_and_has_a_gradient() -> None:
    x = mg.Var([0.0, 1.0, 1.0, 0.0], dtype="float64")
    loss = F.binary_cross_entropy(x, mg.tensor([0.0, 1.0, 0.0, 1.0], dtype="float64"), reduction="none")
    assert loss.tolist() == [0.0, 0.0, 100.0, 100.0]
    assert loss.backward()[x].tolist() == [0.0, 0.0, 1e12, -1e12]


def test_logits_do_not_overflow_where_probabilities_do() -> None:
    x = mg.Var([1000.0, -1000.0])
    loss = F.binary_cross_entropy_with_logits(x, mg.tensor([0.0, 1.0]), reduction="none")
    assert loss.tolist() == [1000.0, 1000.0] and loss.backward()[x].tolist() == [1.0, -1.0]


def test_a_target_of_nothing_costs_nothing_in_kl_div() -> None:
    assert F.kl_div(mg.tensor([-1.0, -2.0]), mg.tensor([0.0, 1.0]), reduction="none").tolist() == [0.0, 2.0]
    with pytest.raises(ArgumentError, match="kl_div: reduction must be 'mean', 'sum' or 'none'"):
        F.kl_div(mg.ones(2), mg.ones(2), reduction="rows")


def test_a_small_variance_counts_as_eps_and_keeps_its_gradient() -> None:
    v = mg.Var([0.25, 1e-12], dtype="float64")
    loss = F.gaussian_nll_loss(mg.zeros(2, dtype="float64"), mg.ones(2, dtype="float64"), v, eps=0.25, reduction="sum")
    assert loss.item() == pytest.approx(4.0 + math.log(0.25)) and loss.backward()[v].tolist() == [-6.0, -6.0]
    assert F.gaussian_nll_loss(mg.zeros(2), mg.zeros(2), 1.0).item() == 0.0


def test_the_cosine_of_a_zero_vector_is_zero() -> None:
    x = mg.Var([[0.0, 0.0]], dtype="float64")
    y = F.cosine_similarity(x, mg.tensor([[3.0, 4.0]], dtype="float64"), eps=0.5)
    assert y.tolist() == [0.0] and y.backward()[x].tolist() == [pytest.approx([1.2, 1.6])]


@over("call, error", [
    (lambda x: F.binary_cross_entropy(x, mg.ones(3)), ShapeError),
    (lambda x: F.triplet_margin_loss(x, x, x, margin=0), ArgumentError),
    (lambda x: F.multi_margin_loss(x, mg.tensor([0, 2])), IndexOutOfRange),
    (lambda x: F.multi_margin_loss(x, mg.tensor([0, -1])), IndexOutOfRange),
    (lambda x: F.multi_margin_loss(x, mg.tensor([0, 1]), p=3), ArgumentError),
    (lambda x: F.cosine_embedding_loss(x, x, mg.tensor(1)), ShapeError),
    (lambda x: F.gaussian_nll_loss(x, x, mg.ones(3)), ShapeError),
    (lambda x: F.group_norm(x, 3), ArgumentError),
    (lambda x: F.instance_norm(x), ShapeError),
    (lambda x: F.dropout(x, 1.5), ArgumentError),
    (lambda x: F.dropout(x.long()), DTypeError),
    (lambda x: F.scaled_dot_product_attention(x, x, x, x, is_causal=True), ArgumentError),
    (lambda x: mg.multinomial(-x, 1), ArgumentError),
    (lambda x: mg.multinomial(x, 3), ShapeError),
    (lambda x: mg.linalg.matrix_norm(x, "nuclear"), ArgumentError),
    (lambda x: mg.linalg.matrix_power(x, -1), ArgumentError),
    (lambda x: mg.cross(x, x), ShapeError),
    (lambda x: mg.bincount(mg.tensor([-1])), ArgumentError),
    (lambda x: mg.histc(x, 2, 1, -1), ArgumentError),
    (lambda x: mg.quantile(x, 1.5), ArgumentError),
    (lambda x: mg.scatter(x, 0, mg.tensor([[2]]), 1.0), IndexOutOfRange),
    (lambda x: mg.isclose(x, x.double()), DTypeError),
    (lambda x: mg.gradient(mg.ones(1)), ShapeError),
])  # fmt: skip
def test_what_makes_no_sense_is_refused(call, error) -> None:
    with pytest.raises(error):
        call(mg.ones(2, 2))


# ---- networks -------------------------------------------------------------------------------------------------------


def test_instance_norm_moves_its_running_statistics_and_uses_them() -> None:
    x = mg.tensor([[[1.0, 3.0], [0.0, 4.0]], [[5.0, 7.0], [2.0, 2.0]]])
    center, spread = mg.zeros(2), mg.ones(2)
    y = F.instance_norm(x, center, spread, momentum=0.5)
    assert y[0, 0].tolist() == pytest.approx([-1.0, 1.0], abs=1e-4)
    assert center.tolist() == [2.0, 1.0] and spread.tolist() == [1.5, 2.5]
    used = F.instance_norm(x, center, spread, use_input_stats=False, eps=0.75)
    assert used[0, 0].tolist() == pytest.approx([-1 / 1.5, 1 / 1.5])


def test_a_query_that_sees_nothing_gives_zeros_and_zero_gradients() -> None:
    q = mg.Var(np.ones((2, 3)), dtype="float64")
    k = mg.tensor(np.arange(6.0).reshape(2, 3))
    y = F.scaled_dot_product_attention(q, k, k, mg.tensor([[True, False], [False, False]]))
    assert y.tolist() == [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]] and y.backward()[q].tolist() == [[0.0] * 3] * 2


def test_dropout_keeps_the_mean_and_its_gradient_is_its_mask() -> None:
    x = mg.Var(np.ones(10_000))
    y = F.dropout(x, 0.25)
    assert sorted(set(y.tolist())) == pytest.approx([0.0, 4 / 3]) and abs(y.mean().item() - 1.0) < 0.02
    assert y.sum().backward()[x].tolist() == y.tolist()
    assert F.dropout(x, 0.25, training=False) is x and F.alpha_dropout(x) is x
    mg.manual_seed(0)
    assert F.dropout(x, 0.25).tolist() == y.tolist()


def test_dropout_of_channels_keeps_or_leaves_out_whole_ones() -> None:
    for dropout, shape in ((F.dropout1d, (20, 30)), (F.dropout2d, (4, 30, 5, 2)), (F.dropout3d, (30, 2, 3, 4))):
        y = dropout(mg.ones(*shape), 0.5).numpy()
        flat = y.reshape(20, 30) if y.ndim == 2 else y.reshape(120, -1) if shape[0] == 4 else y.reshape(30, -1)
        assert set(y.ravel()) == {0.0, 2.0} and (flat == flat[:, :1]).all()


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    y = F.alpha_dropout(mg.randn(40_000), 0.3, True)
    assert abs(y.mean().item()) < 0.02 and abs(y.var().item() - 1.0) < 0.03
    assert sorted(set(F.alpha_dropout(mg.ones(50), 0.3, True).tolist())) == pytest.approx([-1.0595483, 1.3150446])


def test_inplace_dropout_writes_into_its_input() -> None:
    for dropout in (F.dropout, lambda *given, **more: F.alpha_dropout(*given, training=True, **more)):
        x = mg.ones(50)
        assert dropout(x, 0.5, inplace=True) is x and len(set(x.tolist())) == 2


def test_each_of_a_batch_may_have_a_dropout_of_its_own() -> None:
    y = mg.func.vmap(lambda row: F.dropout(row), randomness="different")(mg.ones(4, 40))
    assert len({tuple(row) for row in y.tolist()}) == 4


def test_a_hard_gumbel_sample_is_one_class_and_has_the_gradient_of_the_soft_one() -> None:
    logits = mg.Var(np.log([[0.1, 0.2, 0.7]] * 4000))
    y = F.gumbel_softmax(logits, hard=True)
    assert y.sum(-1).tolist() == pytest.approx([1.0] * 4000)
    assert y.mean(0).tolist() == pytest.approx([0.1, 0.2, 0.7], abs=0.03)
    assert (y * mg.arange(3)).sum().backward()[logits].abs().sum().item() > 0


def test_draws_follow_their_probabilities() -> None:
    assert mg.bernoulli(mg.full((10_000,), 0.3)).mean().item() == pytest.approx(0.3, abs=0.02)
    assert mg.bernoulli(mg.tensor([0.0, 1.0])).tolist() == [0.0, 1.0]
    counts = mg.bincount(mg.multinomial(mg.tensor([1.0, 2.0, 0.0, 7.0]), 4_000, True))
    assert counts.tolist() == pytest.approx([400, 800, 0, 2800], abs=120)  # four standard deviations of the last
    rows = mg.multinomial(mg.tensor([[1.0, 2.0, 0.0, 7.0]]).expand(2000, 4), 2)
    assert all(a != b for a, b in rows.tolist()) and not (rows == 2).any().item()
    # The second is drawn from what is left: 0.7 * 2/3 + 0.1 * 2/9 = 0.489 of them are 1.
    assert mg.bincount(rows[:, 1])[1].item() / 2000 == pytest.approx(0.489, abs=0.04)
    with pytest.raises(ArgumentError, match="at least 4 weights above 0"):
        mg.multinomial(mg.tensor([1.0, 2.0, 0.0, 7.0]), 4)
    tiny = mg.tensor([0.0, 1e-308, 0.0], dtype=mg.float64).expand(200, 3)
    assert set(mg.multinomial(tiny, 1).ravel().tolist()) == {1}
    one, two = (mg.multinomial(mg.ones(9), 9, generator=mg.Generator(3)).tolist() for _ in range(2))
    assert one == two


# ---- comparisons, statistics, searches ------------------------------------------------------------------------------


def test_close_and_equal() -> None:
    x, y = mg.tensor([1.0, INF, NAN, -INF]), mg.tensor([1.000001, INF, NAN, INF])
    assert mg.isclose(x, y).tolist() == [True, True, False, False]
    assert mg.isclose(x, y, equal_nan=True).tolist() == [True, True, True, False]
    assert mg.allclose(x[:2], y[:2]) and not x.allclose(y) and x.isclose(x).tolist() == [True, True, False, True]
    assert mg.equal(x[:2], x[:2]) and not x.equal(x) and not mg.equal(x, x[:2]) and mg.equal(mg.ones(0), mg.ones(0))


def test_differences_of_integers_do_not_wrap() -> None:
    for dtype, low, high in (("uint8", 0, 255), ("int8", -128, 127), ("int64", -(2**63), 2**63 - 1), ("bool", 0, 1)):
        near, far = (mg.tensor(pair, dtype=dtype, device="reference") for pair in ([low, high - 1], [low + 1, high]))
        assert mg.isclose(near, far, atol=1).tolist() == [True, True]
        assert mg.isclose(near, far.flip(0), atol=1).tolist() == [dtype == "bool"] * 2


def test_what_is_a_tensor_stays_one() -> None:
    x = mg.ones(2)
    array = np.arange(3.0)
    seen = mg.as_tensor(array, device="cpu")
    array[0] = 7.0
    assert mg.as_tensor(x) is x and seen.tolist() == [7.0, 1.0, 2.0] and mg.as_tensor([1, 2]).dtype is mg.long
    assert mg.as_tensor(x, mg.half).dtype is mg.float16 and mg.as_tensor(array, mg.float).dtype is mg.float32
    assert mg.is_tensor(x) and not mg.is_tensor(1.0) and mg.is_floating_point(x)
    assert (mg.double, mg.int, mg.short) == (mg.float64, mg.int32, mg.int16)


def test_quantiles_between_elements_and_with_nan() -> None:
    x = mg.tensor([[3.0, 1.0, 2.0, 4.0], [NAN, 1.0, 5.0, 3.0]])
    between = {how: mg.quantile(x[0], 0.4, interpolation=how).item() for how in
               ("linear", "lower", "higher", "midpoint", "nearest")}  # fmt: skip
    assert between == {"linear": pytest.approx(2.2), "lower": 2.0, "higher": 3.0, "midpoint": 2.5, "nearest": 2.0}
    both = mg.quantile(x, mg.tensor([0.0, 1.0]), 1)
    assert both.shape == (2, 2) and both[:, 0].tolist() == [1.0, 4.0] and both[:, 1].isnan().all().item()
    assert mg.nanquantile(x, mg.tensor([0.0, 0.5, 1.0]), 1).tolist() == [[1.0, 1.0], [2.5, 3.0], [4.0, 5.0]]
    assert mg.quantile(x[0], 0.5, 0, True).shape == (1,)


def test_medians_and_modes() -> None:
    x = mg.Var([[3.0, 1.0, NAN, 2.0], [NAN, NAN, NAN, NAN]])
    y = mg.nanmedian(x, 1)
    assert y.values[0].item() == 2.0 and y.indices[0].item() == 3 and math.isnan(y.values[1].item())
    assert y.values[0].backward()[x].tolist() == [[0.0, 0.0, 0.0, 1.0], [0.0] * 4]
    values, indices = mg.mode(mg.tensor([[2, 1, 2, 1, 0], [4, 4, 3, 4, 3]]))
    assert values.tolist() == [1, 4] and indices.tolist() == [3, 3]


def test_covariances_with_weights() -> None:
    x = mg.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]], dtype="float64")
    assert mg.cov(x).tolist() == [[1.0, -1.0], [-1.0, 1.0]] and mg.corrcoef(x).tolist() == [[1.0, -1.0], [-1.0, 1.0]]
    twice = mg.cov(x[0], fweights=mg.tensor([1, 2, 1]))
    assert twice.item() == pytest.approx(2 / 3) and twice.shape == ()
    assert mg.cov(x[0], aweights=mg.tensor([0.5, 1.0, 0.5], dtype="float64")).item() == pytest.approx(0.8)
    with pytest.warns(UserWarning, match="too few observations"):
        assert math.isnan(mg.cov(mg.ones(2, 1))[0, 0].item())


def test_integrals_over_positions() -> None:
    y = mg.tensor([[1.0, 2.0, 3.0], [0.0, 2.0, 4.0]])
    assert mg.trapezoid(y, mg.tensor([0.0, 2.0, 3.0])).tolist() == [5.5, 5.0]
    assert mg.trapezoid(y, mg.tensor([0.0, 4.0]), dim=0).tolist() == [2.0, 8.0, 14.0]
    assert mg.cumulative_trapezoid(y, dx=2).tolist() == [[3.0, 8.0], [2.0, 8.0]] and mg.trapz(y[0]).item() == 4.0
    rows, columns = mg.gradient(y, spacing=[1.0, 0.5])
    assert rows.tolist() == [[-1.0, 0.0, 1.0]] * 2 and columns.tolist() == [[2.0] * 3, [4.0] * 3]
    x = mg.tensor([0.0, 1.0, 3.0, 4.0])
    assert mg.gradient(x * x, spacing=(x,), edge_order=2)[0].tolist() == [0.0, 2.0, 6.0, 8.0]


def test_the_integral_over_no_samples_is_zero() -> None:
    y = mg.zeros(2, 0, 3, device="reference")
    for x in (mg.zeros(0, device="reference"), mg.zeros(2, 0, device="reference"), None):
        assert mg.trapezoid(y, x, dim=1).tolist() == [[0.0] * 3] * 2
    assert mg.cumulative_trapezoid(y, mg.zeros(0, device="reference"), dim=1).shape == (2, 0, 3)


def test_the_places_of_samples_get_dims_in_front() -> None:
    y = mg.arange(6.0, device="reference").reshape(2, 1, 3)
    x = mg.tensor([[0.0, 2.0, 3.0]], device="reference")
    assert mg.trapezoid(y, x).tolist() == [[2.5], [11.5]] and mg.trapezoid(y, x[0]).tolist() == [[2.5], [11.5]]
    several = mg.stack([y * 0 + x, y * 0 + 2 * x])  # a dim is counted from the front where x has more of them
    assert mg.trapezoid(y, several.transpose(0, 1), dim=0).shape == (2, 1, 3)


def test_searches_in_sorted_rows() -> None:
    rows, x = mg.tensor([[1, 3, 3, 5], [0, 1, 2, 3]]), mg.tensor([[3, 6], [-1, 3]])
    assert mg.searchsorted(rows, x).tolist() == [[1, 4], [0, 3]]
    assert mg.searchsorted(rows, x, right=True).tolist() == [[3, 4], [0, 4]]
    assert mg.searchsorted(rows[0], 4).item() == 3 and mg.bucketize(4, rows[0], out_int32=True).dtype is mg.int32
    assert mg.searchsorted(mg.tensor([5, 1, 3]), x, sorter=mg.tensor([1, 2, 0])).tolist() == [[1, 3], [0, 1]]
    assert mg.isin(x, rows, invert=True).tolist() == [[False, True], [True, False]]
    assert mg.isin(mg.tensor([NAN]), mg.tensor([NAN])).tolist() == [False]
    assert mg.bincount(mg.tensor([0, 2, 2]), mg.tensor([0.5, 1.0, 1.0])).tolist() == [0.5, 0.0, 2.0]
    assert mg.bincount(mg.zeros(0, dtype="int64")).shape == (0,)
    assert mg.histc(mg.tensor([1.0, 2.0, 2.5, 3.0]), 2).tolist() == [1.0, 3.0]


# ---- products and positions -----------------------------------------------------------------------------------------


def test_products_of_shapes_that_rows_do_not_have() -> None:
    a, b = mg.arange(3.0), mg.ones(3)
    assert mg.inner(mg.tensor(2.0), a).tolist() == [0.0, 2.0, 4.0] and mg.kron(mg.tensor(2.0), b).shape == (3,)
    assert mg.tensordot(a, b, 0).shape == (3, 3) and mg.tensordot(a, b, 1).item() == 3.0
    assert mg.linalg.matrix_power(mg.ones(2, 2), 0).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert mg.linalg.matrix_power(mg.ones(2, 2), 7)[0, 0].item() == 64.0
    assert mg.linalg.multi_dot([a, mg.ones(3, 2), mg.ones(2)]).item() == 6.0
    assert mg.linalg.matrix_norm(mg.tensor([[1.0, -2.0], [3.0, 4.0]]), INF).item() == 7.0
    assert mg.cdist(mg.zeros(1, 2), mg.tensor([[3.0, 4.0]]), INF).item() == 4.0


def test_scatter_into_another_dim_and_with_a_reduction() -> None:
    x, index = mg.Var(np.zeros((2, 3))), mg.tensor([[2, 0], [1, 1]])
    src = mg.Var([[1.0, 2.0], [3.0, 4.0]], dtype="float64")
    y = mg.scatter(x, 1, index, src)
    assert y.tolist() == [[2.0, 0.0, 1.0], [0.0, 4.0, 0.0]]
    grads = y.sum().backward()
    assert grads[x].tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]] and grads[src].tolist() == [[1.0, 1.0], [0.0, 1.0]]
    assert mg.scatter(mg.ones(2, 3), 1, index, 3.0, reduce="add").tolist() == [[4.0, 1.0, 4.0], [1.0, 7.0, 1.0]]


def test_functions_that_put_write_in_place_too() -> None:
    x = mg.zeros(3)
    assert x.index_put_((mg.tensor([0, 0]),), mg.tensor([1.0, 2.0]), accumulate=True).tolist() == [3.0, 0.0, 0.0]
    assert x.scatter_(0, mg.tensor([1]), 5.0).index_fill_(0, mg.tensor([2]), 9.0).tolist() == [3.0, 5.0, 9.0]
    mask = mg.tensor([True, False, True])
    assert mg.index_put(x, (mask,), mg.tensor(0.0)).tolist() == [0.0, 5.0, 0.0]


def test_index_fill_names_the_tensor_whose_index_is_wrong() -> None:
    x = mg.ones(3, 2, device="reference")
    for index in (mg.tensor([True]), mg.tensor([1.0])):
        with pytest.raises(DTypeError, match=r"index must have an integer dtype, got .* with float32\(3, 2\)"):
            x.index_fill(0, index.to("reference"), 1.0)
    with pytest.raises(IndexOutOfRange, match=r"index 5 is out of range for dim 0 of size 3 of float32\(3, 2\)"):
        x.index_fill(0, mg.tensor([5], device="reference"), 1.0)
    value = mg.Var(2.0, device="reference")
    y = x.index_fill(1, mg.tensor([-1, 1], device="reference"), value)
    assert y.tolist() == [[1.0, 2.0]] * 3 and y.sum().backward()[value].item() == 3.0


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_takes_indices_of_no_dims(accumulate: bool) -> None:
    x, v = mg.Var([[1.0, 2.0], [3.0, 4.0]], device="reference"), mg.Var(5.0, device="reference")
    one, zero = mg.tensor(1, device="reference"), mg.tensor(0, device="reference")
    y = mg.index_put(x, (one, zero), v, accumulate)
    assert y.tolist() == [[1.0, 2.0], [8.0 if accumulate else 5.0, 4.0]]
    grads = y.sum().backward()
    assert grads[v].item() == 1.0 and grads[x].tolist() == [[1.0, 1.0], [float(accumulate), 1.0]]
    mixed = mg.index_put(x.detach(), (mg.tensor([0, 1], device="reference"), one), v.detach(), accumulate)
    assert mixed.tolist() == [[1.0, 7.0 if accumulate else 5.0], [3.0, 9.0 if accumulate else 5.0]]
    row = mg.index_put(x.detach(), (None, one), mg.tensor([7.0, 8.0], device="reference"), accumulate)
    assert row.tolist() == [[1.0, 9.0 if accumulate else 7.0], [3.0, 12.0 if accumulate else 8.0]]
    # Beside an index of two elements it broadcasts; they are not adjacent, so their dim comes first.
    cube = mg.zeros(2, 2, 2, device="reference")
    both = mg.index_put(cube, (one, None, mg.tensor([0, 1], device="reference")), row.detach(), accumulate)
    assert both[1].tolist() == row.mT.tolist() and both[0].tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("holds", [False, True])
def test_index_put_takes_a_mask_of_no_dims(holds: bool) -> None:
    x = mg.zeros(2, 2, device="reference")
    y = mg.index_put(x, (mg.tensor(holds, device="reference"),), mg.tensor(3.0, device="reference"))
    assert y.tolist() == [[3.0 * holds] * 2] * 2
    x.index_put_((mg.tensor(holds, device="reference"),), mg.tensor(3.0, device="reference"), accumulate=True)
    assert x.tolist() == y.tolist()


def test_neighbours_that_are_equal_count_once() -> None:
    values, inverse, counts = mg.unique_consecutive(mg.tensor([1, 1, 2, 1]), True, True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2, 1], [0, 0, 1, 2], [2, 1, 1])
    assert mg.unique_consecutive(mg.tensor([[1, 2], [1, 2], [3, 2]]), dim=0).tolist() == [[1, 2], [3, 2]]
    assert mg.unique_consecutive(mg.zeros(0)).shape == (0,)


def test_dims_of_one_stretch_in_tensordot() -> None:
    a, b = mg.Var(np.array([[[3.0]]]), device="reference"), mg.Var(np.arange(4.0).reshape(2, 1, 2), device="reference")
    y = mg.tensordot(a, b, ([0, 1], [2, 0]))
    grads = y.sum().backward()
    assert y.tolist() == [[18.0]] and grads[a].tolist() == [[[6.0]]] and grads[b].tolist() == [[[3.0] * 2]] * 2
    with pytest.raises(mg.ShapeError, match="must have equal lengths"):
        mg.tensordot(mg.ones(2, 3, device="reference"), mg.ones(2, 3, device="reference"), 1)
    one, three = (mg.ones(n, dtype="uint8", device="reference") for n in (1, 3))
    assert mg.tensordot(one, three, 1).dtype is mg.tensordot(three, one, 1).dtype is mg.uint8


def test_cat_skips_empty_vectors_among_tensors_of_more_dims() -> None:
    nothing, x = mg.tensor([], device="reference"), mg.Var([[1.0, 2.0]], device="reference")
    y = mg.cat([nothing, x, nothing, x * 2.0], 1)
    assert y.tolist() == [[1.0, 2.0, 2.0, 4.0]] and y.sum().backward()[x].tolist() == [[3.0, 3.0]]
    assert mg.cat([nothing, nothing]).shape == (0,) and mg.cat(
        [mg.tensor([7.0], device="reference"), nothing]
    ).shape == (1,)
    assert mg.cat([mg.tensor([], dtype="float64", device="reference"), x]).dtype is mg.float64
    with pytest.raises(mg.ShapeError, match="cat: operand 0"):
        mg.cat([mg.ones(0, 3, device="reference"), x])
    with pytest.raises(mg.ShapeError):
        mg.cat([mg.tensor([7.0], device="reference"), x])


def test_ends_of_linspace_may_be_tensors_and_a_number_has_powers() -> None:
    end = mg.tensor(3)
    assert mg.linspace(mg.tensor(1.0), end, 3).tolist() == [1.0, 2.0, 3.0]
    assert mg.logspace(0, end, 2, device="reference").tolist() == [1.0, 1000.0]
    assert mg.linalg.vander(mg.tensor(2.0, device="reference"), 3).tolist() == [[1.0, 2.0, 4.0]]
    assert mg.randint(5, (3,), dtype="float64", device="reference").dtype is mg.float64
    assert mg.randint_like(mg.ones(2, 3, device="reference"), 4).shape == (2, 3)


@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_distances_of_many_rows_are_exact_zero_for_equal_ones_and_close_for_others(shift: float) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=(n, 5)).astype(np.float32) + np.float32(shift) for n in (30, 28))
    b[:4] = a[2:6]
    x, y = mg.Var(a), mg.Var(b)
    distance = mg.cdist(x, y)
    exact = np.sqrt(((a[:, None].astype(np.float64) - b) ** 2).sum(-1))
    np.testing.assert_allclose(distance.detach().numpy(), exact, rtol=2e-6)
    assert [distance[k + 2, k].item() for k in range(4)] == [0.0] * 4
    distance.sum().backward()
    unit = (a[:, None].astype(np.float64) - b) / np.where(exact == 0, 1, exact)[..., None]
    np.testing.assert_allclose(x.grad.numpy(), unit.sum(1), atol=2e-5)
    np.testing.assert_allclose(y.grad.numpy(), -unit.sum(0), atol=2e-5)
    np.testing.assert_allclose(mg.pdist(x.detach()).numpy(), mg.pdist(x.detach().double()).numpy(), rtol=2e-6)


@pytest.mark.parametrize("columns", [1, 15, 16, 17])
def test_gradients_of_distances_in_batches_of_odd_counts_of_rows(columns: int) -> None:
    rng = np.random.default_rng(4)
    a, b, g = (rng.normal(size=(3, *shape)) for shape in ((5, columns), (37, columns), (5, 37)))
    differences = a[:, :, None] - b[:, None]
    lengths = np.sqrt((differences**2).sum(-1))
    right = (differences * (g / lengths)[..., None]).sum(2)
    x, y, of_x, of_y = (mg.tensor(each, device="cpu") for each in (g, lengths, a, b))
    np.testing.assert_allclose(row_gradients(x, y, of_x, of_y, order=2).numpy(), right, atol=1e-12)
    first, second = np.triu_indices(37, 1)
    differences = b[0][first] - b[0][second]
    lengths = np.sqrt((differences**2).sum(-1))
    right = np.zeros_like(b[0])
    np.add.at(right, first, differences / lengths[:, None])
    np.add.at(right, second, -differences / lengths[:, None])
    y = mg.tensor(lengths, device="cpu")
    np.testing.assert_allclose(pair_gradients(mg.ones_like(y), y, of_y[0], order=2).numpy(), right, atol=1e-12)


def test_nan_counts_for_nothing_in_sums_and_their_derivatives() -> None:
    x = mg.Var([[1.0, NAN], [NAN, NAN], [2.0, 3.0]], dtype="float64")
    total = mg.nansum(x, 1)
    assert total.tolist() == [1.0, 0.0, 5.0]
    (total * mg.tensor([1.0, 10.0, 100.0], dtype="float64")).sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0], [0.0, 0.0], [100.0, 100.0]]
    _, tangent = mg.func.jvp(lambda v: mg.nansum(v, 1), (x.detach(),), (mg.full((3, 2), 7.0, dtype="float64"),))
    assert tangent.tolist() == [7.0, 0.0, 14.0]
