"""What rows cannot show of views, joins and splits: whose memory it is, what a write does, errors, 0-d and empty."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError, StorageError

pytestmark = pytest.mark.usefixtures("reference")

F = mg.nn.functional


def numbers(*shape: int) -> mg.Tensor:
    return mg.arange(int(np.prod(shape)), dtype="float64").reshape(shape)


VIEWS: dict[str, Callable[[mg.Tensor], mg.Tensor]] = {
    "unflatten": lambda x: x.unflatten(-1, (2, 2)),
    "movedim": lambda x: x.movedim((0, 1), (-1, 0)),
    "swapaxes": lambda x: mg.swapaxes(x, 0, 2),
    "adjoint": lambda x: x.adjoint(),
    "mH": lambda x: x.mH,
    "H": lambda x: x[0].H,
    "ravel": mg.ravel,
    "broadcast_to": lambda x: mg.broadcast_to(x[:1], (1, 3, 4)),
    "atleast_3d": lambda x: mg.atleast_3d(x[0, 0]),
    "fliplr": mg.fliplr,
    "rot90": lambda x: x.rot90(),
    "rot90 by nothing": lambda x: x.rot90(4),
    "meshgrid": lambda x: mg.meshgrid(x[0, 0], indexing="ij")[0],
    "broadcast_tensors": lambda x: mg.broadcast_tensors(x, x[:1])[0],
    "tensor_split": lambda x: x.tensor_split(2)[1],
    "hsplit": lambda x: x.hsplit([1])[1],
    "dsplit": lambda x: x.dsplit(2)[0],
    "unsafe_chunk": lambda x: x.unsafe_chunk(2)[1],
}


def test_ravel_copies_elements_with_gaps() -> None:
    x = mg.arange(6, device="reference")
    y = x[::2].ravel()
    y[0] = 9
    assert y.is_contiguous() and x.tolist() == [0, 1, 2, 3, 4, 5]


@over("name", VIEWS)
def test_a_view_shows_writes_and_makes_them(name: str) -> None:
    x = numbers(2, 3, 4)
    y = VIEWS[name](x)
    before = y.tolist()
    assert y.storage is x.storage
    x += 100.0
    assert y.tolist() == (np.array(before) + 100.0).tolist()
    y[...] = -1.0
    assert int((x == -1.0).sum()) == y.numel()


@over("name", VIEWS)
def test_a_write_into_a_view_is_differentiated(name: str) -> None:
    w = mg.Var(numbers(2, 3, 4) + 1.0)
    x = w * 1.0
    y = VIEWS[name](x)
    y *= 3.0
    (x * x).sum().backward()
    changed = x.detach() / w.detach()
    assert np.allclose(w.grad.numpy(), (2.0 * w.detach() * changed * changed).numpy())


COPIES: dict[str, Callable[[mg.Tensor], mg.Tensor]] = {
    "tile": lambda x: x.tile(1),
    "tile of a number": lambda x: x[0, 0].tile(2),
    "repeat of one": lambda x: x[:1, :1].repeat(1, 3),
    "repeat_interleave": lambda x: x[:1].repeat_interleave(1, 0),
    "diag": lambda x: x.diag(),
    "pad": lambda x: F.pad(x, (0, 0), "replicate"),
    "constant_pad_nd": lambda x: mg.constant_pad_nd(x, (0, 0)),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x[None], 1),
    "channel_shuffle": lambda x: F.channel_shuffle(x[None], 1),
    "unfold": lambda x: F.unfold(x[None], (3, 4)),
    "narrow_copy": lambda x: x.narrow_copy(0, 0, 3),
    "alias_copy": mg.alias_copy,
    "view_copy": lambda x: mg.view_copy(x, (-1,)),
    "squeeze_copy": mg.squeeze_copy,
    "unbind_copy": lambda x: mg.unbind_copy(x)[0],
    "slice_scatter": lambda x: mg.slice_scatter(x, x[:0], 0, 2, 1),
}


@over("name", COPIES)
def test_a_copy_has_memory_of_its_own_even_where_nothing_moves(name: str) -> None:
    x = numbers(3, 4)
    y = COPIES[name](x)
    assert y.storage is not x.storage
    y += 1.0
    assert x.tolist() == numbers(3, 4).tolist()


def test_every_view_has_a_copy_with_its_parameters() -> None:
    x = mg.Var(numbers(2, 3))
    y = mg.permute_copy(x, dims=(1, 0))
    assert y.tolist() == x.T.tolist() and y.is_contiguous()
    assert (y * y).sum().backward()[x].tolist() == (2.0 * x).tolist()
    with mg.debug():
        assert mg.diagonal_copy(x, offset=1).tolist() == [1.0, 5.0]
    with pytest.raises(IndexOutOfRange, match=r"^narrow_copy: in narrow: "):
        mg.narrow_copy(x, 0, 1, 2)


# ---- a number, and nothing ------------------------------------------------------------------------------------------

SCALAR = {
    "squeeze": (lambda x: x.squeeze(0), 5.0),
    "squeeze of a list": (lambda x: x.squeeze((-1,)), 5.0),
    "transpose": (lambda x: x.transpose(0, -1), 5.0),
    "flip": (lambda x: x.flip(0), 5.0),
    "movedim": (lambda x: x.movedim(0, -1), 5.0),
    "unfold": (lambda x: x.unfold(0, 1, 1), [5.0]),
    "unfold of nothing": (lambda x: x.unfold(-1, 0, 2), []),
    "argmax": (lambda x: x.argmax(0), 0),
    "argmin": (lambda x: x.argmin(-1, True), 0),
    "logsumexp": (lambda x: x.logsumexp(0), 5.0),
    "roll": (lambda x: x.roll(3), 5.0),
    "atleast_2d": (mg.atleast_2d, [[5.0]]),
    "diagflat": (lambda x: x.diagflat(1), [[0.0, 5.0], [0.0, 0.0]]),
    "hstack": (lambda x: mg.hstack([x, x]), [5.0, 5.0]),
    "column_stack": (lambda x: mg.column_stack([x, x]), [[5.0, 5.0]]),
    "block_diag": (lambda x: mg.block_diag(x, x), [[5.0, 0.0], [0.0, 5.0]]),
    "repeat_interleave": (lambda x: x.repeat_interleave(2), [5.0, 5.0]),
    "meshgrid": (lambda x: mg.meshgrid(x, x)[1], [[5.0]]),
    "take_along_dim": (lambda x: x.take_along_dim(mg.tensor(0)), [5.0]),
    "tile": (lambda x: x.tile(()), 5.0),
}  # fmt: skip


@over("name", SCALAR)
def test_a_number_is_a_row_of_one(name: str) -> None:
    call, wanted = SCALAR[name]
    x = mg.Var(5.0, dtype="float64")
    y: Any = call(x)
    assert y.tolist() == wanted
    if y.dtype.is_float and y.numel():
        assert y.sum().backward()[x].item() == np.count_nonzero(wanted)


@pytest.mark.parametrize(
    "call", [lambda x: x.roll(0, 0), lambda x: x.roll(2, 1), lambda x: x.roll(6), lambda x: mg.roll(x[0, 0], 1),
             lambda x: mg.diff(x, n=0)],
)  # fmt: skip
def test_elements_that_stay_in_place_are_copied_too(call: Callable[[mg.Tensor], mg.Tensor]) -> None:
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device="reference")
    before = x.tolist()
    call(x).zero_()
    assert x.tolist() == before


@pytest.mark.parametrize("call", [lambda x: x.squeeze(1), lambda x: x.transpose(0, 1), lambda x: x.flip(-2),
                                  lambda x: x.unfold(1, 1, 1), lambda x: x.movedim(0, 1)])  # fmt: skip
def test_a_number_has_no_second_dim(call: Callable[[mg.Tensor], mg.Tensor]) -> None:
    with pytest.raises(IndexOutOfRange, match=r"out of range for float32\(\); valid are -1 to 0"):
        call(mg.tensor(5.0))


@pytest.mark.parametrize("call", [lambda x: x.squeeze(0), lambda x: x.squeeze((-1,)), lambda x: x.squeeze(),
                                  lambda x: x.transpose(0, -1), lambda x: x.transpose(-1, 0),
                                  lambda x: x.flip(0)])  # fmt: skip
def test_a_dim_of_each_number_of_a_batch_is_not_that_of_the_batch(call: Callable[[mg.Tensor], mg.Tensor]) -> None:
    x = mg.tensor([1.0, 2.0, 3.0])
    assert mg.func.vmap(lambda v: call(v) * 2.0)(x).tolist() == [2.0, 4.0, 6.0]
    assert mg.func.vmap(lambda v: call(v))(x[:1]).tolist() == [1.0]


def test_of_nothing_there_is_nothing() -> None:
    x = mg.zeros(0)
    assert [part.shape for part in x.tensor_split(3)] == [(0,)] * 3
    assert mg.meshgrid(x, mg.zeros(2))[0].shape == (0, 2) and mg.cartesian_prod(x, mg.zeros(2)).shape == (0, 2)
    assert mg.combinations(x).shape == (0, 2) and mg.combinations(mg.zeros(2), 0).shape == (0,)
    assert x.diag().shape == (0, 0) and x.diag_embed(1).tolist() == [[0.0]]
    assert x.repeat_interleave(3).shape == mg.zeros(2).repeat_interleave(0).shape == (0,)
    assert F.pad(mg.zeros(0, 2), (1, 1)).shape == (0, 4) and F.pad(x, (1, 1), value=2.0).tolist() == [2.0, 2.0]
    assert F.one_hot(mg.zeros(0, dtype="int64"), 3).shape == (0, 3)
    assert mg.unflatten(mg.zeros(0, 3), 0, (0, 3)).shape == (0, 3, 3) and x.tile(2, 2).shape == (2, 0)
    assert F.pixel_shuffle(mg.zeros(0, 4, 1, 1), 2).shape == (0, 1, 2, 2)


# ---- joins, splits and grids ----------------------------------------------------------------------------------------


def test_indices_of_a_split_are_those_of_slices() -> None:
    x = numbers(5)
    for ends in ([2, 4], [-1], [4, 2], [9], [-9, 1], []):
        wanted = [x.numpy()[a:b].tolist() for a, b in zip([0, *ends], [*ends, None])]
        assert [part.tolist() for part in x.tensor_split(ends)] == wanted
        assert [part.tolist() for part in x.tensor_split(mg.tensor(ends, dtype="int64"))] == wanted
    assert [part.numel() for part in x.tensor_split(mg.tensor(3))] == [2, 2, 1]


def test_atleast_takes_one_tensor_or_several() -> None:
    one, several = mg.atleast_1d(mg.tensor(1.0)), mg.atleast_1d([mg.tensor(1.0), mg.ones(2, 2)])
    assert one.shape == (1,) and [x.shape for x in several] == [(1,), (2, 2)]


def test_shapes_that_stretch_over_each_other() -> None:
    assert mg.broadcast_shapes((2, 1), 3, ()) == (2, 3) and mg.broadcast_shapes() == ()
    with pytest.raises(ShapeError, match=r"^broadcast_shapes: shapes \(2,\) and \(3,\) do not broadcast"):
        mg.broadcast_shapes(2, 3)
    x = numbers(2, 3)
    assert x.sum_to_size(1, 3).tolist() == [[3.0, 5.0, 7.0]] and x.sum_to_size((2, 1)).shape == (2, 1)


def test_positions_of_triangles() -> None:
    assert mg.tril_indices(2, 3).tolist() == [[0, 1, 1], [0, 0, 1]]
    assert mg.triu_indices(2, 3, 1, dtype="int32").tolist() == [[0, 0, 1], [1, 2, 2]]
    x = numbers(3, 3)
    assert x[tuple(mg.tril_indices(3, 3, -1).unbind())].tolist() == [3.0, 6.0, 7.0]


def test_the_names_of_other_libraries_are_there() -> None:
    x = numbers(2, 3)
    assert mg.row_stack is mg.vstack and mg.moveaxis(x, 0, 1).tolist() == mg.swapdims(x, 0, 1).tolist() == x.T.tolist()
    assert mg.numel(x) == 6 and x.narrow(1, mg.tensor(1), 2).tolist() == [[1.0, 2.0], [4.0, 5.0]]


def test_joins_promote_and_pass_gradients() -> None:
    a, b = mg.Var([1.0, 2.0], dtype="float64"), mg.tensor([3], dtype="int32")
    y = mg.hstack([a, b, a])
    assert y.dtype is mg.float64 and y.tolist() == [1.0, 2.0, 3.0, 1.0, 2.0]
    assert (y * y).sum().backward()[a].tolist() == [4.0, 8.0]


# ---- padding, windows and classes -----------------------------------------------------------------------------------


def test_a_circle_closes_over_what_is_left() -> None:
    x = numbers(1, 4)
    assert F.pad(x, (-1, 2), "circular").tolist() == [[1.0, 2.0, 3.0, 1.0, 2.0]]
    assert F.pad(x, (-1, 2), "reflect").tolist() == [[1.0, 2.0, 3.0, 2.0, 1.0]]
    assert F.pad(x, (2, -2), "circular").tolist() == [[0.0, 1.0, 0.0, 1.0]]
    for counts in ((-4, 0), (-5, 1), (-2, -2)):
        assert F.pad(x, counts, "circular").shape == (1, 0)
    for counts in ((2, -5), (1, -4), (-4, 4)):  # nothing is left that could be repeated
        with pytest.raises(ShapeError, match="the counts for dim 1"):
            F.pad(x, counts, "circular")


WORDS = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.mark.parametrize("mode", WORDS)
def test_a_surrounded_volume_has_the_elements_of_numpy_on_every_device(mode: str) -> None:
    values = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
    wanted = np.pad(values, ((0, 0), (2, 1), (0, 3), (1, 4)), mode=WORDS[mode])
    g = np.arange(wanted.size, dtype=np.float32).reshape(wanted.shape)
    places = np.pad(np.arange(values.size).reshape(values.shape), ((0, 0), (2, 1), (0, 3), (1, 4)), mode=WORDS[mode])
    back = np.bincount(places.reshape(-1), g.reshape(-1)).reshape(values.shape)
    for device in ("cpu", "reference") if mode == "replicate" else ("reference",):  # reflect has the test below
        x = mg.tensor(values, device=device)
        lying = [x, x.transpose(1, 3).contiguous().transpose(1, 3), x.flip(3).contiguous().flip(3)]
        for each in lying:
            v = mg.Var(each)
            y = F.pad(v, (1, 4, 0, 3, 2, 1), mode)
            assert y.tolist() == F.pad(each, (1, 4, 0, 3, 2, 1), mode).tolist() == wanted.tolist()
            y.backward(mg.tensor(g, device=device))
            assert v.grad.tolist() == back.tolist()


def test_many_planes_are_surrounded_alike_by_one_task_and_several() -> None:
    x = mg.randn(40, 20, 30, device="cpu")
    found = []
    for threshold in (0, 1 << 40):
        with mg.override(parallel_threshold=threshold):
            v = mg.Var(x)
            y = F.pad(v, (2, 3, 1, 0), "reflect")
            (y * y).sum().backward()
            found.append((y.detach().numpy().tobytes(), v.grad.numpy().tobytes()))
    assert found[0] == found[1]


def test_four_dims_are_surrounded_by_copies_of_strips() -> None:
    values = np.arange(32.0, dtype=np.float32).reshape(1, 2, 2, 2, 2, 2)
    wanted = np.pad(values, ((0, 0), (0, 0), *[(1, 1)] * 4), mode="reflect")
    assert F.pad(mg.tensor(values, device="cpu"), (1,) * 8, "reflect").tolist() == wanted.tolist()


def test_folding_what_was_unfolded_counts_the_windows_of_each_pixel() -> None:
    x = mg.Var(numbers(1, 2, 4, 5))
    args = ((2, 3), (1, 2), (1, 0), (2, 1))
    y = F.fold(F.unfold(x, *args), (4, 5), *args)
    count = F.fold(F.unfold(mg.ones_like(x), *args), (4, 5), *args)
    assert np.allclose(y.detach().numpy(), (x.detach() * count).numpy())
    assert y.sum().backward()[x].tolist() == count.tolist()
    assert mg.testing.gradcheck(lambda v: F.fold(v, (3, 3), 2, stride=1), mg.Var(numbers(4, 4)))


def test_classes_are_counted_and_checked() -> None:
    index = mg.tensor([2, 0])
    assert F.one_hot(index).tolist() == [[0, 0, 1], [1, 0, 0]] and F.one_hot(index, 4).shape == (2, 4)
    assert mg.func.vmap(lambda i: F.one_hot(i, 3))(index).tolist() == F.one_hot(index).tolist()


def test_each_part_of_a_scatter_has_its_gradient() -> None:
    x, src = mg.Var(numbers(3, 4)), mg.Var(-numbers(2, 2))
    y = mg.as_strided_scatter(x, src, (2, 2), (4, 1), 5)
    weights = numbers(3, 4)
    grads = (y * weights).sum().backward()
    inside = np.zeros((3, 4), bool)
    inside[1:, 1:3] = True
    assert grads[x].tolist() == np.where(inside, 0, weights.numpy()).tolist()
    assert grads[src].tolist() == weights[1:, 1:3].tolist()
    both = mg.func.vmap(lambda v, s: mg.select_scatter(v, s, 0, 1))(mg.zeros(2, 3, 4), mg.ones(2, 4))
    assert both.sum(1).tolist() == [[1.0] * 4] * 2


X = {"x": (2, 3), "row": (3,), "cube": (2, 3, 4), "image": (1, 3, 4, 4), "number": ()}
ERRORS = [
    (lambda o: o["x"].unflatten(1, (2, 2)), ShapeError, r"^unflatten: cannot unflatten \(3,\) of 3 elements to"),
    (lambda o: o["x"].unflatten(1, ()), ShapeError, r"^unflatten: sizes must have at least one size"),
    (lambda o: o["x"].movedim((0, 1), 0), ArgumentError, r"^movedim: .* one position per dim"),
    (lambda o: o["x"].movedim((0, -2), (0, 1)), ShapeError, r"^movedim: dim 0 is named twice"),
    (lambda o: o["row"].fliplr(), ShapeError, r"^fliplr: input must have at least 2 dims, got float32\(3,\)"),
    (lambda o: o["row"].adjoint(), ShapeError, r"^adjoint: input must have at least 2 dims"),
    (lambda o: o["cube"].H, ShapeError, r"^H: expected a matrix, got float32\(2, 3, 4\)"),
    (lambda o: o["x"].rot90(1, (0, 0)), ShapeError, r"^rot90: dim 0 is named twice"),
    (lambda o: o["x"].rot90(1, (0,)), ArgumentError, r"^rot90: dims must be two dims"),
    (lambda o: o["x"].hsplit(2), ShapeError, r"^hsplit: the length of dim 1 of float32\(2, 3\) must be a multiple"),
    (lambda o: o["x"].tensor_split(0), ArgumentError, r"^tensor_split: .* must be positive, got 0"),
    (lambda o: o["x"].dsplit(1), ShapeError, r"^dsplit: input must have at least 3 dims"),
    (lambda o: mg.block_diag(o["cube"]), ShapeError, r"^block_diag: each tensor must have at most 2 dims"),
    (lambda o: mg.hstack([o["x"], o["row"]]), ShapeError, r"^hstack: in cat: "),
    (lambda o: mg.meshgrid(o["x"]), ShapeError, r"^meshgrid: each tensor must have 0 or 1 dims"),
    (lambda o: mg.meshgrid(o["row"], indexing="yx"), ArgumentError, r"^meshgrid: indexing must be 'ij', .* got 'yx'"),
    (lambda o: mg.cartesian_prod(o["x"]), ShapeError, r"^cartesian_prod: each tensor must have 1 dim"),
    (lambda o: mg.combinations(o["x"]), ShapeError, r"^combinations: input must have 1 dim"),
    (lambda o: o["cube"].diag(), ShapeError, r"^diag: input must have 1 or 2 dims"),
    (lambda o: o["row"].trace(), ShapeError, r"^trace: input must have 2 dims"),
    (lambda o: o["number"].diag_embed(), ShapeError, r"^diag_embed: input must have at least 1 dim"),
    (lambda o: o["x"].select_scatter(o["x"], 0, 0), ShapeError, r"^select_scatter: .* shape \(3,\)"),
    (lambda o: o["x"].slice_scatter(o["x"], 0, 0, 1), ShapeError, r"^slice_scatter: .* shape \(1, 3\)"),
    (lambda o: mg.as_strided_scatter(o["x"], o["row"], 3, 1, 4), StorageError, r"stay inside float32\(2, 3\)"),
    (lambda o: mg.as_strided_scatter(o["x"], o["row"], 3, 0), StorageError, r"select each element at most once"),
    (lambda o: o["x"].take_along_dim(mg.tensor([0]), 1), ShapeError, r"^take_along_dim: .* same number of dims"),
    (lambda o: o["x"].repeat_interleave(mg.tensor([1, 2]), 1), ArgumentError, r"1 or 3 counts .* got \[1, 2\]"),
    (lambda o: o["x"].repeat_interleave(-1), ArgumentError, r"^repeat_interleave: .* got -1"),
    (lambda o: o["x"].repeat_interleave(mg.tensor([1.0])), DTypeError, "repeats must have an integer dtype"),
    (lambda o: o["x"].repeat_interleave(2, output_size=3), ArgumentError, "must be 12, the sum of repeats, got 3"),
    (lambda o: F.pad(o["x"], (1,)), ArgumentError, r"^pad: in constant_pad_nd: pad \(1,\)|two counts per dim"),
    (lambda o: F.pad(o["x"], (-4, 0)), ShapeError, r"must not remove more elements than dim 1"),
    (lambda o: F.pad(o["x"], (3, 0), "reflect"), ShapeError, r"^pad: .*'reflect', .* at most 2 .*, got \(3, 0\)"),
    (lambda o: F.pad(o["x"], (1, 1), "mirror"), ArgumentError, r"^pad: mode must be one of .*, got 'mirror'"),
    (lambda o: F.pad(o["x"], (1, 1), "reflect", 2.0), ArgumentError, r"^pad: value must be None or 0 .* got 2.0"),
    (lambda o: F.pad(o["x"], (1, 1, 1, 1), "reflect"), ShapeError, r"^pad: .*mode='reflect' .* 3 or 4 dims"),
    (lambda o: F.pixel_shuffle(o["image"], 2), ShapeError, r"^pixel_shuffle: the number of .* upscale_factor\*\*2=4"),
    (lambda o: F.pixel_unshuffle(o["image"], 3), ShapeError, r"^pixel_unshuffle: the height .* multiple of"),
    (lambda o: F.channel_shuffle(o["image"], 2), ShapeError, r"^channel_shuffle: the number of channels"),
    (lambda o: F.unfold(o["image"], 5), ShapeError, r"cover \(5, 5\) pixels, .* has \(4, 4\)"),
    (lambda o: F.unfold(o["image"], 0), ArgumentError, "must be an int of at least 1, or 2"),
    (lambda o: F.fold(o["x"], 3, 2), ShapeError, r"the shape \(N, C\*4, 4\), or .*, got float32\(2, 3\)"),
    (lambda o: F.one_hot(o["x"]), DTypeError, r"^one_hot: tensor must have an integer dtype"),
    (lambda o: F.one_hot(mg.tensor([3]), 3), IndexOutOfRange, r"^one_hot: class 3 of .* out of range; .* 0 to 2"),
    (lambda o: F.one_hot(mg.tensor([-1])), IndexOutOfRange, r"^one_hot: class -1 of int64\(1,\) is out of range"),
    (lambda o: F.one_hot(mg.tensor([1]), 0), ArgumentError, r"^one_hot: num_classes must be positive.* got 0"),
    (lambda o: mg.hstack([]), ArgumentError, r"^hstack: expected a list of at least one tensor"),
]  # fmt: skip


@over("k", range(len(ERRORS)))
def test_an_error_says_what_is_wrong(k: int) -> None:
    call, error, match = ERRORS[k]
    with pytest.raises(error, match=match):
        call({name: mg.zeros(shape) for name, shape in X.items()})


@over("source, to", [*itertools.product([0, -1, (0, 1), (2, 0)], repeat=2)])
def test_dims_go_where_numpy_moves_them(source: Any, to: Any) -> None:
    if np.size(source) == np.size(to):
        x = numbers(2, 3, 4)
        assert x.movedim(source, to).tolist() == np.moveaxis(x.numpy(), source, to).tolist()


def test_vectors_of_one_length_are_joined_without_views() -> None:
    xs = [mg.Var([1.0, 2.0]), mg.Var([3.0, 4.0])]
    for join, right in ((mg.vstack, [[1.0, 2.0], [3.0, 4.0]]), (mg.column_stack, [[1.0, 3.0], [2.0, 4.0]])):
        y = join(xs)
        assert y.op.op.name == "stack" and y.tolist() == right
        grads = y.backward(y.detach() * 2.0)
        assert [grads[x].tolist() for x in xs] == [[2.0, 4.0], [6.0, 8.0]]
        assert join([xs[0], mg.ones(2, 2)] if join is mg.column_stack else [xs[0], mg.ones(1, 2)]).op.op.name == "cat"
