"""An input of another size than the layer was created for: the error names the layer, its parameter and its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minigrad as mg
from minigrad import nn
from minigrad.errors import IndexOutOfRange, ShapeError

pytestmark = pytest.mark.usefixtures("reference")

LAYERS: dict[str, tuple[Callable[[], Any], tuple[int, ...], str]] = {
    "Linear": (lambda: nn.Linear(4, 1), (1, 3), r"4 in dim -1 \(in_features=4\)"),
    "Conv1d": (lambda: nn.Conv1d(3, 4, 3), (1, 2, 8), r"3 in dim -2 \(in_channels=3\)"),
    "Conv2d": (lambda: nn.Conv2d(3, 4, 3), (2, 8, 8), r"3 in dim -3 \(in_channels=3\)"),
    "Conv3d": (lambda: nn.Conv3d(3, 4, 1), (1, 2, 2, 2, 2), r"3 in dim -4 \(in_channels=3\)"),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(3, 4, 3), (1, 2, 8, 8), r"3 in dim -3 \(in_channels=3\)"),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(3), (4, 2), r"3 in dim 1 \(num_features=3\)"),
    "BatchNorm2d": (lambda: nn.BatchNorm2d(3), (1, 2, 8, 8), r"3 in dim 1 \(num_features=3\)"),
    "InstanceNorm1d": (lambda: nn.InstanceNorm1d(3, affine=True), (4, 2, 5), r"3 in dim -2 \(num_features=3\)"),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (4, 6, 2), r"4 in dim 1 \(num_channels=4\)"),
    "LayerNorm": (lambda: nn.LayerNorm(3), (4, 2), r"\(3,\) in the last dims \(normalized_shape=\(3,\)\)"),
    "RMSNorm": (lambda: nn.RMSNorm((2, 3)), (3,), r"\(2, 3\) in the last dims \(normalized_shape=\(2, 3\)\)"),
}


@pytest.mark.parametrize("name", LAYERS)
def test_the_layer_and_its_parameter_are_named(name: str) -> None:
    make, shape, words = LAYERS[name]
    x = mg.zeros(*shape)
    with pytest.raises(ShapeError, match=rf"{name}: input must have the size {words}, got float32") as error:
        make()(x)
    assert "weight" not in str(error.value) and str(shape) in str(error.value)


def test_the_second_input_is_named() -> None:
    with pytest.raises(ShapeError, match=r"Bilinear: input2 must have the size 2 in dim -1 \(in2_features=2\)"):
        nn.Bilinear(3, 2, 4)(mg.zeros(1, 3), mg.zeros(1, 5))


def test_the_place_in_the_network_is_a_note() -> None:
    net = nn.Sequential(nn.Sequential(nn.Linear(2, 3), nn.Linear(4, 1)), nn.ReLU())
    with pytest.raises(ShapeError, match=r"^Linear: ") as error:
        net(mg.zeros(1, 2))
    assert error.value.__notes__ == ["raised in '1' of Sequential", "raised in '0' of Sequential"]
    with pytest.raises(IndexOutOfRange, match="index 5 is out of range") as error:
        nn.Sequential(nn.Embedding(3, 2))(mg.tensor([5]))
    assert error.value.__notes__ == ["raised in '0' of Sequential"]


def test_a_wrong_number_of_dims_is_told_first() -> None:
    with pytest.raises(ShapeError, match=r"conv2d: input must have 3 or 4 dims"):
        nn.Conv2d(3, 4, 3)(mg.zeros(8, 8))
    with pytest.raises(ShapeError, match=r"BatchNorm2d: input must have 4 dims"):
        nn.BatchNorm2d(3)(mg.zeros(2, 5))


def test_another_error_is_unchanged() -> None:
    with pytest.raises(ShapeError, match=r"conv2d: the weight .* increase padding"):
        nn.Conv2d(3, 4, 9)(mg.zeros(1, 3, 8, 8))


def test_a_subclass_with_a_forward_of_its_own_keeps_the_error_of_the_op() -> None:
    class Rows(mg.nn.Linear):
        def forward(self, input: Any) -> Any:
            return super().forward(input.reshape(-1, 4)) @ mg.ones(5, 2, device="reference")

    with pytest.raises(ShapeError) as caught:
        Rows(4, 3, device="reference")(mg.ones(2, 8, device="reference"))
    assert "Rows" not in str(caught.value) and str(caught.value).startswith("matmul")
