"""Convolution by 3x3 taps by Winograd's algorithm, held to sums in float64: edges of tiles, layouts, rounding."""

import itertools

import numba
import numpy as np
import pytest
from asking import Asking
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import minigrad.backends.cpu.winograd as module
from minigrad.backends.registry import backend_of
from minigrad.config import override
from minigrad.core.device import as_device
from minigrad.core.dtype import f32
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.kernels.cpu import winograd_transforms as transforms

backend = Asking(backend_of(as_device("cpu")))
EPS, JUNK = 2.0**-24, 123.25


class Problem:
    """Operands of one convolution, and its three results in float64."""

    def __init__(self, n, c, high, wide, m, padding, values=None):
        draw = values or (lambda rng, shape: rng.standard_normal(shape))
        rng, self.padding = np.random.default_rng(n + c + m), padding
        self.shapes = {"x": (n, c, high, wide), "w": (m, c, 3, 3), "b": (m,)}
        self.shapes["y"] = (n, m, high + 2 * padding - 2, wide + 2 * padding - 2)
        self.values = {k: draw(rng, shape).astype(np.float32) for k, shape in self.shapes.items()}

    def exact(self, absolute=False):
        x, w, b, y = ((np.abs(v) if absolute else v).astype(np.float64) for v in map(self.values.get, "xwby"))
        wider = np.pad(x, [(0, 0), (0, 0), *[(self.padding,) * 2] * 2])
        seen = sliding_window_view(wider, (3, 3), (2, 3))
        back = np.zeros_like(wider)
        for i, j in itertools.product(range(3), repeat=2):
            back[:, :, i : i + y.shape[2], j : j + y.shape[3]] += np.einsum("nmhw,mc->nchw", y, w[:, :, i, j])
        inside = slice(self.padding, -self.padding or None)
        return {
            "conv": np.einsum("nchwij,mcij->nmhw", seen, w, optimize=True) + b[:, None, None],
            "conv_input": back[:, :, inside, inside],
            "conv_weight": np.einsum("nchwij,nmhw->mcij", seen, y, optimize=True),
        }

    def made(self, name, change=lambda layout: layout):
        """What the backend makes of operands that lie in memory as `change` says, in a result that lies so, too."""
        out, operands = {"conv": ("y", "xwb"), "conv_input": ("x", "yw"), "conv_weight": ("w", "yx")}[name]
        specs, buffers = zip(*(laid(self.values[k], change) for k in operands), strict=True)
        into, buffer = laid(np.full(self.shapes[out], 7, np.float32), change, JUNK)
        rest = ((1, 1), (self.padding,) * 2, (1, 1), 1)
        getattr(backend, name)(into, *specs, *rest)(*buffers, buffer)
        result = view(buffer, into.layout).copy()
        view(buffer, into.layout)[...] = JUNK
        assert (buffer == JUNK).all(), "written outside of the result"
        return result

    def errors(self, way):
        """The error of each result, as a root of the mean square."""
        exact = self.exact()
        return {name: np.sqrt(np.mean((self.made(name) - exact[name]) ** 2)) for name in exact}


def laid(values, change, outside=np.nan):
    """A spec, and a buffer in which these values lie as it says."""
    layout = change(Layout.contiguous(values.shape)) if values.ndim > 1 else Layout.contiguous(values.shape)
    buffer = np.full(layout.span()[1] + 5, outside, np.float32)
    view(buffer, layout)[...] = values
    return Spec(layout, f32), buffer


def view(buffer, layout):
    return as_strided(buffer[layout.offset :], layout.shape, tuple(4 * s for s in layout.strides))


SHAPES = {
    "one tile": (40, 16, 4, 4, 16, 1),
    "channels beyond a vector": (3, 17, 8, 8, 35, 1),
    "tiles that end outside": (2, 16, 7, 9, 24, 1),
    "no padding": (3, 13, 10, 7, 12, 0),
    "more padding than taps reach": (2, 12, 9, 6, 14, 3),
    "a wide image": (1, 16, 5, 70, 16, 1),
    "a high image": (2, 20, 33, 4, 12, 1),
}  # fmt: skip


def is_winograd(problem, name):
    """Whether this result is made by the way that this file is about."""
    out, operands = {"conv": ("y", "xwb"), "conv_input": ("x", "yw"), "conv_weight": ("w", "yx")}[name]
    specs = [Spec(Layout.contiguous(problem.shapes[k]), f32) for k in (out, *operands)]
    launch = getattr(backend, name)(*specs, (1, 1), (problem.padding,) * 2, (1, 1), 1)
    return any("winograd" in step.kernel.name for step in launch.steps)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_at_the_edges(name):
    problem = Problem(*SHAPES[name])
    exact, size = problem.exact(), problem.exact(absolute=True)
    for way, right in exact.items():
        assert is_winograd(problem, way)
        assert np.abs(problem.made(way) - right).max() <= 64 * EPS * size[way].max(), way


def channels_last(layout):
    *rest, channels = (layout.shape[k] for k in (0, 2, 3, 1))
    return Layout.contiguous((*rest, channels), 3).permute((0, 3, 1, 2))


def backwards(layout):
    return Layout.contiguous(layout.shape, 2).flip(2).flip(3)


def in_rows(layout):
    return Layout.contiguous((*layout.shape[:3], layout.shape[3] + 5), 1).slice(3, 2, 2 + layout.shape[3], 1)


@pytest.mark.parametrize("change", [channels_last, backwards, in_rows])
def test_operands_and_results_may_lie_in_any_way(change):
    problem = Problem(2, 16, 9, 7, 18, 1)
    for way in problem.exact():
        assert np.array_equal(problem.made(way, change), problem.made(way)), way


DATA = {
    "random": None,
    "far from 0": lambda rng, shape: 100 + rng.standard_normal(shape),
    "sizes from 0.001 to 1000": lambda rng, shape: rng.standard_normal(shape) * 10.0 ** rng.uniform(-3, 3, shape),
    "sums that cancel": lambda rng, shape: (-1) ** np.indices(shape).sum(0) * (1 + 1e-3 * rng.random(shape)),
}  # fmt: skip


@pytest.mark.parametrize("data", DATA)
def test_rounding_is_at_most_some_times_that_of_the_sums(data):
    """The docstring of `settings.winograd` states the usual factor."""
    problem = Problem(8, 32, 16, 16, 32, 1, DATA[data])
    size = {name: np.sqrt(np.mean(v**2)) for name, v in problem.exact(absolute=True).items()}
    through = problem.errors(True)
    with override(winograd=False):
        assert not is_winograd(problem, "conv")
        direct = problem.errors(False)
    for way, error in through.items():
        assert error <= 10 * direct[way] + EPS * size[way], (way, error / direct[way])


def test_a_pixel_that_is_not_finite_stays_in_the_tiles_that_see_it():
    problem = Problem(2, 16, 12, 12, 16, 1)
    problem.values["x"][0, 3, 2, 2] = np.inf
    out = problem.made("conv")
    assert not np.isfinite(out[0, :, 1:4, 1:4]).any()
    assert np.isfinite(out[1]).all() and np.isfinite(out[0, :, 4:]).all() and np.isfinite(out[0, :, :, 4:]).all()


def test_neither_threads_nor_blocks_of_other_tasks_change_a_bit():
    problem = Problem(24, 16, 8, 8, 20, 1)
    for way in problem.exact():
        seen = []
        for threads, threshold in ((1, 0), (2, 0), (1, 1 << 40)):
            numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
            with override(parallel_threshold=threshold):
                seen.append(problem.made(way).tobytes())
        assert seen[0] == seen[1] == seen[2], way


@pytest.mark.parametrize("share", [1, 3])
def test_tasks_of_every_size_give_the_same(share, monkeypatch):
    problem = Problem(5, 16, 8, 12, 16, 1)
    right = {way: problem.made(way) for way in ("conv", "conv_input")}
    monkeypatch.setattr(module, "shares", lambda outputs, m, c: (share, -(-module.rows_of(outputs) // share)))
    # A setting that plans depend on, so that they are made again.
    with override(parallel_threshold=12345):
        for way, values in right.items():
            assert np.array_equal(problem.made(way), values), way
        assert np.allclose(problem.made("conv_weight"), problem.exact()["conv_weight"], rtol=0, atol=2e-4)


@pytest.mark.parametrize(
    ("shapes", "stride", "dilation", "groups"),
    [
        (((8, 16, 8, 8), (16, 16, 3, 3)), 2, 1, 1),
        (((8, 16, 8, 8), (16, 16, 3, 3)), 1, 2, 1),
        (((8, 32, 8, 8), (32, 16, 3, 3)), 1, 1, 2),
        (((8, 3, 8, 8), (32, 3, 3, 3)), 1, 1, 1),
        (((1, 64, 4, 4), (64, 64, 3, 3)), 1, 1, 1),
        (((8, 16, 2, 2), (16, 16, 3, 3)), 1, 1, 1),
        (((8, 16, 8, 8), (16, 16, 3, 5)), 1, 1, 1),
    ],
)
def test_other_convolutions_are_made_as_before(shapes, stride, dilation, groups):
    image, weight = shapes
    sizes = [(n + 2 - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(image[2:], weight[2:], strict=True)]
    specs = [Spec(Layout.contiguous(s), f32) for s in ((image[0], weight[0], *sizes), image, weight, weight[:1])]
    launch = backend.conv(*specs, (stride,) * 2, (1, 1), (dilation,) * 2, groups)
    assert not any("winograd" in step.kernel.name for step in launch.steps)


def fma(factor, x, y):
    return factor * x + (0 if y is None else y)


def test_the_transforms_are_a_convolution_and_its_transpose():
    """In float64: outputs, and the weight's gradient by the transposed transforms."""
    rng = np.random.default_rng(0)
    d, w, g = rng.standard_normal(6), rng.standard_normal(3), rng.standard_normal(4)
    at_points = [
        a * b for a, b in zip(transforms.input_transform(d, fma), transforms.weight_transform(w, fma), strict=True)
    ]
    assert np.allclose(transforms.output_transform(at_points, fma), np.correlate(d, w, "valid"), atol=1e-13)
    sums = [
        a * b for a, b in zip(transforms.input_transform(d, fma), transforms.gradient_transform(g, fma), strict=True)
    ]
    assert np.allclose(transforms.weight_gradient_transform(sums, fma), np.correlate(d, g, "valid"), atol=1e-13)


@pytest.mark.parametrize("transform", transforms.TRANSFORMS, ids=lambda transform: transform.__name__)
def test_a_transform_of_vectors_equals_that_of_numpy(transform):
    reads, writes = transforms.TRANSFORMS[transform]
    lanes = 4
    rng = np.random.default_rng(1)
    x = rng.standard_normal(reads**2 * lanes).astype(np.float32)
    near, far = rng.permutation(reads**2) * lanes, rng.permutation(writes**2) * lanes
    added = [rng.standard_normal(lanes + 1).astype(np.float32), 1] if transform is transforms.output_transform else []
    compiled = transforms.winograd_transform(transform.__name__, "float32", lanes)
    call = numba.njit(lambda x, near, z, far, *added: compiled(x, 0, near, z, 1, far, *added))
    results = [np.zeros(writes**2 * lanes + 1, np.float32) for _ in range(2)]
    call(x, near, results[0], far, *added)
    transforms.python_transform(transform, lanes)(x, 0, near, results[1], 1, far, *added)
    assert results[0][0] == 0 and results[0][1:].all() and np.allclose(*results, rtol=0, atol=1e-5)
