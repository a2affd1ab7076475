"""interpolate: PyTorch's pixels in every mode, numbers from which they can be seen, and arguments that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, ShapeError

F = mg.nn.functional
ROW = mg.tensor(np.arange(6.0).reshape(1, 1, 6), device="reference")


# What PyTorch 2.13 gives for 0, 1, ... 5.
@pytest.mark.parametrize(
    ("given", "want"),
    [
        ({"size": 9}, [0, 0, 1, 2, 2, 3, 4, 4, 5]),
        ({"size": 4, "mode": "nearest-exact"}, [0, 2, 3, 5]),
        ({"scale_factor": 1.7}, [0, 0, 1, 1, 2, 2, 3, 4, 4, 5]),
        ({"scale_factor": 1.7, "recompute_scale_factor": True}, [0, 0, 1, 1, 2, 3, 3, 4, 4, 5]),
        ({"scale_factor": 1.1}, [0, 0, 1, 2, 3, 4]),
        ({"size": 4, "mode": "linear"}, [0.25, 1.75, 3.25, 4.75]),
        ({"size": 4, "mode": "linear", "align_corners": True}, [0, 5 / 3, 10 / 3, 5]),
        ({"size": 1, "mode": "linear", "align_corners": True}, [0]),
        ({"scale_factor": 0.5, "mode": "linear"}, [0.5, 2.5, 4.5]),
        ({"size": 3, "mode": "area"}, [0.5, 2.5, 4.5]),
        ({"size": 4, "mode": "area"}, [0.5, 1.5, 3.5, 4.5]),
    ],
    ids=str,
)
def test_the_pixels_are_those_of_pytorch(given: dict[str, Any], want: list[float]) -> None:
    np.testing.assert_allclose(F.interpolate(ROW, **given).numpy()[0, 0], want, rtol=1e-12)


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ({"size": (1, 4), "mode": "bicubic"}, [0.19140625, 1.703125, 3.296875, 4.80859375]),
        ({"size": (1, 4), "mode": "bicubic", "align_corners": True}, [0, 44 / 27, 91 / 27, 5]),
        (
            {"scale_factor": (1, 0.7), "mode": "bicubic"},
            [0.16317419825072765, 1.6100583090379, 3.0998542274052485, 4.59375],
        ),
        ({"size": (1, 4), "mode": "bilinear", "antialias": True}, [0.375, 16 / 9, 29 / 9, 4.625]),
        ({"size": (1, 3), "mode": "bicubic", "antialias": True}, [0.5439330543933054, 2.5, 4.456066945606695]),
        (
            {"size": (1, 4), "mode": "bicubic", "align_corners": True, "antialias": True},
            [0.35384615384615425, 1.9718309859154932, 3.7777777777777786, 4.976190476190477],
        ),
    ],
    ids=str,
)
def test_pixels_of_images_are_those_of_pytorch(given: dict[str, Any], want: list[float]) -> None:
    np.testing.assert_allclose(F.interpolate(ROW.unsqueeze(2), **given).numpy()[0, 0, 0], want, rtol=1e-9)


def test_names_that_interpolate_had_before() -> None:
    x = ROW.reshape(1, 1, 2, 3)
    corners = F.interpolate(x, size=4, mode="bilinear", align_corners=True)
    assert F.upsample_bilinear(x, 4).tolist() == F.upsample(x, 4, None, "bilinear", True).tolist() == corners.tolist()
    assert F.upsample_nearest(x, scale_factor=2).tolist() == F.interpolate(x, scale_factor=2).tolist()


def test_dims_are_resampled_one_after_the_other() -> None:
    rows, columns = np.arange(2.0)[:, None], np.arange(3.0)
    x = mg.tensor((10 * rows + columns)[None, None], device="reference")
    y = F.interpolate(x, size=(3, 5), mode="bilinear", align_corners=True)
    np.testing.assert_allclose(y.numpy()[0, 0], 10 * np.linspace(0, 1, 3)[:, None] + np.linspace(0, 2, 5))
    cube = F.interpolate(x.unsqueeze(-1), scale_factor=(1, 2, 2), mode="trilinear")
    assert cube.shape == (1, 1, 2, 6, 2) and cube[0, 0, 1, 0].tolist() == [10.0, 10.0]


def test_a_gradient_goes_to_the_pixels_that_were_read() -> None:
    x = mg.Var([[[1.0, 2.0, 3.0]]], device="reference")
    assert F.interpolate(x, size=4).backward()[x].tolist() == [[[2.0, 1.0, 1.0]]]
    g = F.interpolate(x, size=5, mode="linear", align_corners=True).backward()[x]
    assert g.tolist() == [[[1.5, 2.0, 1.5]]]


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_dtype_stays(mode: str, dtype: str) -> None:
    y = F.interpolate(ROW.to(dtype), size=4, mode=mode)
    assert y.dtype.name == dtype and y.shape == (1, 1, 4)
    assert F.interpolate(mg.zeros(0, 2, 3, dtype=dtype, device="reference"), size=4, mode=mode).shape == (0, 2, 4)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({}, ArgumentError, "either size or scale_factor, got neither"),
        ({"size": 3, "scale_factor": 2.0}, ArgumentError, "either size or scale_factor, got both"),
        (
            {"size": (3, 3)},
            ArgumentError,
            r"size must have one value per spatial dim of float64\(1, 1, 6\), got \(3, 3\)",
        ),
        (
            {"size": 3, "align_corners": False},
            ArgumentError,
            "align_corners is allowed only for the modes linear, bilinear, bicubic, trilinear",
        ),
        (
            {"size": 3, "recompute_scale_factor": True},
            ArgumentError,
            "recompute_scale_factor=True requires scale_factor",
        ),
        ({"size": 3, "mode": "bicubic"}, ShapeError, r"mode='bicubic' expects 4 dims \(N, C, ...\), got"),
        ({"size": 3, "mode": "cubic"}, ArgumentError, "mode must be .*'bicubic'.*, got 'cubic'"),
        ({"size": 3, "mode": "linear", "antialias": True}, ArgumentError, "antialias=True must be 'bilinear' or"),
        ({"scale_factor": "2"}, ArgumentError, "scale_factor must be a number, or one per spatial dim, got '2'"),
        ({"scale_factor": float("nan")}, ShapeError, "channels and spatial sizes must be at least 1"),
        ({"size": 3, "mode": "bilinear"}, ShapeError, r"mode='bilinear' expects 4 dims \(N, C, ...\), got"),
        ({"size": 0}, ShapeError, r"channels and spatial sizes must be at least 1, got .* \(0,\)"),
        ({"scale_factor": -1.0}, ShapeError, r"result sizes \(-6,\)"),
    ],
    ids=str,
)
def test_arguments_that_do_not_fit_are_refused(given: dict[str, Any], error: type, words: str) -> None:
    with pytest.raises(error, match=f"interpolate: .*{words}"):
        F.interpolate(ROW, **given)


BYTES = [242, 253, 45, 163, 203, 53, 249, 210, 183, 71, 55, 156, 168, 157, 206, 127, 77, 218]


# What PyTorch 2.13 gives. The sums of the last row need float64.
@pytest.mark.parametrize(
    ("row", "given", "want"),
    [
        ([0, 255], {"size": (1, 4), "mode": "bicubic"}, [0, 58, 197, 255]),
        ([72, 193], {"size": (1, 3), "mode": "bicubic"}, [61, 133, 204]),
        ([75, 16, 229, 218], {"size": (1, 1), "mode": "bilinear", "antialias": True}, [132]),
        (BYTES, {"size": (1, 2), "mode": "bicubic", "antialias": True}, [162, 146]),
    ],
    ids=str,
)
def test_images_of_bytes_have_weights_of_16_bits(row: list[int], given: dict[str, Any], want: list[int]) -> None:
    result = F.interpolate(mg.tensor([[[row]]], dtype="uint8", device="reference"), **given)
    assert result.dtype is mg.uint8 and result.tolist() == [[[want]]]


def test_images_of_bytes_are_rounded_after_each_dim() -> None:
    image = mg.tensor([[[[0, 1], [0, 0]]]], dtype="uint8", device="reference")
    assert F.interpolate(image, size=1, mode="bilinear").tolist() == [[[[1]]]]  # 0.25, but its rows are 1 and 0
    same = F.interpolate(image, scale_factor=1.4, mode="bicubic")
    assert same.tolist() == image.tolist() and same.data_ptr() != image.data_ptr()


def test_sums_of_border_weights_lower_the_precision_as_in_pytorch() -> None:
    image = mg.tensor((np.arange(248) ** 2 % 256).reshape(1, 1, 1, 248), dtype="uint8", device="reference")
    assert F.interpolate(image, size=(1, 247), mode="bicubic")[0, 0, 0, [145, 179]].tolist() == [52, 101]


def test_integers_have_neighbours_but_no_blends() -> None:
    whole = ROW.to("int32")
    assert F.interpolate(whole, size=3).tolist() == [[[0, 2, 4]]]
    with pytest.raises(
        DTypeError, match=r"mode='linear' requires an input with a floating dtype, got int32\(1, 1, 6\)"
    ):
        F.interpolate(whole, size=3, mode="linear")
