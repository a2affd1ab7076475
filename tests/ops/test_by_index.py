"""Bags, histograms, label sequences and grids at edges; numbers are those of PyTorch 2.13."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError
from minigrad.testing import gradcheck

pytestmark = pytest.mark.usefixtures("reference")

F = mg.nn.functional
RAMP = mg.arange(12, dtype=mg.float64, device="reference").reshape(1, 1, 3, 4)


def grid(*points: tuple[float, float]) -> Any:
    return mg.tensor([[list(map(list, points))]], dtype=mg.float64)


def test_a_sequence_that_is_too_long_costs_infinity_or_nothing() -> None:
    x = mg.Var(np.log(np.full((2, 1, 3), 1 / 3)))
    twice = mg.tensor([[1, 1]])  # needs a blank in between, so 3 steps
    assert F.ctc_loss(x, twice, (2,), (2,)).item() == math.inf
    loss = F.ctc_loss(x, twice, (2,), (2,), zero_infinity=True)
    assert loss.item() == 0 and mg.grad(loss, x).tolist() == [[[0, 0, 0]], [[0, 0, 0]]]


def test_a_sequence_without_steps_is_empty_for_certain() -> None:
    x = mg.Var(np.log(np.full((2, 2, 3), 1 / 3)))
    for zero_infinity, second in ((False, math.inf), (True, 0)):
        loss = F.ctc_loss(x, mg.tensor([[1], [1]]), (0, 0), (0, 1), reduction="none", zero_infinity=zero_infinity)
        assert loss.tolist() == [0, second] and not mg.grad(loss[0], x).any()


def test_labels_of_all_sequences_may_stand_in_one_row() -> None:
    x = mg.Var(np.log(np.random.default_rng(0).dirichlet(np.ones(4), (5, 2))))
    rows, flat = mg.tensor([[3, 1, 1], [2, 1, 1]]), mg.tensor([3, 1, 1, 2])
    wanted = F.ctc_loss(x, rows, mg.tensor([5, 4]), mg.tensor([3, 1]), reduction="none")
    assert F.ctc_loss(x, flat, [5, 4], [3, 1], reduction="none").tolist() == wanted.tolist()
    one = F.ctc_loss(x[:, 0], rows[0], mg.tensor(5), mg.tensor(3), reduction="none")
    assert one.shape == () and one.item() == pytest.approx(wanted[0].item())
    probability = mg.exp(x.detach())
    assert (-mg.grad(wanted.sum(), x).sum(-1)).tolist() == pytest.approx(np.array([[1, 1]] * 4 + [[1, 0]]))
    assert (probability > 0).all()


def test_bags_without_rows_are_zero_and_the_last_offset_may_be_the_end() -> None:
    w = mg.tensor([[1.0, -1.0], [2.0, -2.0], [4.0, -4.0]])
    rows, offsets = mg.tensor([0, 1, 2]), mg.tensor([0, 2, 2, 3])
    for mode, first in (("sum", [3, -3]), ("mean", [1.5, -1.5]), ("max", [2, -1])):
        y = F.embedding_bag(rows, w, offsets, mode=mode, include_last_offset=True)
        assert y.tolist() == [first, [0, 0], [4, -4]]
    assert F.embedding_bag(rows, w, offsets, mode="sum").tolist() == [[3, -3], [0, 0], [4, -4], [0, 0]]
    for mode in ("sum", "mean", "max"):  # rows behind the end are in no bag
        y = F.embedding_bag(rows, w, mg.tensor([0, 1]), mode=mode, include_last_offset=True)
        assert y.tolist() == [[1, -1]]
        assert F.embedding_bag(rows, w, offsets[:1], mode=mode, include_last_offset=True).shape == (0, 2)
    v = mg.Var(w)
    assert not mg.grad(F.embedding_bag(rows[:0].reshape(2, 0), v, mode="max").sum(), v).any()
    scaled = F.embedding_bag(rows, w, mg.tensor([0, 2]), None, 2.0, False, "sum", False, w[:, 0], True)
    assert scaled.tolist() == [[5, -5]]


def test_of_rows_that_attain_a_largest_element_the_first_has_the_gradient() -> None:
    w = mg.Var([[1.0], [3.0], [3.0]])
    y = F.embedding_bag(mg.tensor([[0, 2, 1]]), w, mode="max")
    assert mg.grad(y.sum(), w).tolist() == [[0], [0], [1]]


def test_bins_of_a_histogram_hold_their_left_edge_and_the_last_one_both() -> None:
    x = mg.tensor([0.0, 0.5, 1.0, 2.0, 2.5, math.nan])
    assert mg.histogram(x, 2, range=(0, 2)).hist.tolist() == [2, 2]
    counts, edges = mg.histogram(x, mg.tensor([0.0, 0.5, 2.5]))
    assert counts.tolist() == [1, 4] and edges.tolist() == [0, 0.5, 2.5]
    assert mg.histogram(mg.zeros(3), 2)[1].tolist() == [-0.5, 0, 0.5] and mg.histogram(x[:0], 1)[1].tolist() == [0, 1]
    weights = mg.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert mg.histogram(x, 2, range=(0, 2), weight=weights, density=True).hist.tolist() == pytest.approx([0.3, 0.7])


@over("name", ["index_select", "index_add", "index_copy"])
def test_an_index_without_dims_is_a_vector_of_one(name: str) -> None:
    x, rows = mg.arange(6.0, dtype=mg.float64).reshape(3, 2), mg.ones(1, 2, dtype=mg.float64)
    more = () if name == "index_select" else (rows,)
    call = getattr(mg, name)
    assert call(x, 0, mg.tensor(1), *more).tolist() == call(x, 0, mg.tensor([1]), *more).tolist()
    assert gradcheck(lambda x: call(x, 0, mg.tensor(-1), *more), mg.Var(x))
    each = mg.vmap(lambda i: call(x, 0, i, *more))(mg.tensor([2, 0]))
    assert each.tolist() == [call(x, 0, mg.tensor([i]), *more).tolist() for i in (2, 0)]


@pytest.mark.parametrize(("padding", "mode", "aligned", "edges"), [
    ("zeros", "bilinear", [0, 5.5, math.nan], [0, 0, math.nan]),
    ("zeros", "bicubic", [-0.03515625, 5.875, math.nan], [0.03515625, -0.5899658203125, math.nan]),
    ("border", "bilinear", [0, 11, 4], [0, 11, 4]),
    ("border", "bicubic", [-0.03515625, 11.375, math.nan], [-0.375, 11.09375, math.nan]),
    ("reflection", "bilinear", [0.75, 9, 4], [0.5, 10, 4]),
    ("reflection", "bicubic", [0.6328125, 9.75, math.nan], [-0.34375, 10.421875, math.nan]),
])  # fmt: skip
def test_positions_beyond_an_image(padding: str, mode: str, aligned: list[float], edges: list[float]) -> None:
    points = grid((-1.5, -1.0), (1.0, 1.5), (math.nan, 0.0))
    for corners, wanted in ((True, aligned), (False, edges)):
        y = F.grid_sample(RAMP, points, mode, padding, corners)
        assert y.reshape(-1).tolist() == pytest.approx(wanted, nan_ok=True)


def test_a_grid_has_no_gradient_where_positions_are_moved_to_the_border() -> None:
    g = mg.Var(grid((-2.0, 0.25), (0.25, 0.25)).numpy())
    dg = mg.grad(F.grid_sample(RAMP, g, padding_mode="border", align_corners=True).sum(), g)
    assert dg.reshape(-1).tolist() == [0, 4, 1.5, 4]


@pytest.mark.parametrize("corners", [True, False])
def test_the_gradient_of_reflected_positions(corners: bool) -> None:
    image, points = RAMP.to("reference"), mg.Var(grid((-1.5, -1.2), (1.3, 1.7), (-0.4, 0.3)).to("reference"))
    assert gradcheck(lambda g: F.grid_sample(image, g, "bicubic", "reflection", corners), [points])


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_a_grid_without_positions_gives_an_image_without_pixels(mode: str) -> None:
    assert F.grid_sample(RAMP, mg.zeros(1, 3, 0, 2, dtype=mg.float64), mode).shape == (1, 1, 3, 0)
    assert F.grid_sample(RAMP[:0], mg.zeros(0, 3, 2, 2, dtype=mg.float64), mode).shape == (0, 1, 3, 2)


def test_the_identity_maps_an_image_to_itself() -> None:
    identity = mg.tensor([[[1.0, 0, 0], [0, 1, 0]]], dtype=mg.float64)
    for corners in (False, True):
        same = F.grid_sample(RAMP, F.affine_grid(identity, RAMP.shape, corners), align_corners=corners)
        assert np.allclose(same.numpy(), RAMP.numpy())
    assert mg.grid_sampler_2d(RAMP, F.affine_grid(identity, RAMP.shape, True), 1, 0, True).tolist() == RAMP.tolist()


def test_unpooling_undoes_pooling() -> None:
    x = mg.tensor(np.random.default_rng(1).permutation(30).reshape(1, 1, 5, 6) + 1.0)
    y, indices = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(y, indices, 2, output_size=(1, 1, 5, 6))
    assert (back == x).sum().item() == 6 and (back != 0).sum().item() == 6
    values, where = F.adaptive_max_pool2d(x, (2, 4), return_indices=True)
    assert x.reshape(-1)[where.reshape(-1)].tolist() == values.reshape(-1).tolist()


def test_a_number_is_divided_by_a_tensor_also_by_the_name_of_python_2() -> None:
    assert mg.tensor([2.0, 4.0]).__rdiv__(1).tolist() == [0.5, 0.25]


def test_an_index_that_names_nothing_may_have_any_shape() -> None:
    x, nothing, none = mg.Var([1.0, 2.0]), mg.zeros(3, 0, dtype=mg.int64), mg.zeros(3, 0)
    assert mg.gather(x, 0, nothing).shape == (3, 0) and mg.grad(mg.gather(x, 0, nothing).sum(), x).tolist() == [0, 0]
    for y in (x.scatter_add(0, nothing, none), x.scatter(0, nothing, none), x.scatter_reduce(0, nothing, none, "amax")):
        assert y.tolist() == [1, 2] and mg.grad(y.sum(), x).tolist() == [1, 1]
    out = mg.zeros(2)
    assert mg.scatter_add(x.detach(), 0, nothing, none, out=out).tolist() == out.tolist() == [1, 2]
    assert mg.gather(mg.tensor(5.0), 0, mg.tensor([0, -1])).tolist() == [5, 5]
    assert mg.gather(x, 0, mg.tensor(1)).item() == 2
    with pytest.raises(ShapeError, match=r"^gather: "):
        mg.gather(x, 0, mg.tensor([[1]]))


@pytest.mark.parametrize(
    ("index", "src", "more", "error", "text"),
    [
        (
            [0],
            [1.0],
            {"reduce": "mean"},
            ArgumentError,
            r"reduce must be None, 'add' or 'multiply', got 'mean'; write sc",
        ),
        (
            [0.5],
            [1.0],
            {},
            DTypeError,
            r"index must have an integer dtype, got float32\(1,\); convert it with \.long\(\)",
        ),
        (
            [0],
            [1],
            {},
            DTypeError,
            r"src must have the dtype of input float32\(3,\), got int64\(1,\); convert it with \.to",
        ),
        (
            [[0]],
            [1.0],
            {},
            ShapeError,
            r"index must have as many dims as input and src, got .* index int64\(1, 1\) and src",
        ),
        (
            [0, 1],
            [1.0],
            {},
            ShapeError,
            r"index must not be longer than src .* index int64\(2,\) and src float32\(1,\); sl",
        ),
    ],
)
def test_each_fault_of_scatter_has_its_error(index: Any, src: Any, more: Any, error: Any, text: str) -> None:
    with mg.no_grad(), pytest.raises(error, match=f"^scatter: {text}"):
        mg.zeros(3, device="reference").scatter(
            0, mg.tensor(index, device="reference"), mg.tensor(src, device="reference"), **more
        )


def test_errors_of_scatter_reduce_name_what_the_caller_gave() -> None:
    for reduce, include in (("mean", True), ("amax", False), ("prod", True)):
        words = r"^scatter_reduce: index 7 is out of range for dim 0 of size 2 of float32\(2,\)"
        with pytest.raises(IndexOutOfRange, match=words):
            mg.scatter_reduce(mg.ones(2), 0, mg.tensor([7]), mg.ones(1), reduce, include_self=include)
    with pytest.raises(DTypeError, match=r"index must have an integer dtype, got float32\(1,\) with float32\(2,\)"):
        mg.scatter_reduce(mg.ones(2), 0, mg.tensor([0.5]), mg.ones(1), "amax")


def test_of_several_index_tensors_the_error_names_the_wrong_one_in_each_call() -> None:
    x = mg.ones(3, 4, 5)
    first, last = mg.tensor([0, 2]), mg.tensor([4, -5])
    for _ in range(2):  # the second call finds the plan of the first
        assert x[first, :, last].shape == (2, 4)
        with pytest.raises(IndexOutOfRange, match=r"^index: index -6 is out of range for dim 2 of size 5"):
            x[first, :, last - 1]
        with pytest.raises(IndexOutOfRange, match=r"^index: index 3 is out of range for dim 0 of size 3"):
            x[first + 1, :, last]


def test_padding_sees_the_elements_that_it_takes_away() -> None:
    x = mg.arange(4.0).reshape(1, 1, 4)
    assert F.pad(x, (-2, 2), "reflect").tolist() == [[[2, 3, 2, 1]]]
    assert F.pad(x, (-4, 5), "replicate").tolist() == [[[3, 3, 3, 3, 3]]]
    assert F.pad(x, (3, -1), "circular").tolist() == [[[0, 1, 2, 0, 1, 2]]]
    with pytest.raises(ShapeError, match="leave at least one element"):
        F.pad(x, (-4, 0), "replicate")


def test_margin_losses_take_a_score_without_dims() -> None:
    one, target = mg.Var(0.5), mg.tensor(0)
    assert F.multi_margin_loss(one, target, reduction="none").shape == ()
    assert F.multi_margin_loss(one.reshape(1), mg.tensor([0]), reduction="none").shape == (1,)
    loss = F.multilabel_margin_loss(one, target)
    assert loss.item() == 0 and mg.grad(loss, one).item() == 0


def test_nothing_is_counted_in_whole_numbers() -> None:
    nothing = mg.zeros(0, dtype=mg.int64)
    assert mg.bincount(nothing, mg.zeros(0), minlength=2).dtype is mg.int64
    assert mg.histc(mg.tensor([0.0, 1.0, 2.0]), 2, 1, 1).tolist() == [1, 2]


def test_functions_take_a_batch() -> None:
    w = mg.randn(2, 4, 3, dtype=mg.float64)
    rows, offsets = mg.tensor([0, 3, 3, 1]), mg.tensor([0, 1])
    points = mg.rand(2, 1, 5, 2, dtype=mg.float64) * 2 - 1
    for fn, *given in (
        (lambda w: F.embedding_bag(rows, w, offsets, mode="max"), w),
        (lambda x: F.ctc_loss(F.log_softmax(x, -1), mg.tensor([[1, 2]]), (4,), (2,)), w.unsqueeze(2)),
        (lambda x: F.adaptive_max_pool1d(x, 2), w), (mg.pdist, w),
        (lambda x, g: F.grid_sample(x[None, None], g[None], align_corners=False), w, points),
    ):  # fmt: skip
        wanted = mg.stack([fn(*each) for each in zip(*given)])
        assert np.allclose(mg.func.vmap(fn)(*given).numpy(), wanted.numpy())


def own(data: Any) -> Any:
    """Return a tensor on the device of these tests, for constants, which are made before the fixture is active."""
    return mg.tensor(data, device="reference")


SCORES, SINES = own([[0.5, -1.0, 2.0], [0.0, 1.0, -0.5]]), own(np.sin(np.arange(24.0)).reshape(4, 2, 3))
LOGS, LABELS = mg.log_softmax(SINES, -1), own([[1, 2], [2, 2]])
ROWS, STARTS = own([0, 2, 2, 1]), own([0, 1, 3])
# Each function with valid integers, and with integers that it must refuse, without a read on the host in between.
CHECKED = [
    (lambda t: F.multi_margin_loss(SCORES, t), own([2, 0]), own([2, -1]), IndexOutOfRange),
    (lambda t: F.multilabel_margin_loss(SCORES, t), own([[0, 2, -1]] * 2), own([[0, -2, -1]] * 2),
     IndexOutOfRange),
    (lambda t: F.embedding_bag(ROWS, SCORES.T, t, include_last_offset=True), STARTS, STARTS.flip(0), ArgumentError),
    (lambda t: F.embedding_bag(ROWS, SCORES.T, t, mode="max"), STARTS, STARTS + 2, ArgumentError),
    (lambda t: F.ctc_loss(LOGS, LABELS, t, (2, 1)), own([4, 3]), own([4, 5]), ShapeError),
    (lambda t: F.ctc_loss(LOGS, t, (4, 4), own([2, 1])), LABELS, LABELS + 1, ArgumentError),
    (lambda w: mg.cov(SCORES, fweights=w), own([1, 2, 1]), None, None),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "valid", "invalid", "error"), CHECKED)
def test_integers_are_checked_in_programs_and_batches(fn: Any, valid: Any, invalid: Any, error: Any) -> None:
    program, wanted = mg.jit(fn), fn(valid)
    assert [program(valid).tolist() for _ in range(3)] == [wanted.tolist()] * 3
    batch = mg.func.vmap(fn)(mg.stack([valid, valid]))
    assert np.allclose(batch.numpy(), wanted.numpy(), equal_nan=True)
    for call in () if invalid is None else (fn, program):
        with pytest.raises(error):
            call(invalid)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_both_forms_of_multi_margin_loss_agree(reduction: str) -> None:
    target, weight = mg.tensor([2, 1]), mg.tensor([1.0, 0.5, 2.0])
    for w in (None, weight):
        x = mg.Var(SCORES)
        y = F.multi_margin_loss(x, target, 2, 1.5, w, reduction=reduction)
        composed = mg.func.vmap(lambda x, w=w: F.multi_margin_loss(x, target, 2, 1.5, w, reduction=reduction))
        assert np.allclose(composed(SCORES[None])[0].numpy(), y.detach().numpy())
        g = mg.arange(1.0, 1 + y.numel()).reshape(y.shape)
        (graph,) = mg.grad(y, (x,), g, create_graph=True)
        (kernel,) = mg.grad(F.multi_margin_loss(x, target, 2, 1.5, w, reduction=reduction), (x,), g)
        assert np.allclose(kernel.numpy(), graph.detach().numpy()) and kernel.any()


def test_a_loss_of_no_rows() -> None:
    nothing, target = mg.zeros(0, 3), mg.zeros(0, dtype=mg.int64)
    assert math.isnan(F.multi_margin_loss(nothing, target).item())
    assert F.multi_margin_loss(nothing, target, reduction="sum").item() == 0


@over(("call", "error", "words"), [
    (lambda: F.ctc_loss(mg.zeros(2, 1, 3), mg.tensor([[3]]), (2,), (1,)), ArgumentError, "targets and blank=0"),
    (lambda: F.ctc_loss(mg.zeros(2, 1, 3), mg.tensor([[1]]), (3,), (1,)), ShapeError, "input_lengths must be .* to 2"),
    (lambda: F.embedding_bag(mg.tensor([0]), mg.zeros(2, 2)), ShapeError, "offsets"),
    (lambda: F.embedding_bag(mg.tensor([0]), mg.zeros(2, 2), mg.tensor([1])), ArgumentError, "start with 0"),
    (lambda: F.embedding_bag(mg.tensor([[5]]), mg.zeros(2, 2)), IndexOutOfRange, "^embedding_bag: in embedding: "),
    (lambda: mg.histogram(mg.zeros(2), 0), ArgumentError, "bins > 0"),
    (lambda: mg.histogram(mg.tensor([1]), 2), DTypeError, "floating dtype"),
    (lambda: mg.put(mg.zeros(3), mg.tensor([1]), mg.zeros(2)), ShapeError, "as many elements"),
    (lambda: mg.put(mg.zeros(3), mg.tensor([3]), mg.zeros(1)), IndexOutOfRange, "3"),
    (lambda: mg.index_reduce(mg.zeros(3), 0, mg.tensor([1]), mg.zeros(1), "sum"), ArgumentError, "'prod'"),
    (lambda: F.max_unpool1d(mg.zeros(1, 2), mg.tensor([[0, 9]]), 2), IndexOutOfRange, "9"),
    (lambda: F.max_unpool1d(mg.zeros(1, 2), mg.tensor([[0, 1]]), 2, output_size=(9,)), ShapeError, "the stride"),
    (lambda: F.grid_sample(RAMP, grid((0.0, 0.0)), "linear"), ArgumentError, "'bilinear'"),
    (lambda: F.grid_sample(RAMP, grid((0.0, 0.0)).float()), DTypeError, "must have the dtype of input float64"),
    (lambda: F.affine_grid(mg.zeros(1, 2, 2), (1, 1, 2, 2)), ShapeError, "theta"),
    (lambda: mg.unravel_index(mg.tensor([1.0]), (2,)), DTypeError, "integer"),
    (lambda: F.ctc_loss(mg.zeros(2, 2, 3), mg.tensor([1, 2]), (2, 2), (2, 1)), ShapeError, r"lengths \[2, 3\]"),
    (lambda: F.multi_margin_loss(mg.zeros(2, 3), mg.tensor([0, 3])), IndexOutOfRange, "class 3 of .* are 0 to 2"),
    (lambda: F.multi_margin_loss(mg.zeros(2, 3), mg.tensor([0, 1]), weight=mg.ones(2)), ShapeError, "weight must have"),
    (lambda: F.multilabel_margin_loss(mg.zeros(3), mg.tensor([0, 3, -1])), IndexOutOfRange, "and -1 is ignored"),
])  # fmt: skip
def test_errors(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("right", [False, True])
def test_places_in_sorted_rows_are_those_of_numpy(right: bool) -> None:
    rng = np.random.default_rng(0)
    sizes = [(300, 100), (0, 3), (1, 9), (17, 8), (700, 7), (3000, 2000)]
    for device, n, m in [*[("cpu", *each) for each in sizes], ("reference", 5, 7), ("reference", 0, 3)]:
        rows, x = np.sort(rng.random((2, n)).astype(np.float32), 1), rng.random((2, m)).astype(np.float32)
        x[:, : min(n, 2)] = rows[:, : min(n, 2)]
        found = mg.searchsorted(mg.tensor(rows, device=device), mg.tensor(x, device=device), right=right)
        wanted = [np.searchsorted(*each, "right" if right else "left") for each in zip(rows, x)]
        assert np.array_equal(found.numpy(), wanted)
    halves = mg.tensor([-1.5, 0.25, 0.5]).half()
    assert mg.searchsorted(halves, halves.flip(0), right=right).tolist() == [2 + right, 1 + right, int(right)]


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_places_of_nan_infinities_and_zeros_are_those_of_numpy(dtype: str, right: bool) -> None:
    x = np.array([np.nan, np.inf, -np.inf, -1.0, 0.0, -0.0] * 3, dtype)
    for row in ([-1.0], [-0.0, 0.0, np.nan], [-1.0, np.inf, np.nan, np.nan], [np.nan, np.nan], [-np.inf, 0.0, np.inf]):
        found = mg.searchsorted(mg.tensor(row, dtype=dtype), mg.tensor(x), right=right)
        assert np.array_equal(found.numpy(), np.searchsorted(np.array(row, dtype), x, "right" if right else "left"))


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_two_index_tensors_are_checked_by_the_read(device: str) -> None:
    x = mg.arange(24.0, device=device).reshape(2, 3, 4)
    i, j = mg.tensor([[2], [-3]], device=device), mg.tensor([0, -1], device=device)
    read = lambda x, i, j: x[:, i, j]
    assert read(x, i, j).tolist() == [[[8, 11], [0, 3]], [[20, 23], [12, 15]]]
    wanted = "index: index {} is out of range for dim {} of size {} of float32"
    for call in (read, mg.jit(read)):
        for rows, columns, words in (
            (i + 1, j, (3, 1, 3)),
            (i - 1, j, (-4, 1, 3)),
            (i, j + 4, (4, 2, 4)),
            (i, j - 4, (-5, 2, 4)),
        ):
            with pytest.raises(IndexOutOfRange, match=wanted.format(*words)):
                call(x, rows, columns)


def test_other_dims_are_read_by_other_ops() -> None:
    x, i, j = own(np.arange(24.0)).reshape(2, 3, 4), own([[2], [-3]]), own([0, -1])
    assert x.transpose(1, 2)[:, j, i].tolist() == x[:, i, j].tolist()  # these dims cannot be merged
    assert x[own([0, 1]), :, j].tolist() == [[0, 4, 8], [15, 19, 23]]


def test_pairs_of_indices_in_batches() -> None:
    x, i, j = own(np.arange(24.0).reshape(2, 3, 4)), own([[0, 2], [1, 1]]), own([[3, 0], [-1, 2]])
    read = mg.func.vmap(lambda x, i, j: x[i, j])(x, i, j)
    assert read.tolist() == [x[k][i[k], j[k]].tolist() for k in range(2)]
    gradient = mg.func.vmap(mg.func.grad(lambda x, i, j: (x[i, j] ** 2).sum()))(x, i, j)
    assert gradient.tolist() == (2 * x * mg.stack([one_at(3, 4, i[k], j[k]) for k in range(2)])).tolist()


def one_at(n: int, m: int, i: Any, j: Any) -> Any:
    """Return a matrix with 1 at pairs of indices, and 0 elsewhere."""
    return F.one_hot(i, n).T.double() @ F.one_hot(j % m, m).double()


def test_ranges_tuples_and_lists_with_slices_are_indices() -> None:
    x = mg.arange(16.0, device="reference").reshape(4, 4)
    a = np.arange(16.0).reshape(4, 4)
    cases = [
        (range(2), [0, 1]), ((range(4), range(4)), (range(4), range(4))),
        (((0, 1), slice(None)), ([0, 1], slice(None))),
        (((0, 1), (2, 3)), ([0, 1], [2, 3])), ([slice(None), [2, 3]], (slice(None), [2, 3])), ([None, 1], (None, 1)),
        ([..., 1], (..., 1)), ([slice(0, 2), 1], (slice(0, 2), 1)), ([[0, 1], [1, 2]], ([[0, 1], [1, 2]],)),
    ]  # fmt: skip
    for index, wanted in cases:
        np.testing.assert_array_equal(x[index].numpy(), a[wanted])
        y, b = x.clone(), a.copy()
        y[index] = -1.0
        b[wanted] = -1.0
        np.testing.assert_array_equal(y.numpy(), b)
    tensors = [mg.tensor([0, 1], device="reference"), mg.tensor([1, 2], device="reference")]
    assert x[tensors].tolist() == x[tuple(tensors)].tolist() == [1.0, 6.0]


def test_an_empty_index_leaves_src_in_the_graph() -> None:
    src, where = (
        mg.zeros(2, 3, device="reference", requires_grad=True),
        mg.zeros(0, 3, dtype="int64", device="reference"),
    )
    y = mg.ones(4, 3, device="reference").scatter(0, where, src)
    y.sum().backward()
    assert y.tolist() == [[1.0] * 3] * 4 and src.grad.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_sums_of_half_precision_are_rounded_once(device: str) -> None:
    n = 600  # 256 + 1 is 256 in bfloat16
    options: Any = {"dtype": "bfloat16", "device": device}
    ones, first = mg.ones(n, **options), mg.zeros(n, dtype="int64", device=device)
    assert mg.zeros(2, **options).index_add(0, first, ones).tolist() == [n, 0.0]
    assert mg.zeros(2, **options).scatter_add(0, first, ones).tolist() == [n, 0.0]


def test_sums_of_half_precision_in_gradients_are_rounded_once() -> None:
    n = 600
    options: Any = {"dtype": "bfloat16", "device": "reference"}
    first = mg.zeros(n, dtype="int64", device="reference")
    assert F.fold(mg.ones(1, 300, 300, **options), (1, 599), (1, 300))[0, 0, 0, 299].item() == 300.0
    sums: list[tuple[Any, Any]] = [
        (lambda x: x[first], (2,)), (lambda x: F.pad(x, (0, n - 1), mode="replicate"), (1, 1, 1)),
        (lambda x: x.as_strided((n,), (0,), 0), (2,)),
    ]  # fmt: skip
    for function, shape in sums:
        x = mg.Var(mg.ones(shape, **options))
        y = function(x)
        assert y.backward(mg.ones_like(y))[x].max().item() == n


def test_a_uint8_index_is_a_mask_and_a_value_may_have_leading_ones() -> None:
    x = mg.arange(6.0, device="reference").reshape(3, 2)
    mask = mg.tensor([1, 0, 1], dtype="uint8", device="reference")
    with pytest.warns(UserWarning, match="a uint8 index is a mask"):
        assert x[mask].tolist() == [[0.0, 1.0], [4.0, 5.0]]
    with pytest.warns(UserWarning, match="a uint8 index is a mask"):
        x[mask] = 7.0
    x[1] = mg.zeros(1, 1, 2, device="reference")
    x[[0, 2], [0, 1]] = mg.ones(1, 1, 2, device="reference")
    assert x.tolist() == [[1.0, 7.0], [0.0, 0.0], [7.0, 1.0]]
    with pytest.raises(ShapeError):
        x[1] = mg.zeros(2, 1, 2, device="reference")
