"""NumPy's names of parameters, memory formats, and old positions: what PyTorch's users also write."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.declare.names import namespaces
from minigrad.errors import ArgumentError, MinigradError
from minigrad.nn import functional as F

X = np.array([[3.0, 1.0, 2.0], [2.0, 5.0, -1.0]])
# Functions with `dim` that take more than one tensor, or more than a dim.
MORE: dict[str, tuple[Any, ...]] = {
    "cat": ([X, X],), "stack": ([X, X],), "cross": (X, X), "vecdot": (X, X), "cosine_similarity": (X, X),
    "kthvalue": (X, 1), "quantile": (X, 0.5), "nanquantile": (X, 0.5), "topk": (X, 1), "tensor_split": (X, 1),
    "split": (X, 1), "chunk": (X, 2), "diff": (X, 1), "take_along_dim": (X, np.array([[0, 1, 0]])),
    "repeat_interleave": (X, 2), "norm": (X, 2), "matrix_norm": (), "glu": (np.ones((2, 4)),),
}  # fmt: skip


def values(result: Any) -> Any:
    return [values(y) for y in result] if isinstance(result, (tuple, list)) else result.tolist()


def as_tensors(arguments: Any) -> Any:
    if isinstance(arguments, (tuple, list)):
        return type(arguments)(map(as_tensors, arguments))
    return mg.tensor(arguments, device="reference") if isinstance(arguments, np.ndarray) else arguments


def taking_axis() -> dict[str, Any]:
    """Functions whose only required arguments are tensors and `dim`, or that MORE has arguments for."""
    result = {}
    for space in ("mg", "linalg", "special", "nn.functional"):
        for name, function in namespaces[space].items():
            parameters = inspect.signature(function).parameters
            needed = [p for p in parameters.values() if p.default is p.empty and p.name != "dim"]
            arguments = MORE.get(name, (X,) if len(needed) == 1 else ())
            if "dim" in parameters and arguments and hasattr(function, "op") and "axis" not in parameters:
                result[f"{space}.{name}"] = function, as_tensors(arguments)
    return result


AXIS = taking_axis()


@over("name", AXIS)
def test_axis_is_dim(name: str) -> None:
    function, arguments = AXIS[name]
    assert "gumbel" in name or values(function(*arguments, axis=1)) == values(function(*arguments, dim=1))


def test_axis_may_stand_before_what_is_needed() -> None:
    x = as_tensors(X)
    rows, columns = (mg.tensor(index, device="reference") for index in ([1, 0], [[0, 2], [1, 1]]))
    assert mg.gather(x, axis=1, index=columns).tolist() == mg.gather(x, 1, columns).tolist()
    assert x.index_select(axis=0, index=rows).tolist() == X[::-1].tolist()
    assert mg.narrow(x, axis=1, start=1, length=1).tolist() == X[:, 1:2].tolist()
    assert mg.renorm(x, 2, axis=0, maxnorm=1.0).tolist() == mg.renorm(x, 2, 0, 1.0).tolist()
    for call, name in (
        (lambda: mg.gather(x, axis=1), "index"), (lambda: mg.gather(x, index=columns), "dim"),
        (lambda: x.narrow(0, 1), "length"), (lambda: mg.gather(), "input"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=rf"missing 1 required positional argument: '{name}'"):
            call()


def test_most_functions_with_a_dim_take_axis() -> None:
    assert len(AXIS) > 60


def test_keepdims_is_keepdim() -> None:
    x = mg.tensor(X, device="reference")
    for name in "sum mean prod amax amin all any argmax std var logsumexp median max".split():
        kept = getattr(x if name not in ("all", "any") else x > 0, name)(axis=1, keepdims=True)
        assert (kept[0] if isinstance(kept, tuple) else kept).shape == (2, 1), name
    assert mg.linalg.vector_norm(x, axis=0, keepdims=True).shape == (1, 3)


def test_one_parameter_by_two_names_or_none_is_an_error() -> None:
    x = mg.tensor(X, device="reference")
    with pytest.raises(TypeError, match=r"sum\(\) got both dim and axis"):
        x.sum(0, axis=1)
    with pytest.raises(TypeError, match=r"cumsum\(\) missing 1 required positional argument: 'dim'"):
        x.cumsum()
    assert "axis" not in inspect.signature(mg.sum).parameters, "an editor shows PyTorch's names"


def test_the_correction_of_both_results_may_follow_the_dims() -> None:
    x = mg.arange(6.0, device="reference").reshape(2, 3)
    assert mg.var_mean(x, 1, False, True)[0].tolist() == x.var(1, correction=0, keepdim=True).tolist()


def test_unbiased_may_be_the_only_argument() -> None:
    x = mg.tensor(X, device="reference")
    assert x.var(True).item() == x.var().item() and x.std(False).item() == x.std(correction=0).item()
    assert values(mg.var_mean(x, False)) == values(mg.var_mean(x, correction=0))
    assert values(x.var(0, False, True)) == values(x.var(0, correction=0, keepdim=True))


FORMATTED = {
    "clone": lambda x, f: x.clone(memory_format=f), "contiguous": lambda x, f: x.contiguous(memory_format=f),
    "to": lambda x, f: x.to(mg.float32, memory_format=f), "float": lambda x, f: x.float(memory_format=f),
    "long": lambda x, f: x.long(memory_format=f),
    "empty": lambda x, f: mg.empty(2, 3, memory_format=f, device=x.device),
    "empty_like": lambda x, f: mg.empty_like(x, memory_format=f),
    "zeros_like": lambda x, f: mg.zeros_like(x, memory_format=f),
    "ones_like": lambda x, f: mg.ones_like(x, memory_format=f),
    "full_like": lambda x, f: mg.full_like(x, 2.0, memory_format=f),
    "rand_like": lambda x, f: mg.rand_like(x, memory_format=f),
    "randn_like": lambda x, f: mg.randn_like(x, memory_format=f),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATTED)
def test_memory_formats(name: str) -> None:
    x = mg.tensor(X, device="reference")
    for row_major in (None, mg.contiguous_format, mg.preserve_format):
        assert FORMATTED[name](x, row_major).is_contiguous()
    with pytest.raises(MinigradError, match=f"{name}: .*mg.channels_last"):
        FORMATTED[name](x, mg.channels_last)
    with pytest.raises(ArgumentError, match=f"{name}: expected memory_format=.*got 'last'"):
        FORMATTED[name](x, "last")


@pytest.mark.parametrize("name", ["clone", "contiguous", "to", "float", "long"])
def test_channels_last(name: str) -> None:
    x = mg.Var(np.arange(24.0).reshape(1, 2, 3, 4), device="reference")
    y = FORMATTED[name](x, mg.channels_last)
    assert y.strides == (24, 1, 8, 2) and y.tolist() == x.tolist()
    assert y.contiguous(memory_format=mg.channels_last) is y and y.contiguous().strides == (24, 12, 4, 1)
    if name != "long":
        mg.testing.gradcheck(lambda x: FORMATTED[name](x, mg.channels_last).double() ** 2, [x], eps=1e-2, rtol=1e-2)
    volume = mg.zeros(1, 2, 1, 2, 2, device="reference")
    assert volume.contiguous(memory_format=mg.channels_last_3d).strides == (8, 1, 8, 4, 2)


def test_results_of_elementwise_ops_copies_and_casts_are_channels_last_like_their_operand() -> None:
    x = mg.Var(np.linspace(-1, 1, 48).reshape(2, 3, 2, 4), device="reference")
    last, bias = x.contiguous(memory_format=mg.channels_last), mg.ones(1, 3, 1, 1, device="reference")
    row = last.contiguous()
    kept = {
        "relu": lambda x: x.relu(), "number": lambda x: x * 2.5, "bias": lambda x: x + bias, "mask": lambda x: x > 0,
        "where": lambda x: mg.where(x > 0, x, 0.0), "several": lambda x: mg.frexp(x)[1], "first": lambda x: x + row,
        "gaps": lambda x: x[..., ::2] + 1, "written": lambda x: (x * 1).detach().exp_(), "half": lambda x: x.half(),
        "real": lambda x: x.to(mg.complex64).abs(), "clone": lambda x: x.clone(), "copy": lambda x: x.to(x, copy=True),
        "preserve": lambda x: x.clone(memory_format=mg.preserve_format), "to": lambda x: x.to(mg.float64, "cpu"),
        "part": lambda x: x[..., ::2].clone(), "zeros_like": mg.zeros_like, "empty_like": mg.empty_like,
        "full_like": lambda x: mg.full_like(x, 2), "randn_like": mg.randn_like,
        "rand_like": lambda x: mg.rand_like(x, dtype=mg.complex64), "dropout": lambda x: F.dropout(x, 0.5, False),
        "cat": lambda x: mg.cat([x, x * 2], 1), "cat of rows": lambda x: mg.cat([x[:, :, :1], x], 2),
        "pool": lambda x: F.max_pool2d(x, 2), "pad": lambda x: mg.constant_pad_nd(x, (1, 1)),
        "norm": lambda x: F.batch_norm(x, None, None, training=True),
    }  # fmt: skip
    for name, f in kept.items():
        y, wanted = f(last), f(row)
        assert y.is_contiguous(memory_format=mg.channels_last) and wanted.is_contiguous(), name
        if "like" not in name:
            np.testing.assert_allclose(y.tolist(), wanted.tolist(), atol=1e-6, err_msg=name)
    assert kept["dropout"](last) is last
    written = last.detach().clone()
    for f in (F.dropout, F.dropout2d):
        assert f(written, 1.0, True, inplace=True) is written and written.abs().sum().item() == 0.0
        written.fill_(1.0)
    for f in (
        lambda x: x.contiguous(), lambda x: x.clone(memory_format=mg.contiguous_format), lambda x: row + x,
        lambda x: mg.zeros_like(x, memory_format=mg.contiguous_format), lambda x: x.permute(1, 0, 3, 2) * 2,
        lambda x: mg.randn_like(x, memory_format=mg.contiguous_format), lambda x: x.transpose(2, 3).clone(),
        lambda x: x.half(memory_format=mg.contiguous_format), lambda x: x[:, :, 0] + 1, lambda x: mg.cat([x, row]),
    ):  # fmt: skip
        assert f(last).is_contiguous()
    volume = mg.zeros(2, 3, 2, 2, 2, device="reference").contiguous(memory_format=mg.channels_last_3d)
    assert (volume + 1).stride() == volume.double().stride() == volume.stride()


def test_results_of_layers_of_one_permuted_image_are_row_major() -> None:
    """The stride of its batch is 3, so PyTorch does not regard it as channels last."""
    pixels = mg.tensor(np.arange(24).reshape(2, 4, 3), device="reference")
    image = pixels.permute(2, 0, 1)[None].float() / 255
    assert image.stride() == image.clone().stride() == (3, 1, 12, 3)
    weight = mg.ones(2, 3, 1, 1, device="reference")
    for y in (F.conv2d(image, weight), F.max_pool2d(image, 2), F.interpolate(image, size=2), F.pad(image, (1, 1))):
        assert y.is_contiguous() and y.view(-1).shape == (y.numel(),)
    assert F.conv2d(image, weight).view(-1).tolist() == (image.sum(1).repeat(2, 1, 1)).view(-1).tolist()
    several = mg.cat([image, image]).contiguous(memory_format=mg.channels_last)
    assert F.conv2d(several, weight).stride() == (16, 1, 8, 2)


def written(x: mg.Tensor) -> mg.Tensor:
    """A channels-last result, after writes into parts of it and before one into its whole."""
    y = x.contiguous(memory_format=mg.channels_last) * 2
    y[:, :, 0] = 0.5
    y.select(3, 1).mul_(3)
    y[0].copy_(y[1] + x[0])
    early = y * 3
    y.add_(x)
    return y + early


def test_gradients_through_memory_formats() -> None:
    x = mg.Var(np.linspace(-1, 1, 32).reshape(2, 2, 2, 4), device="reference")
    for f in (
        lambda x: x.contiguous(memory_format=mg.channels_last).contiguous().exp(),
        lambda x: x.contiguous(memory_format=mg.channels_last).exp().contiguous() * x,
        lambda x: x.contiguous(memory_format=mg.channels_last)[..., ::2].contiguous(memory_format=mg.channels_last),
        lambda x: mg.view_as_complex(x[..., :2].contiguous(memory_format=mg.channels_last).clone().contiguous()),
        written,
    ):  # fmt: skip
        mg.testing.gradcheck(f, [x])
        mg.testing.gradgradcheck(f, [x])
    last = x.detach().contiguous(memory_format=mg.channels_last).requires_grad_()
    hidden = last.exp()
    hidden.retain_grad()
    F.max_pool2d(hidden, 1).sum().backward()
    assert hidden.grad.stride() == hidden.stride(), "gradients stay in the order of their tensors"


def test_flags_of_to_may_be_given_by_position() -> None:
    x = mg.tensor(X, device="reference")
    assert x.to(mg.float64, False, True) is not x is x.to(mg.float64, False, False) and x.to("reference", False) is x
    for wrong in (lambda: x.to(True, mg.float32), lambda: x.to(mg.float32, True, True, True)):
        with pytest.raises(MinigradError, match=r"to: .* got bool True"):
            wrong()


@pytest.mark.parametrize(
    "name", ["add", "mul", "maximum", "atan2", "where", "lerp", "addcmul", "clamp", "pow", "hypot"]
)
def test_a_tensor_without_dims_does_not_widen_one_with_dims(name: str) -> None:
    x, one = mg.tensor(X, dtype="float32", device="reference"), mg.tensor(1.0, dtype="float64", device="reference")
    calls = {
        "where": lambda: mg.where(x > 0, x, one), "clamp": lambda: mg.clamp(x, one, None),
        "lerp": lambda: mg.lerp(x, x, one), "addcmul": lambda: mg.addcmul(x, x, one),
    }  # fmt: skip
    assert calls.get(name, lambda: getattr(mg, name)(x, one))().dtype is mg.float32


@over("name", ["tensor_split", "hsplit", "vsplit", "dsplit"])
def test_sections_may_be_called_indices(name: str) -> None:
    x, split = mg.arange(8).reshape(2, 2, 2), getattr(mg, name)
    for part, same in zip(split(x, indices=[1]), split(x, [1]), strict=True):
        assert part.tolist() == same.tolist()
    with pytest.raises(TypeError, match="got both sections and indices"):
        split(x, 2, indices=[1])
