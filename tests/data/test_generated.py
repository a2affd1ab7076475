"""Generated points, and transforms of batches: shapes, values that can be computed by hand, and generators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import data
from minigrad.errors import ArgumentError, ShapeError


def test_spirals_are_arms_around_the_centre() -> None:
    points, labels = data.spirals(300, 3, noise=0.0, turns=0.75, generator=mg.Generator(0))
    x, y = points.numpy().astype(np.float64), labels.numpy()
    radius, angle = np.hypot(*x.T), np.arctan2(x[:, 1], x[:, 0])
    turns = (angle / (2 * math.pi) - 0.75 * radius - y / 3) % 1.0
    assert np.minimum(turns, 1 - turns).max() < 1e-6
    assert np.bincount(y).tolist() == [100, 100, 100] and 0.99 < radius.max() <= 1.0 + 1e-6
    assert points.dtype is mg.float32 and labels.dtype is mg.int64


def test_moons_are_half_circles() -> None:
    points, labels = data.moons(101, noise=0.0, generator=mg.Generator(0))
    x, y = points.numpy().astype(np.float64), labels.numpy()
    assert np.bincount(y).tolist() == [51, 50]
    assert np.hypot(*x[y == 0].T) == pytest.approx(1.0, abs=1e-6) and x[y == 0, 1].min() > -1e-6
    assert np.hypot(*(x[y == 1] - [1.0, 0.5]).T) == pytest.approx(1.0, abs=1e-6) and x[y == 1, 1].max() < 0.5 + 1e-6
    assert x[y == 0, 0].min() == pytest.approx(-1.0) and x[y == 1, 0].max() == pytest.approx(2.0)


@pytest.mark.parametrize("make", [data.spirals, data.moons])
def test_noise_is_normal_and_comes_from_the_generator(make: Any) -> None:
    clean, noisy = (make(20_000, noise=noise, generator=mg.Generator(4))[0].numpy() for noise in (0.0, 0.25))
    off = (noisy - clean).astype(np.float64)
    assert abs(off.mean()) < 0.01 and off.std() == pytest.approx(0.25, rel=0.02)
    assert abs(np.corrcoef(off.T)[0, 1]) < 0.03 and (off**4).mean() / 0.25**4 == pytest.approx(3.0, rel=0.1)
    mg.manual_seed(4)
    assert (make(20_000, noise=0.25)[0].numpy() == noisy).all()
    for wrong in ({"n": 0}, {"noise": -1.0}, {"noise": math.inf}, {"generator": 3}):
        with pytest.raises(ArgumentError, match=f"{make.__name__}: "):
            make(**wrong)


# ---- transforms -----------------------------------------------------------------------------------------------------


def images(*shape: int) -> mg.Tensor:
    return mg.arange(int(np.prod(shape)), dtype="float32", device="reference").reshape(shape)


def test_normalize_is_per_channel() -> None:
    x = images(2, 2, 1, 2)
    assert data.Normalize([1.0, 2.0], [2.0, 4.0])(x).numpy() == pytest.approx(
        (x.numpy() - np.array([1.0, 2.0]).reshape(2, 1, 1)) / np.array([2.0, 4.0]).reshape(2, 1, 1)
    )
    with pytest.raises(ShapeError, match="expected 3 channels"):
        data.Normalize([1.0] * 3, [1.0] * 3)(x)
    with pytest.raises(ArgumentError, match="std must be positive"):
        data.Normalize([1.0], [0.0])


def test_a_crop_is_a_window_of_the_padded_image() -> None:
    x = images(12, 2, 4, 5) + 1.0
    g = mg.Generator(0)
    cut = data.RandomCrop((3, 4), padding=1, generator=g)(x).numpy()
    padded = np.pad(x.numpy(), ((0, 0), (0, 0), (1, 1), (1, 1)))
    chosen = []
    for image, window in zip(padded, cut):
        matches = [(a, b) for a in range(4) for b in range(4) if (image[:, a : a + 3, b : b + 4] == window).all()]
        assert len(matches) == 1
        chosen += matches
    assert cut.shape == (12, 2, 3, 4) and len({a for a, _ in chosen}) > 1 and len({b for _, b in chosen}) > 1
    assert (data.RandomCrop((3, 4), padding=1, generator=mg.Generator(0))(x).numpy() == cut).all() and g.offset > 0
    with pytest.raises(ShapeError, match=r"a height and width of at least \(9, 9\)"):
        data.RandomCrop(9)(x)


def test_a_flip_mirrors_some_images() -> None:
    x = images(40, 1, 1, 3)
    flipped = data.RandomHorizontalFlip(generator=mg.Generator(0))(x).numpy()
    mirrored = (flipped == x.numpy()[..., ::-1]).all((1, 2, 3))
    assert 10 < mirrored.sum() < 30 and (flipped[~mirrored] == x.numpy()[~mirrored]).all()
    for p, expected in ((0.0, x.numpy()), (1.0, x.numpy()[..., ::-1])):
        assert (data.RandomHorizontalFlip(p)(x).numpy() == expected).all()
    with pytest.raises(ArgumentError, match="p must be a probability from 0 to 1"):
        data.RandomHorizontalFlip(1.5)


def test_transforms_are_composed_and_want_images() -> None:
    both = data.Compose([data.Normalize([1.0], [2.0]), data.RandomHorizontalFlip(1.0)])
    assert both(images(1, 1, 1, 2)).tolist() == [[[[0.0, -0.5]]]]
    assert data.OneHot(3)(mg.tensor([2, 0], device="reference")).tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    for transform in (data.Normalize([0.0], [1.0]), data.RandomCrop(1), data.RandomHorizontalFlip()):
        with pytest.raises(ShapeError, match=r"expected images \(n, channels, height, width\), got"):
            transform(images(2, 2, 2))
