"""One row per op: how to call it, NumPy's result, and the values that its operands may take.

`tests/ops/` drives every row through values, layouts, dtypes, gradients and second derivatives: the whole product on
the reference device, on the others what `selection.py` chooses of it, or all with `--full`.  A declaration in the
schema without a row fails `test_every_declared_op_has_a_row`.  A row's numpy function sees the operands in float64 (or
int64, bool) and says what is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from op_rows import (
    compositions,
    convolution,
    creation,
    indexing,
    linalg,
    losses,
    masks,
    pointwise,
    pooling,
    rows,
    scan,
    shapes,
    sorting,
)
from op_rows.row import ALL, FLOATS, INTS, NUMBERS, Row

import minigrad as mg
from minigrad.ops import casting
from minigrad.ops.nn import activation
from minigrad.ops.nn.embedding import scaled_embedding
from minigrad.ops.pointwise import blends, explog
from minigrad.ops.pointwise.compare import same_number
from minigrad.ops.reduction.variance import centered
from minigrad.ops.shape import put, views


def _erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf, otypes=[np.float64])(x) if np.size(x) else np.zeros(np.shape(x))


def _erfc(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erfc, otypes=[np.float64])(x) if np.size(x) else np.zeros(np.shape(x))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _row(name: str, numpy: Callable[..., Any], *domains: str, **more: Any) -> Row:
    more.setdefault("ops", (name,))
    fn = more.pop("fn", None) or getattr(mg, name, None) or getattr(mg.nn.functional, name, None)
    if fn is None:
        raise ValueError(
            f"Row {name!r}: neither mg nor mg.nn.functional has this function; correct the name or pass fn="
        )
    return Row(name, fn, numpy, domains or ("real",), **more)


FLOAT_RESULT = {"result": "float", "dtypes": ALL}

ELEMENTWISE = [
    _row("add", np.add, "real", "real", dtypes=ALL),
    _row("sub", np.subtract, "real", "real"),
    _row("mul", np.multiply, "real", "real", dtypes=ALL),
    _row("div", np.true_divide, "real", "real", **FLOAT_RESULT),
    _row("neg", np.negative),
    _row("abs", np.abs),
    _row("sign", np.sign, order2=False, refuses=False),
    _row("square", np.square, refuses=False),
    _row("reciprocal", lambda x: 1 / x, **FLOAT_RESULT),
    _row("inverse_square", lambda x: 1 / (x * x), fn=explog.inverse_square, **FLOAT_RESULT),
    _row("sqrt", np.sqrt, "positive", **FLOAT_RESULT),
    _row("rsqrt", lambda x: 1 / np.sqrt(x), "positive", **FLOAT_RESULT),
    _row("hypot", np.hypot, "real", "real", **FLOAT_RESULT),
    _row("pow", np.power, "positive", "positive"),
    Row("pow-negative", mg.pow, np.power, ("positive", "low"), ("pow",), dtypes=FLOATS, refuses=False),
    _row("floor_divide", np.floor_divide, "real", "above1", order2=False),
    _row("remainder", np.mod, "real", "above1"),
    _row("maximum", np.maximum, "real", "real", dtypes=ALL),
    _row("minimum", np.minimum, "real", "real", dtypes=ALL),
    *[Row(f"{name}-ties", getattr(mg, name), getattr(np, name), ("whole", "whole"), (name,), dtypes=ALL,
          order2=False)
      for name in ("maximum", "minimum")],
    _row("clamp", lambda x, lo, hi: np.minimum(np.maximum(x, lo), hi), "real", "low", "high",
         fn=blends.clamp_between, ops=("clamp",), dtypes=ALL),
    _row("clamp-crossed", lambda x, lo, hi: np.minimum(np.maximum(x, lo), hi), "real", "high", "low",
         fn=blends.clamp_between, ops=("clamp",), dtypes=ALL),
    *[_row(name, getattr(np, {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
                              "ge": "greater_equal"}[name]), "distinct", "distinct", dtypes=ALL, result="bool",
           smooth=False) for name in ("eq", "ne", "lt", "le", "gt", "ge")],
    _row("same_number", np.equal, "distinct", "distinct", fn=same_number, dtypes=ALL, result="bool", smooth=False),
    *[_row(name, getattr(np, name), dtypes=ALL, result="bool", smooth=False)
      for name in ("isnan", "isinf", "isfinite")],
    *[_row(name, getattr(np, name), "bool", "bool", dtypes=ALL, result="bool", smooth=False)
      for name in ("logical_and", "logical_or", "logical_xor")],
    _row("logical_not", np.logical_not, "bool", dtypes=ALL, result="bool", smooth=False),
    *[_row(name, getattr(np, name), "distinct", "distinct", dtypes=("bool", *INTS), smooth=False)
      for name in ("bitwise_and", "bitwise_or", "bitwise_xor")],
    _row("where", np.where, "bool", "real", "real", dtypes=ALL),
    _row("exp", np.exp, **FLOAT_RESULT),
    _row("exp2", np.exp2, **FLOAT_RESULT),
    _row("expm1", np.expm1, **FLOAT_RESULT),
    _row("log", np.log, "positive", **FLOAT_RESULT),
    _row("log2", np.log2, "positive", **FLOAT_RESULT),
    _row("log10", np.log10, "positive", **FLOAT_RESULT),
    _row("log1p", np.log1p, "positive", **FLOAT_RESULT),
    Row("frexp", lambda x: mg.frexp(x).mantissa, lambda x: np.frexp(x)[0], ops=("frexp",), dtypes=FLOATS, order2=False),
    Row("frexp-exponent", lambda x: mg.frexp(x).exponent, lambda x: np.frexp(x)[1], ops=("frexp",), dtypes=FLOATS,
        result="int32", smooth=False, kernels=False),
    _row("erf", _erf, **FLOAT_RESULT),
    _row("erfc", _erfc, **FLOAT_RESULT),
    _row("ndtr", lambda x: 0.5 * _erfc(-x / math.sqrt(2)), **FLOAT_RESULT),
    _row("logaddexp", np.logaddexp, "real", "real", **FLOAT_RESULT),
    _row("logaddexp2", np.logaddexp2, "real", "real", **FLOAT_RESULT, kernels=False),
    _row("hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6, **FLOAT_RESULT, kernels=False),
    Row("hardswish-ends", lambda x: mg.nn.functional.hardswish(x * 4.0), lambda x: 4 * x * np.clip(4 * x + 3, 0, 6) / 6,
        ("real",), ("hardswish",), dtypes=FLOATS, refuses=False, tolerance=2, kernels=False),
    _row("sin", np.sin, **FLOAT_RESULT),
    _row("cos", np.cos, **FLOAT_RESULT),
    _row("tan", np.tan, "unit", **FLOAT_RESULT),
    _row("asin", np.arcsin, "unit", **FLOAT_RESULT),
    _row("acos", np.arccos, "unit", **FLOAT_RESULT),
    _row("atan", np.arctan, **FLOAT_RESULT),
    _row("atan2", np.arctan2, "real", "real", **FLOAT_RESULT),
    _row("sinh", np.sinh, **FLOAT_RESULT),
    _row("cosh", np.cosh, **FLOAT_RESULT),
    _row("tanh", np.tanh, **FLOAT_RESULT),
    _row("asinh", np.arcsinh, **FLOAT_RESULT),
    _row("acosh", np.arccosh, "above1", **FLOAT_RESULT),
    _row("atanh", np.arctanh, "unit", **FLOAT_RESULT),
    *[_row(name, getattr(np, name), order2=False) for name in ("floor", "ceil", "trunc", "round")],
    _row("relu", lambda x: np.maximum(x, 0)),
    _row("relu6", lambda x: np.clip(x, 0, 6)),
    Row("relu6-ends", lambda x: mg.relu6(x * 4.0), lambda x: np.clip(x * 4, 0, 6), ("real",), ("relu6",),
        dtypes=FLOATS, refuses=False),
    _row("leaky_relu", lambda x, slope: np.where(x > 0, x, slope * x), "real", "real",
         fn=activation.leaky_relu, ops=("leaky_relu",), **FLOAT_RESULT),
    _row("elu", lambda x, alpha: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))), "real", "positive",
         fn=activation.elu, ops=("elu",), **FLOAT_RESULT),
    _row("sigmoid", _sigmoid, **FLOAT_RESULT),
    _row("log_sigmoid", lambda x: -np.log1p(np.exp(-x)), **FLOAT_RESULT),
    _row("silu", lambda x: x * _sigmoid(x), **FLOAT_RESULT),
    _row("softplus", lambda x, beta, top: np.where(beta * x > top, x, np.log1p(np.exp(beta * x)) / beta), "real",
         "positive", "positive", fn=activation.softplus, ops=("softplus",), **FLOAT_RESULT),
    Row("softplus-far", lambda x, beta, top: activation.softplus(x * 3.0, beta * 0.5, top * 0.5),
        lambda x, beta, top: np.where(3 * beta * x > top, 3 * x, np.log1p(np.exp(1.5 * beta * x)) / (0.5 * beta)),
        ("real", "positive", "positive"), ("softplus",), dtypes=FLOATS, refuses=False),
    _row("gelu", lambda x: 0.5 * x * _erfc(-x / math.sqrt(2)), ops=("gelu",), **FLOAT_RESULT),
    _row("gelu_tanh", _gelu_tanh, fn=lambda x: mg.gelu(x, "tanh"), ops=("gelu_tanh",), **FLOAT_RESULT),
    Row("affine", lambda x: mg.affine(x, 2.0, 0.5), lambda x: x * 2 + 0.5, ("real",), (), dtypes=FLOATS, refuses=False),
    _row("lerp", lambda a, b, w: a + (b - a) * w, "real", "real", "positive", **FLOAT_RESULT, tolerance=2,
         kernels=False),
    _row("addcmul", lambda a, b, c, value: a + value * b * c, "real", "real", "real", "positive", ops=("add_product",),
         fn=blends.add_product, tolerance=2, refuses=False, kernels=False),
    _row("addcdiv", lambda a, b, c, value: a + value * b / c, "real", "real", "above1", "positive",
         ops=("add_quotient",), fn=blends.add_quotient, tolerance=2, dtypes=FLOATS, refuses=False),
]  # fmt: skip


def _reduction(name: str, numpy: Callable[..., Any], domain: str, dim: Any, keepdim: bool, **more: Any) -> Row:
    label = f"{name}-{dim}{'-keepdim' if keepdim else ''}".replace(" ", "")
    axis = dim
    more.setdefault("ops", (name,))
    return Row(label, lambda x: getattr(mg, name)(x, dim, keepdim), lambda x: numpy(x, axis=axis, keepdims=keepdim),
               (domain,), shapes=((2, 3, 4),), **more)  # fmt: skip


REDUCTIONS = [
    *[_reduction("sum", np.sum, "real", d, k, dtypes=ALL, result="sum")
      for d, k in ((None, False), (0, False), (1, True), (-1, False), ((0, 2), False))],
    *[_reduction("prod", np.prod, "real", d, k, dtypes=ALL, result="sum") for d, k in ((None, False), (1, True))],
    Row("prod-zeros", lambda x: mg.prod(x, 1), lambda x: np.prod(x, 1), ("zeros",), ("prod",), ((6, 5),), dtypes=FLOATS,
        refuses=False),
    *[_reduction("mean", np.mean, "real", d, k, dtypes=FLOATS) for d, k in ((None, False), (1, False), ((0, 1), True))],
    *[_reduction(name, getattr(np, name), "distinct", d, k, dtypes=ALL) for name in ("amax", "amin")
      for d, k in ((None, False), (1, True), ((0, 2), False))],
    Row("aminmax", lambda x: mg.aminmax(x, dim=1).min, lambda x: x.min(1), ("distinct",), ("aminmax",), ((2, 3, 4),),
        dtypes=ALL),
    Row("aminmax-max", lambda x: mg.aminmax(x).max, lambda x: x.max(), ("distinct",), ("aminmax",), ((2, 3, 4),),
        dtypes=ALL, kernels=False),
    Row("aminmax-both", lambda x: (lambda y: y.max * 2.0 + y.min)(mg.aminmax(x, dim=2)), lambda x: x.max(2) * 2
        + x.min(2), ("distinct",), ("aminmax",), ((2, 3, 4),), dtypes=FLOATS, refuses=False, kernels=False),
    *[_reduction(name, getattr(np, name), "bool", d, k, dtypes=tuple([dtype for dtype in ALL if dtype != "uint8"]),
                 result="bool", smooth=False, refuses=False)
      for name in ("any", "all") for d, k in ((None, False), (2, True))],
    *[_reduction(name, getattr(np, name), "distinct", d, k, ops=(name,), dtypes=ALL, result="int64", smooth=False)
      for name in ("argmax", "argmin") for d, k in ((None, False), (1, False), (-1, True))],
    Row("max-dim", lambda x: mg.max(x, 1).values, lambda x: np.max(x, 1), ("distinct",), ("max",),
        ((2, 3, 4),), dtypes=ALL),
    Row("min-dim", lambda x: mg.min(x, -1, True)[0], lambda x: np.min(x, -1, keepdims=True), ("distinct",),
        ("min",), ((2, 3, 4),), dtypes=ALL),
    Row("nanmean", lambda x: mg.nanmean(x, (0, 2)), lambda x: x.mean((0, 2)), ("real",), (), ((2, 3, 4),),
        dtypes=FLOATS, refuses=False, tolerance=2, kernels=False),
    Row("sum_to", lambda x: x.sum_to((3, 1)), lambda x: x.sum((0, 2))[:, None], ("real",), (), ((2, 3, 4),),
        dtypes=FLOATS, refuses=False),
    Row("var", lambda x: mg.var(x, (0, 2)), lambda x: np.var(x, (0, 2), ddof=1), ("real",), ("variance",), ((2, 3, 4),),
        dtypes=FLOATS, tolerance=4),
    Row("var_mean", lambda x: mg.var_mean(x, (0, 2)).var, lambda x: np.var(x, (0, 2), ddof=1), ("real",),
        ("variance_and_mean",), ((2, 3, 4),), dtypes=FLOATS, tolerance=4),
    Row("var_mean-mean", lambda x: mg.var_mean(x, 1, keepdim=True)[1], lambda x: x.mean(1, keepdims=True), ("real",),
        ("variance_and_mean",), ((2, 3, 4),), dtypes=FLOATS, kernels=False),
    Row("var_mean-both", lambda x: (lambda y: y.var * 3.0 + y.mean)(mg.var_mean(x, 1)), lambda x: np.var(
        x, 1, ddof=1) * 3 + x.mean(1), ("real",), ("variance_and_mean",), ((2, 3, 4),), dtypes=FLOATS, tolerance=4,
        refuses=False, kernels=False),
    Row("std_mean-both", lambda x: (lambda y: y.std * 3.0 + y.mean)(mg.std_mean(x, 2)), lambda x: np.std(
        x, 2, ddof=1) * 3 + x.mean(2), ("real",), ("deviation_and_mean",), ((2, 3, 4),), dtypes=FLOATS, tolerance=4,
        refuses=False, constant=False, kernels=False),
    Row("std_mean", lambda x: mg.std_mean(x, 1, correction=0).std, lambda x: np.std(x, 1), ("real",),
        ("deviation_and_mean",), ((2, 3, 4),), dtypes=FLOATS, tolerance=4, constant=False, kernels=False),
    Row("centered", lambda x: centered(x, dims=(0, 2)), lambda x: x - x.mean((0, 2), keepdims=True), ("real",),
        ("centered",), ((2, 3, 4),), dtypes=FLOATS, tolerance=4),
    Row("count_nonzero", lambda x: mg.count_nonzero(x, (0, 2)), lambda x: np.count_nonzero(x, (0, 2)), ("bool",),
        ("count",), ((2, 3, 4),), dtypes=ALL, result="int64", smooth=False),
    Row("std", lambda x: mg.std(x, 1), lambda x: np.std(x, 1, ddof=1), ("real",), ("deviation",), ((2, 3, 4),),
        dtypes=FLOATS, tolerance=4, constant=False),
    Row("logsumexp", lambda x: mg.logsumexp(x, (0, 1)), lambda x: np.log(np.exp(x).sum((0, 1))), ("real",),
        ("log_of_sum",), ((2, 3, 4),), dtypes=ALL, result="float", tolerance=2),
    Row("norm", mg.norm, lambda x: np.sqrt((x * x).sum()), ("real",), ("length",), ((2, 3, 4),), dtypes=ALL,
        result="float", tolerance=4),
    Row("norm-1", lambda x: mg.norm(x, 1, (0, 2)), lambda x: np.abs(x).sum((0, 2)), ("real",), ("sum_of_magnitudes",),
        ((2, 3, 4),), dtypes=ALL, result="float", order2=False),
    Row("norm-3", lambda x: mg.norm(x, 3, -1, True), lambda x: (np.abs(x) ** 3).sum(-1, keepdims=True) ** (1 / 3),
        ("real",), (), ((2, 3, 4),), dtypes=ALL, result="float", tolerance=4),
    Row("norm-half", lambda x: x.norm(0.5, dim=1), lambda x: np.sqrt(np.abs(x)).sum(1) ** 2, ("real",), (),
        ((2, 3, 4),), dtypes=ALL, result="float", tolerance=8),
    Row("norm-inf", lambda x: x.norm(float("inf"), 2), lambda x: np.abs(x).max(2), ("distinct",), (), ((2, 3, 4),),
        dtypes=ALL, result="float", order2=False),
    Row("norm-count", lambda x: x.norm(0, 2), lambda x: (x != 0).sum(2).astype(float), ("real",), ("number_present",),
        ((2, 3, 4),), dtypes=ALL, result="float", order2=False),
]  # fmt: skip


def _window(x: np.ndarray) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(x, 3, 1)[:, ::2]


def _strided(x: np.ndarray) -> np.ndarray:
    flat = np.ascontiguousarray(x).reshape(-1)[1:]
    return np.lib.stride_tricks.as_strided(flat, (4, 2, 3), tuple(s * x.itemsize for s in (2, 7, 5)))


def _view(name: str, fn: Callable[..., Any], numpy: Callable[..., Any], *ops: str, **more: Any) -> Row:
    more.setdefault("shapes", ((3, 5, 4),))
    return Row(name, fn, numpy, ("real",), ops or (name,), dtypes=ALL, **more)


def _put(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    found = a.copy()
    found[:2, 1::-1] = b
    return found


VIEWS = [
    _view("permute", lambda x: x.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1)),
    _view("transpose", lambda x: x.transpose(0, -1), lambda x: x.swapaxes(0, -1)),
    _view("mT", lambda x: x.mT, lambda x: x.swapaxes(-1, -2), "transpose"),
    _view("squeeze", lambda x: x.squeeze(1), lambda x: x.squeeze(1), shapes=((3, 1, 4),)),
    _view("unsqueeze", lambda x: x.unsqueeze(-1), lambda x: x[..., None]),
    _view("view", lambda x: x.contiguous().view(5, -1), lambda x: x.reshape(5, -1), "view"),
    _view("reshape", lambda x: x.reshape(2, 30), lambda x: x.reshape(2, 30), "view"),
    _view("flatten", lambda x: x.flatten(1), lambda x: x.reshape(3, 20), "view"),
    _view("flip", lambda x: x.flip(0, 2), lambda x: np.flip(x, (0, 2))),
    _view("stretch", lambda x: views.stretch(x, dims=(1,), shape=(2, 5, 4)), lambda x: np.stack([x] * 5, 1),
          shapes=((2, 4),)),
    _view("expand", lambda x: x.expand(2, 3, 5, 4), lambda x: np.broadcast_to(x, (2, 3, 5, 4)), shapes=((3, 1, 4),)),
    _view("narrow", lambda x: x.narrow(1, 1, 3), lambda x: x[:, 1:4], "narrow", "put_back"),
    _view("select", lambda x: x.select(1, -2), lambda x: x[:, -2]),
    _view("slice", lambda x: x[:, 4:0:-2], lambda x: x[:, 4:0:-2], "index"),
    _view("slices", lambda x: x[::2, -3:, 1:2], lambda x: x[::2, -3:, 1:2], "index"),
    _view("diagonal", lambda x: x.diagonal(1, 0, 1), lambda x: np.diagonal(x, 1, 0, 1)),
    _view("unfold", lambda x: x.unfold(1, 3, 2), _window),
    _view("as_strided", lambda x: x.clone().as_strided((4, 2, 3), (2, 7, 5), 1), _strided,
          "clone", "as_strided", "put_back"),
    _view("index", lambda x: x[..., None, 1:, 2], lambda x: x[..., None, 1:, 2], "index"),
    _view("chunk", lambda x: mg.cat(x.chunk(2, 1)[::-1], 1), lambda x: np.concatenate([x[:, 3:], x[:, :3]], 1),
          "cat"),
    _view("split", lambda x: x.split([1, 4], 1)[1], lambda x: x[:, 1:], "narrow"),
    _view("roll", lambda x: x.roll(2, 1), lambda x: np.roll(x, 2, 1), "rolled"),
    _view("roll-dims", lambda x: x.roll((1, -3, 1), (0, 1, 1)), lambda x: np.roll(x, (1, -2), (0, 1)), "rolled"),
    _view("repeat", lambda x: x.repeat(2, 1, 3), lambda x: np.tile(x, (2, 1, 3)), "rearranged"),
    _view("reshape-copied", lambda x: x.mT.reshape(6, -1), lambda x: x.swapaxes(-1, -2).reshape(6, -1), "rearranged"),
    _view("contiguous", lambda x: x.mT.contiguous(), lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)), "clone"),
    _view("movedim", lambda x: x.movedim(0, -1), lambda x: np.moveaxis(x, 0, -1), "permute"),
    Row("diff", lambda x: mg.diff(x, 2, 0), lambda x: np.diff(x, 2, 0), ("real",), (), ((4, 3),), dtypes=FLOATS,
        refuses=False, tolerance=4, kernels=False),
    Row("tril", lambda x: mg.tril(x, 1), lambda x: np.tril(x, 1), ("real",), (), ((2, 3, 4),), dtypes=ALL,
        kernels=False),
    Row("triu", lambda x: mg.triu(x, -1), lambda x: np.triu(x, -1), ("real",), (), ((2, 4, 3),), dtypes=ALL,
        kernels=False),
    _view("t", lambda x: x[0].t(), lambda x: x[0].T, "permute"),
    _view("clone", mg.clone, lambda x: x.copy()),
    _view("cast", lambda x: casting.cast(x, dtype=x.dtype), lambda x: x.copy()),
    _view("transfer", lambda x: x.to("cpu" if str(x.device) == "reference" else "reference"), lambda x: x.copy()),
    Row("cat", lambda a, b: mg.cat([a, b, a], -1), lambda a, b: np.concatenate([a, b, a], -1), ("real", "real"),
        ("cat",), ((3, 2), (3, 4)), dtypes=ALL),
    Row("stack", lambda a, b: mg.stack([a, b], 1), lambda a, b: np.stack([a, b], 1), ("real", "real"), ("stack",),
        ((3, 2), (3, 2)), dtypes=ALL),
    Row("slice_scatter", lambda a, b: mg.slice_scatter(a, b, 0, 1), lambda a, b: np.concatenate([a[:1], b, a[3:]]),
        ("real", "real"), (), ((4, 2), (2, 2)), dtypes=ALL),
    Row("put", lambda a, b: put.put(a, b, size=(2, 2), stride=(4, -1), storage_offset=1), _put, ("real", "real"),
        ("put",), ((3, 4), (2, 2)), dtypes=ALL),
]  # fmt: skip


def _indexed(name: str, fn: Callable[..., Any], numpy: Callable[..., Any], op: str, *shapes: tuple[int, ...]) -> Row:
    return Row(name, fn, numpy, ("real",) * len(shapes), (op,), shapes, dtypes=ALL)


ROWS_INDEX = np.array([2, 0, -1, 2])
GRID_INDEX = np.array([[0, 2, 1], [-1, 0, 0]])


def _grid(x: Any) -> Any:
    return mg.tensor(GRID_INDEX, device=x.device)


def _rows(x: Any) -> Any:
    return mg.tensor(ROWS_INDEX, device=x.device)


def _scatter_add(x: np.ndarray, src: np.ndarray) -> np.ndarray:
    out = x.copy()
    for i, j in np.ndindex(GRID_INDEX.shape):
        out[i, GRID_INDEX[i, j]] += src[i, j]
    return out


def _index_add(x: np.ndarray, src: np.ndarray) -> np.ndarray:
    out = x.copy()
    for k, position in enumerate(ROWS_INDEX):
        out[:, position] += src[:, k]
    return out


def _index_copy(x: np.ndarray, src: np.ndarray) -> np.ndarray:
    out = x.copy()
    for k, position in enumerate(ROWS_INDEX):
        out[:, position] = src[:, k]
    return out


def _shared(x: Any) -> Any:
    """The rows: two of them, each with half of the gradient, less one with none."""
    half = mg.full((4,), 0.5, dtype=x.dtype, device=x.device)
    return scaled_embedding(x, _rows(x), half) * 2.0 - x.detach()[_rows(x)]


REDUCE = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum, "mean": np.add}


def _scatter_reduce(name: str, include: bool, domain: str = "real", **more: Any) -> Row:
    """scatter_reduce along the second dim, in all of the matrix but a corner that no index names."""

    def numpy(x: np.ndarray, src: np.ndarray) -> np.ndarray:
        out, count = x.copy(), np.full(x.shape, int(include))
        for i, j in np.ndindex(GRID_INDEX.shape):
            place = i, GRID_INDEX[i, j]
            out[place] = REDUCE[name](out[place], src[i, j]) if count[place] else src[i, j]
            count[place] += 1
        return out / np.maximum(count, 1) if name == "mean" else out

    label = f"scatter_reduce-{name}{'' if include else '-without'}"
    return Row(label, lambda x, s: mg.scatter_reduce(x, 1, _grid(x), s, name, include_self=include), numpy,
               (domain, domain), shapes=((3, 3), (2, 3)), refuses=False, kernels=False, **more)  # fmt: skip


INDEXING = [
    *[_scatter_reduce(name, include, dtypes=FLOATS if name == "mean" else NUMBERS, tolerance=4,
                      ops=("scatter_product",) * (name == "prod"))
      for name in ("sum", "mean", "prod") for include in (True, False)],
    *[_scatter_reduce(name, include, "distinct", dtypes=NUMBERS, ops=("attained",), order2=False,
                      constant=False)
      for name in ("amax", "amin") for include in (True, False)],
    _indexed("gather", lambda x: mg.gather(x, 1, _grid(x)), lambda x: np.take_along_axis(x[:2], GRID_INDEX % 3, 1),
             "gather", (3, 3)),
    _indexed("scatter_add", lambda x, s: mg.scatter_add(x, 1, _grid(x), s), _scatter_add, "scatter_add", (3, 3),
             (2, 3)),
    _indexed("index_select", lambda x: mg.index_select(x, 1, _rows(x)), lambda x: x[:, ROWS_INDEX],
             "index_select", (2, 3, 2)),
    _indexed("index_add", lambda x, s: mg.index_add(x, 1, _rows(x), s), _index_add, "index_add", (2, 3), (2, 4)),
    _indexed("index_add-0", lambda x, s: mg.index_add(x, 0, _rows(x), s), lambda x, s: _index_add(x.T, s.T).T,
             "index_add", (3, 2), (4, 2)),
    _indexed("index_copy", lambda x, s: mg.index_copy(x, 1, _rows(x), s), _index_copy, "index_copy", (2, 3), (2, 4)),
    _indexed("index_copy-0", lambda x, s: mg.index_copy(x, 0, _rows(x), s), lambda x, s: _index_copy(x.T, s.T).T,
             "index_copy", (3, 2), (4, 2)),
    Row("embedding", _shared, lambda x: x[ROWS_INDEX], ("real",), ("embedding",), ((3, 2),), dtypes=FLOATS,
        refuses=False),
    _indexed("index_tensor", lambda x: x[:, _grid(x)], lambda x: x[:, GRID_INDEX], "index_select", (2, 3)),
]  # fmt: skip

ROWS: list[Row] = [
    *ELEMENTWISE,
    *REDUCTIONS,
    *VIEWS,
    *INDEXING,
    *linalg.ROWS,
    *convolution.ROWS,
    *pooling.ROWS,
    *rows.ROWS,
    *losses.ROWS,
    *scan.ROWS,
    *sorting.ROWS,
    *masks.ROWS,
    *creation.ROWS,
    *shapes.ROWS,
    *pointwise.ROWS,
    *compositions.ROWS,
    *indexing.ROWS,
]
for _each in ROWS:
    _each.check_ops(mg.schema)
BY_NAME = {row.name: row for row in ROWS}
DEVICES = ("reference", "cpu")
