"""Groups of channels: the kernels of the CPU held to the definition, over layouts and numbers of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.config import override
from minigrad.ops.nn.group_norm import by_rows, group_gradients, normalized_groups

GROUPS = {"groups": 2, "eps": 1e-3}


def operands(*shape: int, device: str) -> list[mg.Tensor]:
    """An image far from 0, an incoming gradient, a weight and a bias."""
    rng = np.random.default_rng(3)
    line = shape[1:2]
    return [mg.tensor(rng.standard_normal(s) + far, device=device) for s, far in (
        (shape, 5.0), (shape, 0.0), (line, 0.0), (line, 0.0))]  # fmt: skip


def wanted(*shape: int) -> list[np.ndarray]:
    """The result and the gradients of the definition."""
    x, g, w, b = operands(*shape, device="reference")
    y, pull = mg.func.vjp(lambda *values: by_rows(*values, **GROUPS), x, w, b)
    return [v.numpy() for v in (y, *pull(g))]


def found(x: mg.Tensor, g: mg.Tensor, w: mg.Tensor, b: mg.Tensor) -> list[np.ndarray]:
    """The same of the kernels."""
    return [v.numpy() for v in (normalized_groups(x, w, b, **GROUPS), *group_gradients(x, g, w, **GROUPS))]


@pytest.mark.parametrize("shape", [(3, 4, 5, 2), (2, 6), (1, 2, 40)], ids=str)
@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_kernels_give_what_the_definition_gives(shape: tuple[int, ...], device: str) -> None:
    for got, want in zip(found(*operands(*shape, device=device)), wanted(*shape), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)


def test_operands_of_any_layout_give_the_same_bits() -> None:
    dense = operands(3, 4, 5, device="cpu")
    x, g, w, b = (lying_apart(v) for v in dense)
    assert not any(v.is_contiguous() for v in (x, g, w, b))
    for got, want in zip(found(x, g, w, b), found(*dense), strict=True):
        np.testing.assert_array_equal(got, want)


def lying_apart(x: Any) -> Any:
    """The same numbers with gaps between them, behind others."""
    return mg.stack([-x, x], x.ndim).select(x.ndim, 1)


def test_threads_change_no_bit() -> None:
    values = operands(7, 4, 900, device="cpu")
    alone = found(*values)
    with override(parallel_threshold=0):
        shared = found(*values)
    for got, want in zip(shared, alone, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_no_images_have_gradients_of_0(device: str) -> None:
    y, dx, dw, db = found(*operands(0, 4, 3, device=device))
    assert y.shape == dx.shape == (0, 4, 3)
    assert dw.tolist() == db.tolist() == [0.0] * 4


def test_group_norm_of_float16_with_parameters_of_float32_is_computed_in_float32(reference: Any) -> None:
    x = mg.tensor([[1.0, 2049.0], [3.0, 5.0]], dtype="float16")
    y = mg.nn.functional.group_norm(x, 1, mg.tensor([1.0, 2.0], dtype="float32"))
    assert y.dtype is mg.float16
    np.testing.assert_allclose(y.numpy(), [[-1.0, 2.0], [-1.0, 2.0]], rtol=1e-3)
