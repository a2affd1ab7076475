"""The layout arithmetic against NumPy's own views of an arange, whose values are the element offsets."""

import copy
import gc
import pickle
import random
import threading

import numpy as np
import pytest
from cases import over

from minigrad.core.layout import Layout, MultipleBlocks, SingleBlock, UniformBlocks, merge
from minigrad.errors import ArgumentError, IndexOutOfRange, ShapeError

ROOM = 20_000
MIDDLE = ROOM // 2
RAMP = np.arange(ROOM)


def seen(layout):
    """The NumPy view with the layout's numbers."""
    bytes_ = RAMP.itemsize
    return np.lib.stride_tricks.as_strided(
        RAMP[layout.offset :], layout.shape, tuple(stride * bytes_ for stride in layout.strides)
    )


def assert_same(layout, view):
    assert layout.shape == view.shape
    assert list(layout.offsets()) == view.ravel().tolist()
    assert layout.numel == view.size and layout.ndim == view.ndim


def random_layout(rng):
    ndim = rng.randrange(5)
    shape = tuple(rng.choice((0, 1, 1, 2, 3, 4, 5)) if rng.random() < 0.9 else 1 for _ in range(ndim))
    if rng.random() < 0.5:
        layout = Layout.contiguous(shape, MIDDLE)
        return layout.permute(rng.sample(range(ndim), ndim))
    return Layout.make(shape, tuple(rng.randint(-30, 30) for _ in range(ndim)), MIDDLE)


def random_view(rng, layout, view):
    """One random view op on both sides."""
    ndim = layout.ndim
    op = rng.choice(("narrow", "select", "slice", "transpose", "permute", "squeeze", "unsqueeze", "expand", "flip",
                     "diagonal", "unfold"))  # fmt: skip
    if op == "unsqueeze":
        dim = rng.randrange(ndim + 1)
        return layout.unsqueeze(dim), np.expand_dims(view, dim)
    if op == "expand" and layout.numel < 500:
        shape = (2, *(3 if size == 1 else size for size in layout.shape))
        return layout.expand(shape), np.broadcast_to(view, shape)
    if op == "squeeze" or ndim == 0:
        return layout.squeeze(), view.squeeze()
    dim = rng.randrange(ndim)
    size = layout.shape[dim]
    before = (slice(None),) * dim
    if op == "narrow":
        start = rng.randint(0, size)
        length = rng.randint(0, size - start)
        return layout.narrow(dim - ndim, start, length), view[(*before, slice(start, start + length))]
    if op == "select" and size:
        index = rng.randrange(-size, size)
        return layout.select(dim, index), view[(*before, index)]
    if op == "slice":
        bounds = [rng.choice((None, rng.randint(-9, 9))) for _ in range(2)] + [rng.choice((None, -3, -2, -1, 1, 2, 3))]
        return layout.slice(dim, *bounds), view[(*before, slice(*bounds))]
    if op == "transpose":
        other = rng.randrange(ndim)
        return layout.transpose(dim, other), view.swapaxes(dim, other)
    if op == "permute":
        order = rng.sample(range(ndim), ndim)
        return layout.permute(order), view.transpose(order)
    if op == "flip":
        return layout.flip(dim), np.flip(view, dim)
    if op == "diagonal" and ndim > 1:
        other = (dim + 1) % ndim
        offset = rng.randint(-3, 3)
        return layout.diagonal(offset, dim, other), view.diagonal(offset, dim, other)
    if op == "unfold" and size:
        window, step = rng.randint(1, size), rng.randint(1, 3)
        windows = np.lib.stride_tricks.sliding_window_view(view, window, axis=dim)
        return layout.unfold(dim, window, step), windows[(*before, slice(None, None, step))]
    return layout, view


@over("seed", range(300))
def test_chains_of_views_agree_with_numpy(seed):
    rng = random.Random(seed)
    layout = random_layout(rng)
    view = seen(layout)
    for _ in range(5):
        assert_same(layout, view)
        layout, view = random_view(rng, layout, view)
    assert_same(layout, view)


@over("seed", range(300))
def test_facts_about_random_layouts_agree_with_their_offsets(seed):
    rng = random.Random(seed)
    layout = random_layout(rng)
    offsets = list(layout.offsets())
    run = list(range(layout.offset, layout.offset + layout.numel))
    assert layout.is_contiguous == (offsets == run)
    assert layout.is_fortran_contiguous() == (list(layout.permute(range(layout.ndim)[::-1]).offsets()) == run)
    assert layout.span() == ((min(offsets), max(offsets) + 1) if offsets else (layout.offset, layout.offset))
    if len(set(offsets)) < len(offsets):
        assert layout.may_overlap_itself()
    if layout.is_contiguous or layout.is_fortran_contiguous():
        assert not layout.may_overlap_itself()


@over("seed", range(300))
def test_strided_blocks_and_merged_dims_give_the_elements_in_order(seed):
    layout = random_layout(random.Random(seed))
    blocks = layout.strided_blocks()
    if isinstance(blocks, SingleBlock):
        starts, length = [blocks.start], blocks.len
    elif isinstance(blocks, UniformBlocks):
        starts, length = [blocks.start + i * blocks.src_stride for i in range(blocks.count)], blocks.block_len
    else:
        starts, length = list(blocks), blocks.block_len
    assert [start + i for start in starts for i in range(length)] == list(layout.offsets())
    dims, (strides,) = merge([layout])
    assert list(Layout.make(dims, strides, layout.offset).offsets()) == list(layout.offsets())


def factorings(rng, n):
    shape = []
    while n > 1:
        factor = rng.choice([f for f in range(2, n + 1) if n % f == 0])
        shape.append(factor)
        n //= factor
    for _ in range(rng.randrange(3)):
        shape.insert(rng.randint(0, len(shape)), 1)
    return tuple(shape)


@over("seed", range(300))
def test_reshape_is_a_view_exactly_where_strides_exist(seed):
    rng = random.Random(seed)
    layout = random_layout(rng)
    if not layout.numel:
        return
    target = factorings(rng, layout.numel)
    found = layout.reshape(target)
    wanted = np.array(list(layout.offsets())).reshape(target)
    if found is not None:
        assert_same(found, wanted)
        return
    # No view may exist: then the offsets along some dim of the target are not evenly spaced.
    spaced = [np.diff(wanted, axis=dim) for dim in range(wanted.ndim)]
    assert any(step.size and (step != step.flat[0]).any() for step in spaced)


def test_layouts_are_interned_immutable_and_die_with_their_users():
    layout = Layout.make((7, 5), (91, 3), 11)
    assert Layout.make((7, 5), (91, 3), 11) is layout
    assert copy.deepcopy(layout) is copy.copy(layout) is pickle.loads(pickle.dumps(layout)) is layout
    with pytest.raises(AttributeError, match="cannot be changed"):
        layout.offset = 3
    assert repr(layout) == "Layout(shape=(7, 5), strides=(91, 3), offset=11)"
    from minigrad.core import layout as module

    gc.disable()
    try:
        assert ((7, 5), (91, 3), 11) in module._interned
        del layout
        assert ((7, 5), (91, 3), 11) not in module._interned
    finally:
        gc.enable()


def test_threads_that_make_the_same_layout_at_once_get_one_object():
    for round_ in range(50):
        barrier, made = threading.Barrier(4), []

        def work(round_=round_, barrier=barrier, made=made):
            barrier.wait()
            made.append(Layout.make((3, 3), (round_ + 100, 7), 5))

        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert len(set(map(id, made))) == 1


def test_row_major_strides_of_2_3_4_are_12_4_1():
    assert Layout.contiguous((2, 3, 4)).strides == (12, 4, 1)
    assert Layout.contiguous((2, 3, 4), 5).offset == 5 and Layout.contiguous((2, 3, 4), 5).is_contiguous
    assert Layout.contiguous(()).numel == 1 and Layout.contiguous((0, 3)).is_contiguous


def test_contiguity_ignores_dims_of_size_1():
    assert Layout.make((1, 3), (99, 1)).is_contiguous
    assert Layout.make((3, 1), (1, 99)).is_contiguous
    assert not Layout.make((3, 4), (6, 1)).is_contiguous


def test_a_range_of_dims_may_be_contiguous_in_itself():
    layout = Layout.contiguous((2, 3, 4)).narrow(1, 0, 2)
    assert layout.is_contiguous_range(1, 2) and not layout.is_contiguous_range(0, 1)
    assert Layout.contiguous((2, 3, 4)).transpose(0, 1).is_contiguous_range(-1, -1)


def test_narrowing_3x6_to_3x4_keeps_the_strides():
    layout = Layout.contiguous((3, 6)).narrow(1, 0, 4)
    assert (layout.shape, layout.strides, layout.is_contiguous) == ((3, 4), (6, 1), False)
    assert list(layout.offsets()) == [0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15]


def test_narrow_of_the_full_range_is_the_layout_itself():
    layout = Layout.contiguous((3, 4))
    assert layout.narrow(0, 0, 3) is layout and layout.slice(1) is layout and layout.reshape((3, 4)) is layout
    assert layout.narrow(0, 3, 0).shape == (0, 4)


def test_merge_drops_ones_and_joins_what_all_operands_walk_as_one():
    full = Layout.contiguous((32, 630, 12, 32))
    row = Layout.contiguous((32, 1, 1, 32)).expand(full.shape)
    assert merge([full, row]) == ((32, 7560, 32), ((241920, 32, 1), (32, 0, 1)))
    assert merge([Layout.contiguous((3, 3, 4, 3)).narrow(2, 0, 3)]) == ((9, 9), ((12, 1),))
    assert merge([Layout.make((2, 3, 4), (24, 4, 1))]) == ((2, 12), ((24, 1),))
    assert merge([Layout.make((3, 4), (1, 3))]) == ((3, 4), ((1, 3),))
    assert merge([Layout.make((2, 3, 4), (0, 0, 0))]) == ((24,), ((0,),))
    assert merge([Layout.make((2, 3), (4, 1), 10)]) == ((2, 3), ((4, 1),))
    assert merge([Layout.contiguous((1, 6, 1)), Layout.make((1, 6, 1), (5, 2, 9))]) == ((6,), ((1,), (2,)))
    assert merge([Layout.contiguous(()), Layout.contiguous((), 3)]) == ((), ((), ()))
    assert merge([Layout.contiguous((2, 0, 3))]) == ((0,), ((0,),))


def test_strided_blocks_are_the_runs_of_memory():
    whole = Layout.contiguous((2, 3, 4))
    assert whole.strided_blocks() == SingleBlock(0, 24)
    assert Layout.contiguous((26,)).slice(0, 2).view((2, 3, 4)).strided_blocks() == SingleBlock(2, 24)
    assert whole.select(0, 1).strided_blocks() == SingleBlock(12, 12)
    assert whole.select(1, 1).strided_blocks() == UniformBlocks(start=4, block_len=4, count=2, src_stride=12)
    blocks = whole.transpose(1, 2).strided_blocks()
    assert isinstance(blocks, MultipleBlocks) and blocks.block_len == 1
    assert list(blocks)[:15] == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11, 12, 16, 20]
    blocks = whole.transpose(0, 1).strided_blocks()
    assert blocks.block_len == 4 and list(blocks) == [0, 12, 4, 16, 8, 20]
    assert Layout.contiguous(()).strided_blocks() == SingleBlock(0, 1)
    assert Layout.contiguous((0, 3), 7).strided_blocks() == SingleBlock(7, 0)


def test_reshape_of_a_transposed_layout_needs_a_copy():
    layout = Layout.contiguous((2, 3)).transpose(0, 1)
    assert layout.reshape(6) is None
    assert layout.reshape((3, 2, 1)).strides[:2] == (1, 3)
    assert layout.flatten() is None
    assert Layout.contiguous((2, 3, 4)).narrow(1, 0, 2).flatten(1).shape == (2, 8)
    assert Layout.contiguous(()).flatten().shape == (1,)


def test_one_open_size_is_inferred():
    layout = Layout.contiguous((2, 3, 4))
    assert layout.reshape((-1, 4)).shape == layout.view((6, ())).shape == (6, 4)
    assert layout.reshape(-1).shape == (24,)


def test_expand_gives_new_dims_of_size_1_the_strides_of_unsqueeze():
    layout = Layout.contiguous((5,))
    assert layout.expand((1, 1, 5)) is layout.unsqueeze(0).unsqueeze(0)
    assert layout.expand((2, 1, 5)).strides == (0, 5, 1)


def test_expand_repeats_with_stride_0():
    layout = Layout.contiguous((3, 1)).expand((2, -1, 4))
    assert (layout.shape, layout.strides, layout.is_broadcast) == ((2, 3, 4), (0, 1, 0), True)
    assert not Layout.contiguous((3, 1)).is_broadcast and layout.may_overlap_itself()


def test_an_empty_layout_repeats_nothing():
    # Its strides may be 0, and it may be written nevertheless.
    layout = Layout.contiguous((1, 1, 0)).expand((2, 3, 0))
    assert layout.strides == (0, 0, 1) and not layout.is_broadcast
    assert list(Layout.contiguous((0, 2**40)).offsets()) == []


def test_overlapping_windows_are_seen_and_disjoint_ones_are_not():
    assert Layout.contiguous((6,)).unfold(0, 3, 1).may_overlap_itself()
    assert not Layout.contiguous((6,)).unfold(0, 3, 3).may_overlap_itself()
    assert not Layout.contiguous((4, 6)).flip().may_overlap_itself()


def test_as_strided_takes_any_numbers_and_fits_says_whether_they_are_in_bounds():
    layout = Layout.contiguous((2, 3), 1).as_strided((2, 2), (3, 1))
    assert layout.offset == 1 and layout.fits(6) and not layout.fits(5)
    assert not layout.as_strided((3,), (-1,), 1).fits(10) and layout.as_strided((3,), (-1,), 2).fits(3)
    assert layout.as_strided((0,), (1,), 99).fits(0)


def test_unsqueeze_counts_dims_of_the_result_and_squeeze_skips_other_sizes():
    layout = Layout.contiguous((2, 3))
    assert layout.unsqueeze(-1).shape == (2, 3, 1) and layout.unsqueeze(0).shape == (1, 2, 3)
    assert layout.squeeze(0) is layout
    assert Layout.contiguous((1, 2, 1)).squeeze((0, 1)).shape == (2, 1)


L = Layout.contiguous((3, 4))
MISTAKES = [
    (lambda: L.select(0, 5), IndexOutOfRange,
     "select: index 5 is out of range for dim 0 of size 3 in shape (3, 4); valid are -3 to 2"),
    (lambda: Layout.contiguous((0,)).select(0, 0), IndexOutOfRange,
     "select: index 0 is out of range for dim 0 of size 0 in shape (0,); it has no entries"),
    (lambda: L.narrow(1, 2, 3), IndexOutOfRange,
     "narrow: start >= -4, length >= 0 and start + length <= 4 must hold for dim 1 of size 4 in shape (3, 4), got "
     "start=2 and length=3; reduce start or length"),
    (lambda: L.narrow(2, 0, 1), IndexOutOfRange, "narrow: dim 2 is out of range for shape (3, 4); valid are -2 to 1"),
    (lambda: L.slice(0, step=0), ArgumentError,
     "slice: step must not be 0, got 0 for dim 0 of (3, 4); pass step=1, for example"),
    (lambda: L.narrow(0, 0.5, 1), ArgumentError, "narrow: start must be an int, got 0.5; convert it with int()"),
    (lambda: L.diagonal(0, 1, -1), ShapeError,
     "diagonal: dim1 and dim2 must be different dims of shape (3, 4), got 1 and -1; pass dim1=0, dim2=1, for example"),
    (lambda: L.unfold(0, 4, 1), ShapeError,
     "unfold: size must be from 0 to 3, the size of dim 0 in shape (3, 4), and step at least 1, got size=4 and step=1; "
     "pass a smaller size or step=1"),
    (lambda: L.as_strided((2,), (1, 1)), ShapeError,
     "as_strided: size and stride must have the same length, got size (2,) with 1 dims and stride (1, 1) with 2; "
     "pass one stride per dim"),
    (lambda: L.permute((0, 0)), ShapeError,
     "permute: dims (0, 0) must name each of the 2 dims of shape (3, 4) once; pass an order such as (1, 0)"),
    (lambda: Layout.contiguous((2, 3)).reshape((4, 2)), ShapeError,
     "reshape: cannot reshape (2, 3) of 6 elements to (4, 2); pass sizes whose product is 6"),
    (lambda: L.transpose(0, 1).view(12), ShapeError,
     "view: shape (4, 3) with strides (1, 4) cannot be seen as (12,) without a copy; use reshape(), which "
     "copies if necessary"),
    (lambda: L.flatten(1, 0), ShapeError,
     "flatten: start_dim must not come after end_dim, got 1 and 0 for shape (3, 4); swap the two"),
    (lambda: L.expand((3, 5)), ShapeError,
     "expand: shape (3, 4) cannot be expanded to (3, 5): aligned from the right, each size must be equal or 1, and -1 "
     "keeps an existing size; pass sizes that match"),
    (lambda: L.expand((-1, 3, 4)), ShapeError,
     "expand: shape (3, 4) cannot be expanded to (-1, 3, 4): aligned from the right, each size must be equal or 1, and "
     "-1 keeps an existing size; pass sizes that match"),
    (lambda: merge([L, Layout.contiguous((3,))]), ShapeError,
     "merge: all shapes must be equal, got (3, 4) and (3,); expand the layouts to one shape first"),
]  # fmt: skip


@over(("call", "error", "message"), MISTAKES)
def test_a_mistake_is_named_in_one_sentence(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message


def test_narrow_takes_numbers_that_would_overflow_elsewhere():
    with pytest.raises(IndexOutOfRange):
        L.narrow(0, 2**63 - 1, 2**63 - 1)
    with pytest.raises(IndexOutOfRange) as caught:
        L.narrow(0, -9, 1)
    assert (caught.value.op, caught.value.dim, caught.value.start, caught.value.length) == ("narrow", 0, -9, 1)


def test_more_elements_than_an_index_reaches_are_refused() -> None:
    with pytest.raises(ShapeError, match="must have at most 2"):
        Layout.contiguous((1,)).expand((2**70,))
