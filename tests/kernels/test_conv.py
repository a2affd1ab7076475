"""Convolution straight from the CPU backend: blocks, edges of tiles, strides, threads, all held to the reference."""

import numba
import numpy as np
import pytest
from asking import Asking
from cases import over
from numpy.lib.stride_tricks import as_strided

import minigrad.backends.cpu.channels as channels
import minigrad.backends.cpu.fields as dims
from minigrad.backends.registry import backend_of
from minigrad.config import override
from minigrad.core.device import as_device
from minigrad.core.dtype import bf16, f16, f32, f64, i32, to_logical
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.kernels.store import watchers

backend, reference = (Asking(backend_of(as_device(name))) for name in ("cpu", "reference"))


def whole(shape, dtype, seed=0):
    """Small integers, which every dtype multiplies exactly, as they lie in memory."""
    values = np.random.default_rng(seed).integers(-3, 4, int(np.prod(shape)))
    return values.astype(dtype.numpy).view(dtype.storage)


def run(where, name, out, specs, buffers, rest):
    """What a preparer leaves in a buffer with junk around the output."""
    z = np.full(out.layout.numel + 40, 7, out.dtype.storage)
    shifted = Spec(Layout.contiguous(out.shape, 3), out.dtype)
    getattr(where, name)(shifted, *specs, *rest)(*buffers, z)
    assert (z[:3] == z[0]).all() and (z[3 + out.layout.numel :] == z[0]).all(), "written outside of the output"
    return z[3 : 3 + out.layout.numel]


def three(image, weight, stride, padding, dilation, groups, dtype=f32):
    """(name, output, operands) of the three preparers on one triple of shapes."""
    sizes = zip(image[2:], weight[2:], stride, padding, dilation, strict=True)
    spots = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes)
    shapes = {"x": image, "w": weight, "y": (image[0], weight[0], *spots), "b": weight[:1]}
    specs = {k: Spec(Layout.contiguous(s), dtype) for k, s in shapes.items()}
    return [("conv", "y", "xwb", specs), ("conv_input", "x", "yw", specs), ("conv_weight", "w", "yx", specs)]


def check(image, weight, stride, padding, dilation, groups, dtype=f32):
    rest = (stride, padding, dilation, groups)
    for name, out, operands, specs in three(image, weight, *rest, dtype):
        buffers = [whole(specs[k].shape, dtype, ord(k)) for k in operands]
        given = [specs[k] for k in operands]
        right = run(reference, name, specs[out], given, buffers, rest)
        assert np.array_equal(run(backend, name, specs[out], given, buffers, rest), right), name


CASES = {
    "one pixel": ((1, 1, 1), (1, 1, 1), (1,), (0,), (1,), 1),
    "longer than a tile": ((1, 2, 75), (3, 2, 4), (1,), (2,), (1,), 1),
    "strides beyond the kernel": ((2, 2, 13, 9), (3, 2, 2, 1), (4, 3), (0, 1), (1, 1), 1),
    "dilation and stride share phases": ((1, 2, 17), (2, 2, 3), (4,), (3,), (2,), 1),
    "all padding": ((1, 1, 1, 1), (2, 1, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "padding beyond the kernel": ((1, 2, 3), (2, 2, 2), (1,), (4,), (1,), 1),
    "many rows": ((1, 2, 5, 6), (19, 2, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "groups": ((2, 6, 5, 7), (9, 2, 2, 3), (1, 2), (1, 1), (1, 1), 3),
    "unused end of the image": ((1, 2, 8, 9), (2, 2, 2, 2), (3, 4), (0, 0), (1, 1), 1),
    "three dims": ((1, 2, 3, 5, 4), (3, 2, 2, 3, 2), (2, 1, 1), (1, 0, 1), (1, 2, 1), 1),
}  # fmt: skip


@over("threshold", [0, 1 << 40])
@over("name", CASES)
def test_shapes_at_the_edges(name, threshold):
    with override(parallel_threshold=threshold):
        check(*CASES[name])


@pytest.fixture
def loaded():
    """The files of the kernels that a test asks for."""
    seen = []
    watchers.append(seen)
    yield seen
    watchers.remove(seen)


CHANNELS = {
    "one group": ((2, 13, 6, 19), (35, 13, 3, 2), (2, 3), (1, 2), (1, 1), 1),
    "short rows": ((2, 14, 5, 7), (12, 14, 3, 3), (1, 2), (2, 1), (1, 1), 1),
    "phases without taps": ((1, 12, 5, 6), (12, 12, 1, 2), (2, 3), (0, 0), (1, 1), 1),
    "dilated groups": ((1, 26, 5, 21), (30, 13, 2, 3), (1, 1), (0, 2), (1, 2), 2),
    "depthwise": ((2, 19, 6, 17), (19, 1, 3, 4), (2, 1), (1, 2), (1, 1), 19),
    "depthwise, short rows": ((2, 16, 4, 7), (16, 1, 3, 3), (1, 1), (1, 1), (1, 1), 16),
    "depthwise, dilated": ((1, 17, 40), (17, 1, 3), (2,), (3,), (3,), 17),
    "depthwise, three dims": ((1, 16, 3, 5, 4), (16, 1, 2, 3, 2), (2, 1, 2), (1, 0, 1), (1, 2, 1), 16),
}  # fmt: skip


@pytest.mark.parametrize("threshold", [0, 1 << 40])
@pytest.mark.parametrize("block", [1, 1 << 20])
@pytest.mark.parametrize("name", CHANNELS)
def test_many_channels_are_copied_to_be_neighbours(name, block, threshold, loaded, monkeypatch):
    monkeypatch.setattr(channels, "BLOCK", block)
    monkeypatch.setattr(channels, "LEAST", 1 if block == 1 else 64)
    with override(parallel_threshold=threshold):
        check(*CHANNELS[name])
    form = "depthwise_" if name.startswith("depthwise") else ""
    for kernel in ("convolve_last", "convolve_last_weight"):
        assert any(f"{kernel}_{form}f32" in path for path in loaded)


def test_many_channels_on_more_threads_give_the_same_bits():
    rng = np.random.default_rng(0)
    for case in ("one group", "depthwise"):
        image, weight, *rest = CHANNELS[case]
        for name, out, operands, specs in three(image, weight, *rest):
            buffers = [rng.standard_normal(specs[k].layout.numel).astype(np.float32) for k in operands]
            seen = []
            for threads, threshold in ((1, 0), (2, 0), (1, 1 << 40)):
                numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
                with override(parallel_threshold=threshold):
                    found = run(backend, name, specs[out], [specs[k] for k in operands], buffers, rest)
                seen.append(found.tobytes())
            assert seen[0] == seen[1] == seen[2], (case, name)


PATCHES = {
    "one dim": ((2, 3, 40), (5, 3, 4), (4,), (0,), (1,), 1),
    "two dims": ((2, 3, 8, 6), (35, 3, 4, 2), (4, 2), (0, 0), (1, 1), 1),
    "three dims": ((1, 2, 4, 3, 2), (3, 2, 2, 1, 2), (2, 1, 2), (0, 0, 0), (1, 1, 1), 1),
}  # fmt: skip
OVERLAPS = {
    "rest of the image": ((2, 3, 9, 6), (5, 3, 4, 2), (4, 2), (0, 0), (1, 1), 1),
    "padding": ((2, 3, 8, 6), (5, 3, 4, 2), (4, 2), (1, 0), (1, 1), 1),
    "groups": ((2, 6, 8, 6), (4, 3, 4, 2), (4, 2), (0, 0), (1, 1), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", [*PATCHES, *OVERLAPS])
def test_the_image_of_patches_without_overlap_is_a_product(name, loaded):
    image, weight, *rest = (PATCHES | OVERLAPS)[name]
    check(image, weight, *rest)
    loaded.clear()
    _, (call, out, operands, specs), _ = three(image, weight, *rest)
    getattr(backend, call)(specs[out], *[specs[k] for k in operands], *rest)
    assert any("multiply_" in path for path in loaded) == (name in PATCHES)


@pytest.mark.parametrize("dtype", [f64, f16, bf16, i32], ids=str)
def test_dtypes(dtype):
    check(*CASES["groups"], dtype)


@pytest.mark.parametrize("name", ["longer than a tile", "strides beyond the kernel", "many rows", "three dims"])
def test_blocks_of_every_size_give_the_same(name, monkeypatch):
    for least in (1, 400):
        monkeypatch.setattr(dims, "BLOCK", least)
        check(*CASES[name])


@pytest.mark.parametrize("least", [1 << 20, 1])
@pytest.mark.parametrize("form", ["flat", "rows", "unfolded"])
@pytest.mark.parametrize("name", CASES)
def test_each_form_of_covering_the_outputs_gives_the_same(name, form, least, monkeypatch):
    monkeypatch.setattr(dims, "form_of", lambda *given: form)
    monkeypatch.setattr(dims, "BLOCK", least)
    check(*CASES[name])


def test_short_rows_of_few_channels_are_unfolded():
    def form(image, outputs, taps, runs):
        sizes = zip(outputs, image, taps, strict=True)
        fields = [dims.Line(o, 1, i, [(t, t) for t in range(k)]) for o, i, k in sizes]
        return dims.form_of(fields, runs, 4, f32)

    assert form((1, 10, 10), (1, 8, 8), (1, 3, 3), 9) == "unfolded"
    assert form((1, 10, 10), (1, 8, 8), (1, 3, 3), 9 * 1024) != "unfolded", "larger than the cache"
    assert form((1, 66, 66), (1, 64, 64), (1, 3, 3), 9) == "rows"


def test_operands_of_any_strides():
    rest = ((2, 1), (1, 1), (1, 1), 1)
    for name, out, operands, specs in three((2, 3, 7, 6), (4, 3, 3, 2), *rest):
        right = run(reference, name, specs[out], [specs[k] for k in operands],
                    [whole(specs[k].shape, f32, ord(k)) for k in operands], rest)  # fmt: skip
        given, buffers = [], []
        for k in operands:
            shape = specs[k].shape
            dense = whole(shape, f32, ord(k)).reshape(shape)
            turned = Layout.contiguous((*shape[::-1], 2)).select(len(shape), 1)
            layout = turned.permute(tuple(range(len(shape)))[::-1]).flip(0)
            buffer = np.full(dense.size * 2, np.nan, np.float32)
            as_strided(buffer[layout.offset :], shape, tuple(4 * s for s in layout.strides))[...] = dense
            given.append(Spec(layout, f32))
            buffers.append(buffer)
        assert np.array_equal(run(backend, name, specs[out], given, buffers, rest), right)


def test_infinity_stays_where_its_window_is():
    """What is computed between two rows of outputs is thrown away, also when it is nan."""
    image, rest = np.ones((1, 1, 5, 5), np.float32), ((1, 1), (1, 1), (1, 1), 1)
    image[0, 0, 2, 4] = np.inf
    specs = three(image.shape, (1, 1, 3, 3), *rest)[0][3]
    ones, none = np.ones(9, np.float32), np.zeros(1, np.float32)
    y = run(backend, "conv", specs["y"], [specs[k] for k in "xwb"], [image.reshape(-1), ones, none], rest)
    assert not np.isnan(y).any() and np.argwhere(np.isinf(y.reshape(5, 5))).tolist() == [
        [i, j] for i in (1, 2, 3) for j in (3, 4)
    ]
    w = run(backend, "conv_weight", specs["w"], [specs[k] for k in "yx"], [np.ones(25, np.float32), image.reshape(-1)],
            rest)  # fmt: skip
    # The first column of the weight never meets the last column of the image: that would be an output further on.
    assert np.isinf(w.reshape(3, 3)).tolist() == [[False, True, True]] * 3 and not np.isnan(w).any()


@pytest.mark.parametrize("dtype", [f32, f16], ids=str)
def test_the_number_of_threads_does_not_change_a_bit(dtype):
    rest = ((1, 1), (1, 1), (1, 1), 1)
    rng = np.random.default_rng(0)
    for name, out, operands, specs in three((3, 5, 20, 19), (10, 5, 3, 3), *rest, dtype):
        buffers = [rng.standard_normal(specs[k].layout.numel).astype(dtype.numpy).view(dtype.storage) for k in operands]
        seen = []
        for threads, threshold in ((1, 0), (2, 0), (1, 1 << 40)):
            numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
            with override(parallel_threshold=threshold):
                seen.append(run(backend, name, specs[out], [specs[k] for k in operands], buffers, rest).tobytes())
        assert seen[0] == seen[1] == seen[2], name
        assert np.isfinite(to_logical(np.frombuffer(seen[0], dtype.storage), dtype).astype(np.float64)).all()
