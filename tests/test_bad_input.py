"""A wrong call raises our error type with one sentence: the op, the operands, and what was expected.

Each row of the tables makes one wrong call.  Afterwards nothing has been allocated, or nothing of it is kept where an
index is at fault, and no operand has changed.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceError,
    DTypeError,
    GradientError,
    IndexDTypeError,
    IndexOutOfRange,
    IndexShapeError,
    MinigradError,
    ShapeError,
    StorageError,
    UnsupportedDTypeError,
)

BUILTIN: dict[type[MinigradError], type[Exception]] = {
    ShapeError: ValueError, DTypeError: TypeError, DeviceError: RuntimeError, IndexOutOfRange: IndexError,
    GradientError: RuntimeError, ArgumentError: ValueError, StorageError: RuntimeError, IndexShapeError: IndexError,
    IndexDTypeError: IndexError,
}  # fmt: skip

Row = tuple[str, Callable[[Any], Any], type[MinigradError], str]
F, G, LISTED = "float32(2, 3)", "float32(4,)", "wrap data in mg.tensor(...)"


@pytest.fixture
def o() -> Iterator[SimpleNamespace]:
    """Operands, made before the wrong call: what it allocates is its own doing."""
    v = mg.Var([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    kept = mg.tensor([1, 2]) + 0.5, mg.tensor([1.0]) + 5.0  # Python numbers become tensors once and are kept
    spent = v * v
    spent.backward()
    v.grad = None
    stale = mg.Var([1.0])
    square = stale * stale
    with mg.no_grad():
        stale.add_(1.0)
    yield SimpleNamespace(
        x=mg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), far=mg.ones(2, 3, device="reference"), four=mg.zeros(4),
        three=mg.zeros(3), one=mg.ones(1), cube=mg.zeros(2, 3, 4), batch=mg.zeros(3, 4, 5), scalar=mg.tensor(3.0),
        empty=mg.zeros(0), hollow=mg.zeros(2, 0), i=mg.tensor([0, 1]), i5=mg.tensor([0, 5]), ii=mg.tensor([[0, 1]]),
        ii7=mg.tensor([[0, 7]]), byte=mg.tensor([1, 2], dtype="uint8"), b=mg.tensor([True, False, True]),
        mask=mg.tensor([[True, False, True]] * 2), row=mg.zeros(1, 3), v=v,
        w=mg.Var([1.0]), product=v * 2.0, spent=spent, square=square, store=(v * 3.0).backward(), kept=kept,
        whole=mg.ones(2, 3, dtype="int64"), thin=mg.zeros(1).expand(2, 3), d0=mg.tensor(7), long=mg.ones(3, 1),
    )  # fmt: skip


CREATION: list[Row] = [
    ("ragged", lambda o: mg.tensor([[1, 2], [3]]), ShapeError, "tensor: item 0 (2,) item 1 (1,) the same shape"),
    ("ragged-below", lambda o: mg.tensor([[[1], [2]], [[3], 4]]), ShapeError, "tensor: ragged (1,) ()"),
    ("ragged-Var", lambda o: mg.Var([[1.0], []]), ShapeError, "ragged (1,) (0,)"),
    ("text", lambda o: mg.tensor("abc"), DTypeError, "tensor: str 'abc' only bool, int or float"),
    ("text-inside", lambda o: mg.tensor([1, "a"]), DTypeError, "tensor: str 'a' only bool, int or float"),
    ("None-inside", lambda o: mg.tensor([1.0, None]), DTypeError, "tensor: NoneType None"),
    ("complex", lambda o: mg.tensor(1j, "float32"), DTypeError, "from complex128 to float32 imaginary parts x.real"),
    ("set", lambda o: mg.tensor({1, 2}), DTypeError, "tensor: set {1, 2}"),
    ("complex-array", lambda o: mg.tensor(np.array([1j]), "int64"), DTypeError, "complex128 to int64 imaginary x.real"),
    ("object-array", lambda o: mg.tensor(np.array([None])), DTypeError, "'object' expected one of the dtypes bool"),
    ("too-large-int", lambda o: mg.tensor([2**70]), DTypeError, f"tensor: int {2**70} does not fit int64"),
    ("huge-int", lambda o: mg.tensor([10**5000]), DTypeError, "tensor: int of 16610 bits does not fit int64"),
    ("huge-float", lambda o: mg.tensor([10**5000, 1.0]), DTypeError, "tensor: int of 16610 bits does not fit float32"),
    ("dtype", lambda o: mg.tensor([1.0], dtype="float33"), DTypeError, "'float33' of the dtypes bool bfloat16 float64"),
    ("dtype-number", lambda o: mg.zeros(2, dtype=3), DTypeError, "expected one of the dtypes got 3"),
    ("device", lambda o: mg.tensor([1.0], device="gpu 7"), DeviceError, "'gpu 7' 'cpu', 'cuda' or 'cuda:1'"),
    ("device-missing", lambda o: mg.zeros(2, device="tpu"), DeviceError, "one of the devices cpu, reference got tpu"),
    ("cuda", lambda o: mg.zeros(2, device="cuda"), DeviceError, "device='cuda' not MINIGRAD_CUDA=simulator"),
    ("second-cpu", lambda o: mg.zeros(2, device="cpu:1"), DeviceError, "'cpu:1' write 'cpu'"),
    ("int-gradient", lambda o: mg.tensor([1, 2], requires_grad=True), DTypeError,
     "tensor: floating int64 dtype=mg.float32"),
    ("int-Var", lambda o: mg.Var([1, 2], dtype="int32"), DTypeError, "Var: floating int32"),
    ("bool-Var", lambda o: mg.Var(o.b), DTypeError, "Var: floating bool"),
    ("int-array-Var", lambda o: mg.Var(np.array([1])), DTypeError, "Var: floating int64"),
    ("zeros-gradient", lambda o: mg.zeros(2, dtype="int32", requires_grad=True), DTypeError, "zeros: int32"),
    ("arange-gradient", lambda o: mg.arange(3, requires_grad=True), DTypeError, "arange: int64"),
    ("negative-size", lambda o: mg.zeros(2, -1), ShapeError, "zeros: size -1 (2, -1) 0 or more"),
    ("float-size", lambda o: mg.ones(2.5), ArgumentError, "ones: a size must be an int 2.5"),
    ("nested-size", lambda o: mg.empty((2, (3,))), ArgumentError, "empty: a size must be an int (3,)"),
    ("too-many", lambda o: mg.zeros(2**62), StorageError, f"allocate: {2**62} elements of float32 smaller"),
    ("far-too-many", lambda o: mg.zeros(2**40, 2**20), StorageError, "allocate: elements of float32 smaller"),
    ("full-text", lambda o: mg.full((2,), "a"), DTypeError, "full: fill_value must be a number str 'a'"),
    ("full-None", lambda o: mg.full((2,), None), DTypeError, "full: fill_value must be a number"),
    ("full-tensor", lambda o: mg.full((2,), o.x), DTypeError, f"full: fill_value must be a number {F}"),
    ("full-fit", lambda o: mg.full((2,), 300, dtype="uint8"), DTypeError, "full: 300 uint8 0 to 255"),
    ("zeros-like-list", lambda o: mg.zeros_like([1, 2]), DTypeError, f"zeros_like: list [1, 2] {LISTED}"),
    ("empty-like-list", lambda o: mg.empty_like([1, 2]), DTypeError, f"empty_like: list {LISTED}"),
    ("arange-step", lambda o: mg.arange(0, 3, 0), ArgumentError, "arange: the step cannot be zero 0, 3 and 0"),
    ("arange-fit", lambda o: mg.arange(300, dtype="uint8"), DTypeError, "arange: 299 does not fit uint8"),
    ("arange-huge", lambda o: mg.arange(2**70, 2**70 + 3), DTypeError, f"arange: {2**70} does not fit int64"),
    ("arange-text", lambda o: mg.arange("a"), DTypeError, "arange: end must be a number str 'a'"),
    ("arange-endless", lambda o: mg.arange(float("inf")), ArgumentError, "arange: finite inf"),
    ("arange-nan", lambda o: mg.arange(0, float("nan")), ArgumentError, "arange: finite nan"),
    ("linspace-steps", lambda o: mg.linspace(0, 1, -1), ShapeError, "linspace: -1 0 or more"),
    ("linspace-float", lambda o: mg.linspace(0, 1, 2.5), ArgumentError, "linspace: int 2.5"),
    ("linspace-text", lambda o: mg.linspace("a", 1, 3), DTypeError, "linspace: start must be a number str 'a'"),
    ("eye-negative", lambda o: mg.eye(-2), ShapeError, "eye: -2 0 or more"),
    ("eye-text", lambda o: mg.eye("a"), ArgumentError, "eye: int 'a'"),
    ("from-list", lambda o: mg.from_numpy([1]), DTypeError, "from_numpy: expected a NumPy array list mg.tensor"),
    ("from-read-only", lambda o: mg.from_numpy(np.broadcast_to(np.float32(1), (3,))), ShapeError,
     "from_numpy: read-only mg.tensor"),
    ("from-dlpack-list", lambda o: mg.from_dlpack([1]), DTypeError, "from_dlpack: list [1] mg.tensor"),
]  # fmt: skip

RANDOM: list[Row] = [
    ("rand-int", lambda o: mg.rand(3, dtype="int32"), DTypeError, "rand: floating int32 use randint"),
    ("rand-like-int", lambda o: mg.rand_like(o.i), DTypeError, "rand_like: floating int64 use randint"),
    ("rand-like-list", lambda o: mg.rand_like([1.0]), DTypeError, f"rand_like: list [1.0] {LISTED}"),
    ("randn-size", lambda o: mg.randn(-3), ShapeError, "randn: -3 0 or more"),
    ("generator", lambda o: mg.rand(3, generator=5), ArgumentError, "rand: mg.Generator int 5"),
    ("uniform-text", lambda o: mg.uniform((2,), "a", 1.0), DTypeError, "uniform: low must be a number str 'a'"),
    ("uniform-wide", lambda o: mg.uniform((2,), -1e38, 3e38), ArgumentError, "uniform: high - low 4e+38"),
    ("uniform-high", lambda o: mg.uniform((2,), 1e5, 2e5, dtype="float16"), ArgumentError, "uniform: low float16"),
    ("normal-far", lambda o: mg.normal(1e300, 1.0, (2,)), ArgumentError, "normal: mean float32, got 1e+300"),
    ("uniform-turned", lambda o: mg.uniform((2,), 2.0, 1.0), ArgumentError, "uniform: low <= high 2.0 1.0"),
    ("uniform-nan", lambda o: mg.uniform((2,), 0.0, float("nan")), ArgumentError, "uniform: low <= high nan"),
    ("normal-deviation", lambda o: mg.normal(0.0, -1.0, (2,)), ArgumentError, "normal: std not negative -1.0"),
    ("randint-empty", lambda o: mg.randint(3, 3, (2,)), ArgumentError, "randint: low less than high low=3 high=3"),
    ("randint-float", lambda o: mg.randint(0.5, 3.5, (2,)), ArgumentError, "randint: low must be an int 0.5"),
    ("randint-dtype", lambda o: mg.randint(0, 3, (2,), dtype="bool"), DTypeError, "randint: bool 0 to 2"),
    ("randint-fit", lambda o: mg.randint(0, 300, (2,), dtype="uint8"), DTypeError, "randint: uint8 0 to 299"),
    ("randperm", lambda o: mg.randperm(-3), ShapeError, "randperm: -3 0 or more"),
    ("seed", lambda o: mg.manual_seed("a"), ArgumentError, "manual_seed: must be an int 'a'"),
]  # fmt: skip

VIEWS: list[Row] = [
    ("view-strided", lambda o: o.x.T.view(6), ShapeError, "view: float32(3, 2) strides (1, 3) (6,) reshape() copies"),
    ("view-count", lambda o: o.x.view(5), ShapeError, f"view: {F} 6 elements (5,)"),
    ("view-holes", lambda o: o.x.view(-1, -1), ShapeError, "view: at most one size can be -1, got 2 in (-1, -1)"),
    ("view-dtype", lambda o: o.x.view(mg.int64), ShapeError, "view: whole elements of int64 float32(2, 3) x.clone()"),
    ("view-float", lambda o: o.x.view(2.0, 3), ArgumentError, "view: a size must be an int 2.0"),
    ("view-list", lambda o: mg.view([1, 2], 2), DTypeError, f"view: list [1, 2] {LISTED}"),
    ("reshape-count", lambda o: o.x.reshape(4, 2), ShapeError, f"reshape: {F} 6 elements (4, 2)"),
    ("reshape-hole", lambda o: o.x.reshape(-1, 4), ShapeError, f"reshape: {F} 6 elements (-1, 4)"),
    ("reshape-negative", lambda o: o.x.reshape(-2, 3), ShapeError, "reshape: size -2 (-2, 3) 0 or more"),
    ("reshape-list", lambda o: mg.reshape([1, 2], 2), DTypeError, f"reshape: list [1, 2] {LISTED}"),
    ("narrow-end", lambda o: o.x.narrow(1, 2, 5), IndexOutOfRange,
     f"narrow: start 2 length 5 dim 1 {F} start + length <= 3"),
    ("narrow-start", lambda o: o.x.narrow(1, -4, 1), IndexOutOfRange, f"narrow: {F} got start=-4"),
    ("narrow-dim", lambda o: o.x.narrow(2, 0, 1), IndexOutOfRange, f"narrow: dim 2 {F} valid are -2 to 1"),
    ("narrow-float", lambda o: o.x.narrow(1, 0.5, 1), ArgumentError, "narrow: start must be an int 0.5"),
    ("select", lambda o: o.x.select(1, 7), IndexOutOfRange, f"select: index 7 dim 1 size 3 {F} valid are -3 to 2"),
    ("get", lambda o: o.x.get(-3), IndexOutOfRange, f"select: index -3 dim 0 size 2 {F} valid are -2 to 1"),
    ("transpose", lambda o: o.x.transpose(0, 2), IndexOutOfRange, f"transpose: dim 2 {F} valid are -2 to 1"),
    ("transpose-text", lambda o: o.x.transpose(0, "b"), ArgumentError, "transpose: dim must be an int 'b'"),
    ("permute-twice", lambda o: o.x.permute(0, 0), ShapeError, f"permute: (0, 0) each of the 2 dims {F} once"),
    ("permute-few", lambda o: o.x.permute(0), ShapeError, f"permute: (0,) each of the 2 dims {F} once"),
    ("permute-array", lambda o: mg.permute(np.ones((2, 3)), 1, 0), DTypeError,
     f"permute: ndarray float64(2, 3) {LISTED}"),
    ("squeeze", lambda o: o.x.squeeze(5), IndexOutOfRange, f"squeeze: dim 5 {F} valid are -2 to 1"),
    ("unsqueeze", lambda o: o.x.unsqueeze(4), IndexOutOfRange, f"unsqueeze: dim 4 {F} valid are -3 to 2"),
    ("expand", lambda o: o.x.expand(4, 3), ShapeError, f"expand: {F} (4, 3) equal or 1"),
    ("expand-few", lambda o: o.x.expand(3), ShapeError, f"expand: {F} (3,) equal or 1"),
    ("flip", lambda o: o.x.flip(3), IndexOutOfRange, f"flip: dim 3 {F} valid are -2 to 1"),
    ("flip-twice", lambda o: o.x.flip(0, -2), ShapeError, f"flip: dim 0 is named twice {F}"),
    ("diagonal-same", lambda o: o.x.diagonal(0, 1, 1), ShapeError, f"diagonal: different dims {F}, got 1 and 1"),
    ("diagonal-vector", lambda o: o.b.diagonal(), IndexOutOfRange, "diagonal: dim 1 bool(3,) valid are -1 to 0"),
    ("diagonal-text", lambda o: o.x.diagonal("a"), ArgumentError, "diagonal: offset must be an int 'a'"),
    ("unfold-size", lambda o: o.x.unfold(1, 4, 1), ShapeError, f"unfold: size must be from 0 to 3 dim 1 {F} size=4"),
    ("unfold-step", lambda o: o.x.unfold(1, 2, 0), ShapeError, f"unfold: step at least 1 {F} step=0"),
    ("select-list", lambda o: o.x.select([0], 1), ArgumentError, "select: dim is list [0] number"),
    ("transpose-list", lambda o: o.x.transpose(0, [1]), ArgumentError, "transpose: dim1 is list [1] number"),
    ("expand-list", lambda o: o.x.expand(2, [1], 3), ArgumentError, "expand: shape is tuple (2, [1], 3) number"),
    ("narrow-array", lambda o: o.x.narrow(0, np.array(0), 1), ArgumentError, "narrow: start is ndarray int64() number"),
    ("strided-end", lambda o: o.x.as_strided((4,), (100,)), StorageError, f"as_strided: (4,) (100,) {F} elements"),
    ("strided-offset", lambda o: o.x.as_strided((1,), (1,), 10**6), StorageError, f"as_strided: 1000000 {F}"),
    ("strided-start", lambda o: o.x.as_strided((2,), (-1,)), StorageError, f"as_strided: (-1,) {F}"),
    ("strided-count", lambda o: o.x.as_strided((4,), (1, 1)), ShapeError, "as_strided: (4,) (1, 1) one stride"),
    ("strided-gradient", lambda o: o.v[:, :2].as_strided((1,), (1,), 5), GradientError,
     "as_strided: (1,) offset 5 outside float32 x.detach()"),
    ("flatten-order", lambda o: o.x.flatten(1, 0), ShapeError, f"flatten: start_dim end_dim 1 and 0 {F} swap"),
    ("flatten-dim", lambda o: o.x.flatten(0, 3), IndexOutOfRange, f"flatten: dim 3 {F} valid are -2 to 1"),
    ("flatten-list", lambda o: mg.flatten([1, 2]), DTypeError, f"flatten: list {LISTED}"),
    ("movedim", lambda o: mg.movedim(o.x, 0, 5), IndexOutOfRange, f"movedim: dim 5 {F} valid are -2 to 1"),
    ("t-cube", lambda o: o.cube.t(), ShapeError, "t: at most 2 dims float32(2, 3, 4) use .mT"),
    ("t-list", lambda o: mg.t([1, 2]), DTypeError, f"t: list [1, 2] {LISTED}"),
    ("mT-vector", lambda o: o.four.mT, ShapeError, f"mT: at least 2 dims {G}"),
    ("size", lambda o: o.x.size(3), IndexOutOfRange, f"size: dim 3 {F} valid are -2 to 1"),
]  # fmt: skip

REDUCTIONS: list[Row] = [
    ("sum-dim", lambda o: o.x.sum(2), IndexOutOfRange, f"sum: dim 2 {F} valid are -2 to 1"),
    ("sum-twice", lambda o: o.x.sum((0, -2)), ShapeError, f"sum: dim 0 is named twice (0, -2) {F}"),
    ("sum-text", lambda o: o.x.sum("a"), ArgumentError, "sum: dim must be an int 'a'"),
    ("sum-float", lambda o: o.x.sum(0.5), ArgumentError, "sum: dim must be an int 0.5"),
    ("sum-bool", lambda o: o.x.sum(True), ArgumentError, "sum: dim must be an int True"),
    ("softmax-bool", lambda o: o.x.softmax(False), ArgumentError, "softmax: dim must be an int False"),
    ("zeros-bool", lambda o: mg.zeros(True), ArgumentError, "zeros: a size must be an int True"),
    ("sum-list", lambda o: mg.sum([1, 2]), DTypeError, f"sum: list [1, 2] {LISTED}"),
    ("mean-int", lambda o: o.i.mean(), DTypeError, "mean: int64(2,) floating .to(mg.float32)"),
    ("mean-bool", lambda o: o.b.mean(0), DTypeError, "mean: bool(3,) floating .to(mg.float32)"),
    ("var-int", lambda o: o.i.var(), DTypeError, "var: int64(2,) floating .to(mg.float32)"),
    ("var-correction", lambda o: o.x.var(0, "a"), ArgumentError, f"var: correction {F} must be a number 'a'"),
    ("var-both", lambda o: o.x.var(0, 0, unbiased=True), ArgumentError, "var: correction unbiased correction=0"),
    ("var-list", lambda o: mg.var([1.0]), DTypeError, f"var: list [1.0] {LISTED}"),
    ("amax-nothing", lambda o: o.empty.amax(), IndexShapeError, "amax: an element got float32(0,)"),
    ("amin-nothing", lambda o: o.hollow.amin(1), IndexShapeError, "amin: an element (1,), got float32(2, 0)"),
    ("argmax-nothing", lambda o: o.empty.argmax(), IndexShapeError, "argmax: float32(0,) no element"),
    ("max-nothing", lambda o: o.hollow.max(1), IndexShapeError, "max: float32(2, 0) dim 1"),
    ("max-dims", lambda o: o.x.max((0, 1)), ArgumentError, "max: dim must be an int (0, 1)"),
    ("argmin-dim", lambda o: o.x.argmin(3), IndexOutOfRange, f"argmin: dim 3 {F}"),
    ("argmax-list", lambda o: mg.argmax([1, 2]), DTypeError, f"argmax: list [1, 2] {LISTED}"),
    ("logsumexp-dim", lambda o: o.i.logsumexp(4), IndexOutOfRange, "logsumexp: dim 4 int64(2,)"),
    ("norm-list", lambda o: mg.norm([1.0]), DTypeError, f"norm: list [1.0] {LISTED}"),
    ("softmax-dim", lambda o: o.i.softmax(1), IndexOutOfRange, "softmax: dim 1 int64(2,) valid are -1 to 0"),
    ("softmax-None", lambda o: o.x.softmax(None), ArgumentError, "softmax: dim must be an int None"),
    ("softmax-dtype", lambda o: o.x.softmax(0, "int32"), DTypeError, f"softmax: {F} floating int32"),
    ("softmax-scalar", lambda o: o.scalar.log_softmax(1), IndexOutOfRange, "log_softmax: dim 1 float32() -1 to 0"),
    ("softmax-list", lambda o: mg.softmax([1.0], 0), DTypeError, f"softmax: list [1.0] {LISTED}"),
    ("sum-to", lambda o: o.x.sum_to((5,)), ShapeError, f"sum_to: {F} (5,) equal or 1"),
]  # fmt: skip

MATMUL: list[Row] = [
    ("inner", lambda o: o.x @ o.x, ShapeError, f"matmul: {F} @ {F} last dim of the left, 3 must equal right, 2"),
    ("batch", lambda o: o.cube @ o.batch, ShapeError,
     "matmul: float32(2, 3, 4) @ float32(3, 4, 5) (2,) (3,) do not broadcast"),
    ("vectors", lambda o: o.three @ o.four, ShapeError, "matmul: float32(3,) @ float32(4,) must equal"),
    ("vector-matrix", lambda o: o.three @ o.x, ShapeError, f"matmul: float32(3,) @ {F} must equal"),
    ("scalar", lambda o: o.x @ o.scalar, ShapeError, f"matmul: 1 dim, got float32() with {F} use * for scalars"),
    ("number", lambda o: o.x @ 3.0, DTypeError, f"matmul: float 3.0 {LISTED}"),
    ("list", lambda o: [1.0, 2.0] @ o.x, DTypeError, f"matmul: list [1.0, 2.0] {LISTED}"),
    ("device", lambda o: o.x @ o.far, DeviceError, f"matmul: {F} on cpu {F} on reference .to('cpu')"),
    ("dot-matrices", lambda o: mg.dot(o.x, o.x), ShapeError, f"dot: 1 dim, got {F}"),
    ("mv-matrices", lambda o: mg.mv(o.x, o.x), ShapeError, f"mv: vec must have 1 dim, got {F}"),
    ("mm-cube", lambda o: mg.mm(o.cube, o.x), ShapeError, "mm: 2 dims, got float32(2, 3, 4)"),
    ("outer-list", lambda o: mg.outer([1.0], [2.0]), DTypeError, f"outer: list [1.0] {LISTED}"),
]  # fmt: skip

JOINING: list[Row] = [
    ("cat-nothing", lambda o: mg.cat([]), ArgumentError, "cat: expected a list of at least one tensor nothing"),
    ("cat-tensor", lambda o: mg.cat(o.x), ArgumentError, f"cat: a list {F}"),
    ("cat-number", lambda o: mg.cat([o.x, 3.0]), ArgumentError, f"cat: a list of at least one tensor {F}, float 3.0"),
    ("cat-lists", lambda o: mg.cat([[1.0], [2.0]]), ArgumentError, "cat: list [1.0], list [2.0]"),
    ("cat-shapes", lambda o: mg.cat([o.x, o.row, o.long]), ShapeError,
     f"cat: {F} operand 2 float32(3, 1) agree except along dim 0"),
    ("cat-dims", lambda o: mg.cat([o.x, o.b]), ShapeError, f"cat: {F} bool(3,) must agree"),
    ("cat-dim", lambda o: mg.cat([o.x, o.x], 2), IndexOutOfRange, f"cat: dim 2 {F} valid are -2 to 1"),
    ("cat-scalars", lambda o: mg.cat([o.scalar, o.scalar]), ShapeError, "cat: float32() at least 1 dim stack"),
    ("cat-device", lambda o: mg.cat([o.x, o.far]), DeviceError, f"cat: {F} on cpu {F} on reference .to('cpu')"),
    ("stack-nothing", lambda o: mg.stack([]), ArgumentError, "stack: a list of at least one tensor nothing"),
    ("stack-shapes", lambda o: mg.stack([o.x, o.b]), ShapeError, f"stack: {F} bool(3,) all tensors must have the same"),
    ("stack-dim", lambda o: mg.stack([o.x, o.x], -4), IndexOutOfRange, f"stack: dim -4 {F} valid are -3 to 2"),
    ("stack-text", lambda o: mg.stack([o.x], "a"), ArgumentError, "stack: dim must be an int 'a'"),
    ("stack-lists", lambda o: mg.stack([[1.0]]), ArgumentError, "stack: list [1.0]"),
    ("split-zero", lambda o: o.x.split(0), ArgumentError, f"split: {F} positive size 0"),
    ("split-float", lambda o: o.x.split(1.5), ArgumentError, "split: size must be an int 1.5"),
    ("split-sizes", lambda o: o.x.split([1, 4], 1), ShapeError, f"split: [1, 4] must add up to 3, dim 1 of {F}"),
    ("split-negative", lambda o: o.x.split([-1, 4], 1), ShapeError, f"split: [-1, 4] {F}"),
    ("split-list", lambda o: mg.split([1, 2], 1), DTypeError, f"split: list [1, 2] {LISTED}"),
    ("chunk-zero", lambda o: o.x.chunk(0), ArgumentError, f"chunk: {F} positive 0"),
    ("chunk-text", lambda o: o.x.chunk("a"), ArgumentError, "chunk: must be an int 'a'"),
    ("chunk-dim", lambda o: o.x.chunk(2, 3), IndexOutOfRange, f"chunk: dim 3 {F}"),
    ("repeat-few", lambda o: o.x.repeat(2), ShapeError, f"repeat: 1 counts {F} one count per dim"),
    ("repeat-negative", lambda o: o.x.repeat(2, -1), ShapeError, "repeat: -1 (2, -1) 0 or more"),
    ("roll-float", lambda o: o.x.roll(1.5, 0), ArgumentError, "roll: shifts must be an int 1.5"),
    ("roll-dim", lambda o: o.x.roll(1, 3), IndexOutOfRange, f"roll: dim 3 {F}"),
    ("scatter-start", lambda o: o.x.slice_scatter(o.row, 0, 2), ShapeError,
     f"slice_scatter: float32(1, 3) {F} start=2 dim 0 at most 2"),
    ("scatter-shape", lambda o: o.x.slice_scatter(o.long, 0, 0), ShapeError,
     f"slice_scatter: float32(3, 1) {F} must have the shape"),
    ("scatter-number", lambda o: o.x.slice_scatter(3.0), DTypeError, f"slice_scatter: float 3.0 {LISTED}"),
]  # fmt: skip

INDEXING: list[Row] = [
    ("int", lambda o: o.x[2], IndexOutOfRange, f"select: index 2 dim 0 size 2 {F} valid are -2 to 1"),
    ("negative", lambda o: o.x[0, -4], IndexOutOfRange, "select: index -4 size 3 valid are -3 to 2"),
    ("too-many", lambda o: o.x[0, 0, 0], IndexOutOfRange, f"index: 2 indices for {F}, got 3"),
    ("scalar", lambda o: o.scalar[0], IndexOutOfRange, "index: 0 indices for float32(), got 1"),
    ("ellipses", lambda o: o.x[..., ...], ArgumentError, f"index: at most one Ellipsis {F}"),
    ("float", lambda o: o.x[0.5], IndexDTypeError, "index: float 0.5 an int, a slice, None, ... or an integer tensor"),
    ("text", lambda o: o.x["a"], IndexDTypeError, "index: str 'a' an int, a slice"),
    ("slice-float", lambda o: o.x[0.5:], IndexDTypeError, "index: float 0.5 an int, a slice"),
    ("step-zero", lambda o: o.x[::0], ArgumentError, f"slice: step must not be 0, got 0 dim 0 {F}"),
    ("mask", lambda o: o.x[o.mask[:, :2]], IndexShapeError, f"index: a mask bool(2, 2) the shape (2, 3) {F}"),
    ("mask-list", lambda o: o.x[:, [True, False]], IndexShapeError, f"index: a mask bool(2,) the shape (3,) {F}"),
    ("float-tensor", lambda o: o.x[o.three], IndexDTypeError, f"index: {F} integer float32(3,)"),
    ("float-array", lambda o: o.x[np.array([0.5])], IndexDTypeError, f"index: {F} integer float64(1,)"),
    ("ragged", lambda o: o.x[[[0], [1, 0]]], ShapeError, "ragged (1,) (2,)"),
    ("two-tensors-range", lambda o: o.x[o.i, o.i5], IndexOutOfRange, f"index: index 5 dim 1 size 3 {F} -3 to 2"),
    ("tensor-range", lambda o: o.x[o.i5], IndexOutOfRange,
     f"index_select: index 5 dim 0 size 2 {F} positions are -2 to 1"),
    ("0d-range", lambda o: o.x[o.d0], IndexOutOfRange, f"select: index 7 dim 0 {F}"),
    ("index-device", lambda o: o.far[o.i], DeviceError,
     f"index_select: {F} on reference int64(2,) on cpu .to('reference')"),
    ("set-range", lambda o: o.x.__setitem__(2, 0.0), IndexOutOfRange, f"select: index 2 {F}"),
    ("set-shape", lambda o: o.x.__setitem__(0, o.four), ShapeError, f"index: {G} float32(3,) equal or 1"),
    ("set-list", lambda o: o.x.__setitem__(0, [1.0, 2.0]), ShapeError,
     "index: list of shape (2,) float32(3,) equal or 1"),
    ("set-ragged", lambda o: o.x.__setitem__(0, [[1.0], [2.0, 3.0]]), ShapeError, "ragged (1,) (2,)"),
    ("set-text", lambda o: o.x.__setitem__(0, "a"), DTypeError, "tensor: str 'a' only bool, int or float"),
    ("set-tensor-range", lambda o: o.x.__setitem__(o.i5, 0.0), IndexOutOfRange,
     f"index_copy: index 5 dim 0 size 2 {F}"),
    ("set-tensor-shape", lambda o: o.x.__setitem__(o.i, o.four), ShapeError, f"index: {G} (2, 3) {F} equal or 1"),
    ("set-tensors-range", lambda o: o.x.__setitem__((o.i, o.i5), 0.0), IndexOutOfRange, f"index: index 5 dim 1 {F}"),
    ("set-tensor-Var", lambda o: o.v.__setitem__(o.i, 0.0), GradientError, f"index: a Var {F} mg.no_grad()"),
    ("index_copy-src", lambda o: mg.index_copy(o.x, 0, o.i, o.row), IndexShapeError,
     f"index_copy: float32(1, 3) (2, 3) {F} int64(2,) dim 0"),
    ("set-Var", lambda o: o.v.__setitem__(0, 0.0), GradientError, f"index: a Var {F} mg.no_grad()"),
    ("set-view", lambda o: o.v[0].__setitem__(0, 0.0), GradientError, "index: a view of a Var mg.no_grad()"),
    ("set-from-Var", lambda o: o.whole.__setitem__(0, o.v[0]), GradientError, "index: float32(3,) would lose detach()"),
    ("set-device", lambda o: o.x.__setitem__(0, o.far[0]), DeviceError,
     f"index: float32(3,) on reference {F} cpu .to('cpu')"),
    ("set-stride-0", lambda o: o.thin.__setitem__(0, 1.0), StorageError, "index: float32(3,) strides (0,) clone()"),
    ("gather-dims", lambda o: mg.gather(o.x, 1, o.i), ShapeError, f"gather: int64(2,) as many dims as {F} dim 1"),
    ("gather-dim", lambda o: mg.gather(o.x, 2, o.ii), IndexOutOfRange, f"gather: dim 2 {F} valid are -2 to 1"),
    ("gather-range", lambda o: mg.gather(o.x, 1, o.ii7), IndexOutOfRange,
     f"gather: index 7 dim 1 size 3 {F} positions are -3 to 2"),
    ("gather-float", lambda o: mg.gather(o.x, 1, o.x), IndexDTypeError, f"gather: {F} integer dtype"),
    ("gather-list", lambda o: mg.gather(o.x, 1, [[0]]), DTypeError, f"gather: list [[0]] {F} {LISTED}"),
    ("scatter_add-src", lambda o: mg.scatter_add(o.x, 1, o.ii, o.x[:, :1]), ShapeError,
     "scatter_add: float32(2, 1) int64(1, 2) same shape"),
    ("index_select-dims", lambda o: mg.index_select(o.x, 0, o.ii), IndexShapeError,
     f"index_select: {F} 1 dim int64(1, 2)"),
    ("index_select-range", lambda o: mg.index_select(o.x, 0, o.i5), IndexOutOfRange,
     f"index_select: index 5 size 2 {F}"),
    ("index_select-list", lambda o: mg.index_select(o.x, 0, [0]), DTypeError, f"index_select: list [0] {LISTED}"),
    ("index_add-src", lambda o: mg.index_add(o.x, 0, o.i, o.row), IndexShapeError,
     f"index_add: float32(1, 3) (2, 3) {F} int64(2,) dim 0"),
    ("index_add-range", lambda o: mg.index_add(o.x, 0, o.i5, o.x), IndexOutOfRange, f"index_add: index 5 dim 0 {F}"),
    ("index_add-number", lambda o: mg.index_add(o.x, 0, o.i, 1.0), DTypeError, f"index_add: float 1.0 {LISTED}"),
    ("index_add-device", lambda o: mg.index_add(o.x, 0, o.i, o.far), DeviceError,
     f"index_add: {F} on reference .to('cpu')"),
]  # fmt: skip

ELEMENTWISE: list[Row] = [
    ("shapes", lambda o: o.x + o.four, ShapeError, f"add: {F} and {G} dim 1 is 3 against 4 only equal sizes or 1"),
    ("shapes-three", lambda o: mg.where(o.mask, o.x, o.four), ShapeError,
     f"where: bool(2, 3) and {F} and {G} equal sizes or 1"),
    ("device", lambda o: o.x * o.far, DeviceError, f"mul: {F} on cpu {F} on reference .to('cpu')"),
    ("text", lambda o: o.x + "a", DTypeError, f"add: str 'a' {F} {LISTED}"),
    ("list", lambda o: [1.0, 2.0, 3.0] - o.x, DTypeError, f"sub: list [1.0, 2.0, 3.0] {F} {LISTED}"),
    ("None", lambda o: o.x / None, DTypeError, f"div: NoneType None {F}"),
    ("imaginary", lambda o: o.x.imag, DTypeError, f"imag: input a complex dtype {F} .to(mg.complex64)"),
    ("pairs", lambda o: mg.view_as_complex(o.x), ShapeError, f"view_as_complex: length 2 stride 1 {F} contiguous()"),
    ("less-text", lambda o: o.x < "a", DTypeError, f"lt: str 'a' {F}"),
    ("less-shape", lambda o: o.x >= o.four, ShapeError, f"ge: {F} and {G}"),
    ("number-alone", lambda o: mg.exp(1.0), DTypeError, f"exp: must be a tensor float 1.0 {LISTED}"),
    ("numbers-alone", lambda o: mg.maximum(1.0, 2.0), DTypeError,
     f"maximum: must be a tensor float 1.0, float 2.0 {LISTED}"),
    ("bool-minus", lambda o: o.b - o.b, DTypeError, "sub: bool(3,), bool(3,) convert with .to(mg.int64)"),
    ("bool-negated", lambda o: -o.b, DTypeError, "neg: bool(3,) .to(mg.int64)"),
    ("float-bits", lambda o: o.x & o.x, DTypeError, f"bitwise_and: {F}, {F} expected bool or integers"),
    ("float-inverted", lambda o: ~o.x, DTypeError, f"bitwise_not: {F} integer dtype"),
    ("int-bits-float", lambda o: o.i | 0.5, DTypeError, "bitwise_or: int64(2,), float32() expected bool or integers"),
    ("where-float", lambda o: mg.where(o.x, o.x, o.x), DTypeError, f"where: {F} condition must be bool x > 0"),
    ("too-large", lambda o: o.byte < 300, DTypeError, "lt: uint8(2,) 300 does not fit uint8 0 to 255"),
    ("negative", lambda o: o.byte // -1, DTypeError, "floor_divide: uint8(2,) -1 does not fit uint8 0 to 255"),
    ("huge", lambda o: o.x + 10**5000, DTypeError, f"add: {F} int of 16610 bits too large for any float"),
    ("beyond", lambda o: o.x + 2**63, DTypeError, f"add: {F} 9223372036854775808 does not fit int64 write a float"),
    ("far-beyond", lambda o: o.x * -(2**70), DTypeError, f"mul: {F} -1180591620717411303424 does not fit int64"),
    ("beyond-unsigned", lambda o: o.x + np.uint64(2**63), DTypeError, f"add: {F} 9223372036854775808 does not fit"),
    ("beyond-extreme", lambda o: o.x.maximum(2**70), DTypeError, f"maximum: {F} 1180591620717411303424 does not fit"),
    ("beyond-fill", lambda o: o.x.fill_(2**70), DTypeError, "fill_: 1180591620717411303424 does not fit int64"),
    ("beyond-full", lambda o: mg.full((2,), 2**70, dtype="f32"), DTypeError, "full: does not fit int64 write a float"),
    ("beyond-arange", lambda o: mg.arange(2**70, 2**70 + 9, dtype="f32"), DTypeError, "arange: does not fit int64"),
    ("clamp-free", lambda o: o.x.clamp(), ArgumentError, f"clamp: {F} at least one of min and max"),
    ("clamp-free-in-place", lambda o: o.x.clamp_(), ArgumentError, f"clamp: {F} at least one of min and max"),
    ("clamp-text", lambda o: o.x.clamp("a"), DTypeError, f"clamp: str 'a' {F}"),
    ("clamp-list", lambda o: mg.clamp([1.0], 0.0), DTypeError, f"clamp: list [1.0] {LISTED}"),
    ("gelu", lambda o: o.x.gelu("fast"), ArgumentError, f"gelu: {F} 'none' or 'tanh' 'fast'"),
    ("gelu-list", lambda o: mg.gelu([1.0]), DTypeError, f"gelu: list [1.0] {LISTED}"),
    ("elu-text", lambda o: o.x.elu("a"), DTypeError, f"elu: str 'a' {F}"),
    ("leaky-None", lambda o: o.x.leaky_relu(None), DTypeError, f"leaky_relu: None {F}"),
    ("lerp-numbers", lambda o: mg.lerp(o.x, o.four, 0.5), ShapeError, f"lerp: {F} and {G} do not broadcast"),
    ("add-alpha", lambda o: mg.add(o.x, o.x, alpha=None), ArgumentError, "add: alpha must be a number None"),
    ("pool-array", lambda o: mg.max_pool2d(o.cube, np.array([2, 2])), ArgumentError,
     "max_pool2d: kernel_size must be an int int64(2,)"),
    ("lerp-list", lambda o: mg.lerp([1.0], [2.0], 0.5), DTypeError, f"lerp: list [1.0] {LISTED}"),
    ("relu-bool", lambda o: o.b.relu(), DTypeError, "relu: bool(3,)"),
]  # fmt: skip

WRITING: list[Row] = [
    ("out-shape", lambda o: mg.add(o.four, o.x[:, :1], out=o.four), ShapeError, "add: out is float32(4,) must agree"),
    ("out-dtype", lambda o: mg.exp(o.x, out=o.whole), DTypeError, f"exp: {F} out is int64(2, 3) stored there"),
    ("out-device", lambda o: mg.exp(o.x, out=o.far), DeviceError, f"exp: cpu {F} on reference must be on the device"),
    ("out-list", lambda o: mg.exp(o.x, out=[1.0]), DTypeError, "exp: out must be a tensor list [1.0]"),
    ("out-Var", lambda o: mg.exp(o.x, out=o.v), GradientError, f"exp: a Var {F} mg.no_grad()"),
    ("out-stride-0", lambda o: mg.exp(o.x, out=o.thin), StorageError, f"exp: {F} strides (0, 0) clone()"),
    ("add_-shape", lambda o: o.three.add_(o.x), ShapeError, f"add_: {F} float32(3,) is changed in place must agree"),
    ("add_-dtype", lambda o: o.i.add_(0.5), DTypeError, "add_: float32(2,) int64(2,) no float32 can be stored there"),
    ("add_-Var", lambda o: o.v.add_(5.0), GradientError, f"add_: a Var {F} mg.no_grad()"),
    ("add_-view", lambda o: o.v[0].mul_(5.0), GradientError, "mul_: a view of a Var, float32(3,) mg.no_grad()"),
    ("add_-quiet", lambda o: mg.no_grad()(lambda: o.product[0])().mul_(5.0), GradientError,
     "mul_: float32(3,) was made under mg.no_grad() make the view outside"),
    ("add_-stride-0", lambda o: o.thin.add_(5.0), StorageError, f"add_: {F} strides (0, 0) clone()"),
    ("exp_-int", lambda o: o.i.exp_(), DTypeError, "exp_: float32(2,) int64(2,) no float32 can be stored there"),
    ("fill_-text", lambda o: o.x.fill_("a"), DTypeError, "fill_: value must be a number str 'a'"),
    ("fill_-None", lambda o: o.x.fill_(None), DTypeError, "fill_: value must be a number NoneType"),
    ("fill_-fit", lambda o: o.byte.fill_(300), DTypeError, "fill_: 300 does not fit uint8 0 to 255"),
    ("fill_-tracked", lambda o: o.whole.fill_(o.v[0, 0]), GradientError, "fill_: float32() would lose detach()"),
    ("set-tracked-list", lambda o: o.x.__setitem__(0, [o.v[0, 0], 0.0, 0.0]), GradientError,
     "index: the gradient of float32() would be lost mg.stack"),
    ("copy_-shape", lambda o: o.x.copy_(o.four), ShapeError, f"copy_: {G} {F} equal or 1"),
    ("set-Var-shape", lambda o: o.v.set([1.0]), ShapeError, f"set: (1,) {F} must have the shape"),
    ("set-Var-ragged", lambda o: o.v.set([[1.0], [1.0, 2.0]]), ShapeError, "ragged (1,) (2,)"),
    ("set-Var-self", lambda o: o.v.set(o.v.detach()), StorageError, f"set: {F} share memory clone()"),
    ("requires_grad_-int", lambda o: o.i.requires_grad_(), DTypeError, "requires_grad_: int64(2,) a floating dtype"),
    ("requires_grad_-off", lambda o: o.product.requires_grad_(False), GradientError,
     f"requires_grad_: {F} result of mul detach()"),
    ("detach_-view", lambda o: o.product[0].detach_(), GradientError, "detach_: a view float32(3,) x.detach()"),
    ("data-kind", lambda o: setattr(o.v, "data", o.i), DTypeError, f"data: {F} int floating"),
]  # fmt: skip

CONVERSION: list[Row] = [
    ("item", lambda o: o.x.item(), ShapeError, f"item: one element {F} of 6 use tolist()"),
    ("item-empty", lambda o: o.empty.item(), ShapeError, "item: one element float32(0,) of 0"),
    ("float", lambda o: float(o.x), ShapeError, f"float: one element {F} of 6"),
    ("int", lambda o: int(o.empty), ShapeError, "int: one element float32(0,) of 0"),
    ("complex", lambda o: complex(o.x), ShapeError, f"complex: one element {F} of 6"),
    ("round", lambda o: round(o.x, 2), ShapeError, f"round: one element {F} of 6"),
    ("range", lambda o: range(o.scalar), DTypeError, "index: an integer dtype float32()"),
    ("in", lambda o: o.four in o.x, ShapeError, f"eq: {F} {G}"),
    ("asarray", lambda o: np.asarray(o.x, dtype=np.float64, copy=False), ArgumentError, f"array__: {F} float64 copy"),
    ("requires_grad", lambda o: setattr(o.i, "requires_grad", True), DTypeError, "int64(2,) a floating dtype"),
    ("dim-5", lambda o: o.x.dim(5), IndexOutOfRange, f"dim: dim 5 {F} -2 to 1"),
    ("stride-5", lambda o: o.x.stride(5), IndexOutOfRange, f"stride: dim 5 {F} -2 to 1"),
    ("view_as", lambda o: o.x.view_as(o.four), ShapeError, f"view: {F} (4,)"),
    ("expand_as", lambda o: o.x.expand_as(o.four), ShapeError, f"expand: {F} (4,)"),
    ("reshape_as", lambda o: o.x.reshape_as([1.0]), DTypeError, f"reshape_as: list [1.0] {LISTED}"),
    ("type_as", lambda o: o.x.type_as(None), DTypeError, f"type_as: None {LISTED}"),
    ("unbind", lambda o: o.scalar.unbind(), IndexOutOfRange, "unbind: dim 0 float32() has no dims"),
    ("gelu_-int", lambda o: o.whole.gelu_(), DTypeError, "gelu_: the result is float32(2, 3), int64(2, 3)"),
    ("gelu_", lambda o: o.x.gelu_("fast"), ArgumentError, f"gelu: {F} 'none' or 'tanh' 'fast'"),
    ("elu_-Var", lambda o: o.v.elu_(), GradientError, f"elu_: a Var, {F} mg.no_grad()"),
    ("softplus_-view", lambda o: o.v[0].softplus_(), GradientError, "softplus_: a view of a Var, float32(3,)"),
    ("relu6_-thin", lambda o: o.thin.relu6_(), StorageError, f"relu6_: {F} strides (0, 0)"),
    ("bool", lambda o: bool(o.x), ShapeError, f"bool: {F} ambiguous .any() or .all()"),
    ("bool-empty", lambda o: bool(o.empty), ShapeError, "bool: float32(0,) .any() or .all()"),
    ("index", lambda o: [1, 2][o.scalar], DTypeError, "index: integer float32()"),
    ("numpy", lambda o: o.v.numpy(), GradientError, f"numpy: {F} use x.detach().numpy()"),
    ("asarray", lambda o: np.asarray(o.v, copy=False), GradientError, f"numpy: {F} use x.detach().numpy()"),
    ("to-word", lambda o: o.x.to("float33"), DTypeError, "to: 'float33' mg.float64 'cpu'"),
    ("to-number", lambda o: o.x.to(3.0), DTypeError, "to: float 3.0 mg.float64 'cpu'"),
    ("to-device", lambda o: o.x.to("tpu"), DeviceError, "one of the devices cpu, reference got tpu"),
    ("to-two", lambda o: o.x.to("float64", "int32"), ArgumentError, f"to: {F} one dtype ('float64', 'int32')"),
    ("cast", lambda o: mg.cast(o.x, dtype="q"), DTypeError, "expected one of the dtypes 'q'"),
    ("cast-list", lambda o: mg.cast([1.0], dtype="int32"), DTypeError, f"cast: list [1.0] {LISTED}"),
    ("clone-list", lambda o: mg.clone([1.0]), DTypeError, f"clone: list [1.0] {LISTED}"),
    ("contiguous-list", lambda o: mg.contiguous([1.0]), DTypeError, f"contiguous: list [1.0] {LISTED}"),
    ("promote", lambda o: mg.promote("float32", "q"), DTypeError, "expected one of the dtypes 'q'"),
    ("threads", lambda o: mg.set_num_threads(0), ArgumentError, "set_num_threads: expected at least 1, got 0"),
    ("default-float", lambda o: mg.set_default_float("int32"), DTypeError, "float16, bfloat16, float32, float64 int32"),
    ("statistics", lambda o: mg.memory_stats("tpu"), DeviceError, "'tpu' set_allocator"),
]  # fmt: skip

GRADIENTS: list[Row] = [
    ("constant", lambda o: o.x.backward(), GradientError, f"backward: {F} no Var"),
    ("integers", lambda o: o.i.backward(), GradientError, "backward: int64(2,) .to(mg.float32)"),
    ("list", lambda o: mg.backward([1.0]), DTypeError, f"backward: list [1.0] {LISTED}"),
    ("twice", lambda o: o.spent.backward(), GradientError, "backward: mul(2, 3) freed retain_graph=True"),
    ("stale", lambda o: o.square.backward(), StorageError, "backward: mul(1,) float32(1,) version 0 version 1 clone()"),
    ("cotangent-shape", lambda o: o.product.backward(o.four), ShapeError, f"backward: {G} {F}"),
    ("cotangent-device", lambda o: o.product.backward(o.far), DeviceError, f"backward: {F} on reference .to('cpu')"),
    ("cotangent-number", lambda o: o.product.backward(1.0), DTypeError, f"backward: the gradient float 1.0 {LISTED}"),
    ("store-no-leaf", lambda o: o.store[o.product], GradientError, f"grads[...]: {F} result of mul use mg.grad(y, x)"),
    ("store-constant", lambda o: o.store[o.x], GradientError, f"grads[...]: {F} mg.Var"),
    ("store-unreached", lambda o: o.store[o.w], GradientError, "grads[...]: float32(1,) received no gradient"),
    ("store-text", lambda o: o.store["a"], GradientError, "grads[...]: str 'a' Var"),
    ("grad-constant", lambda o: mg.grad(o.product, o.x), GradientError, f"grad: input {F} mg.Var"),
    ("grad-unused", lambda o: mg.grad(o.product, [o.v, o.w]), GradientError, "grad: float32(1,) allow_unused=True"),
    ("grad-number", lambda o: mg.grad(3.0, o.v), DTypeError, f"grad: float 3.0 {LISTED}"),
    ("grad-None", lambda o: mg.grad(o.product, None), DTypeError, f"grad: None {LISTED}"),
    ("grad-cotangents", lambda o: mg.grad([o.product], [o.v], [o.x, o.x]), GradientError,
     "grad: grad_outputs 1 entries one per output got 2"),
]  # fmt: skip

FAMILIES = {
    "creation": CREATION, "random": RANDOM, "views": VIEWS, "reductions": REDUCTIONS, "matmul": MATMUL,
    "joining": JOINING, "indexing": INDEXING, "elementwise": ELEMENTWISE, "writing": WRITING,
    "conversion": CONVERSION, "gradients": GRADIENTS,
}  # fmt: skip
ROWS = [pytest.param(row, id=f"{family}-{row[0]}") for family, rows in FAMILIES.items() for row in rows]


def contents(o: SimpleNamespace) -> list[Any]:
    """What a wrong call might have changed: values, versions, gradients, the graph."""
    state: list[Any] = []
    for value in vars(o).values():
        if isinstance(value, mg.Tensor):
            node = value.op
            state += [value.detach().tolist(), value.storage.version, getattr(value, "grad", None)]
            state.append(None if node is None else node.saved)
    return [*state, str(mg.default_float()), str(mg.default_device()), mg.is_grad_enabled()]


def words(parts: str) -> list[str]:
    """Split at spaces outside of brackets: `float32(2, 3)` is one word."""
    found, depth = [""], 0
    for letter in parts:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == " " and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return found


@over("row", ROWS)
def test_a_wrong_call_explains_itself_and_changes_nothing(row: Row, o: SimpleNamespace) -> None:
    _, call, kind, parts = row
    before, allocations = contents(o), mg.memory_stats().allocations
    with pytest.raises(MinigradError) as caught:
        call(o)
    made = mg.memory_stats().allocations - allocations
    error, message = caught.value, str(caught.value)
    narrower = {ArgumentError: ArgumentTypeError, DTypeError: UnsupportedDTypeError}
    exact = (kind, narrower.get(kind, kind))
    assert type(error) in exact and isinstance(error, BUILTIN[kind]), repr(error)
    assert [word for word in words(parts) if word not in message] == [], message
    assert "\n" not in message and not message.endswith(".") and ". " not in message.replace("... ", ""), message
    assert contents(o) == before
    if "positions are" in message:  # an index is checked as it is used, and what was made by then is thrown away
        del caught, error  # a traceback holds the frames of the call
        gc.collect()  # what tests before this one have left in cycles may go at any moment
        live = mg.memory_stats().live
        with suppress(MinigradError):
            call(o)
        gc.collect()
        assert mg.memory_stats().live == live, "something was kept"
    else:
        assert made == 0, "something was allocated"


KEYWORDS: list[Callable[[Any], Any]] = [
    lambda x: mg.tensor([1.0], foo=1), lambda x: mg.Var([1.0], foo=1), lambda x: mg.zeros(2, foo=1),
    lambda x: mg.rand(2, foo=1), lambda x: mg.exp(x, foo=1), lambda x: mg.add(x, x, gamma=2), lambda x: x.sum(axes=0),
    lambda x: x.view(6, foo=1), lambda x: x.narrow(0, 0, 1, foo=1), lambda x: x.matmul(x.T, foo=1),
    lambda x: mg.cat([x], axes=0), lambda x: x.clamp(low=0.0), lambda x: x.to(foo=1), lambda x: mg.clone(x, foo=1),
    lambda x: x.backward(foo=1), lambda x: x.add_(x, gamma=2), lambda x: mg.set_printoptions(foo=1),
    lambda x: mg.gather(x, 0, x, sparse=True), lambda x: x.softmax(keepdims=True),
]  # fmt: skip


@over("call", KEYWORDS, ids=range(len(KEYWORDS)))
def test_an_unknown_keyword_is_a_type_error_that_names_it(call: Callable[[Any], Any]) -> None:
    x = mg.ones(2, 3)
    allocations = mg.memory_stats().allocations
    with pytest.raises(TypeError, match=r"foo|gamma|axes|keepdims|low|sparse"):
        call(x)
    assert mg.memory_stats().allocations == allocations


def test_the_number_of_tensors_is_checked() -> None:
    x = mg.ones(2, 3)
    for call in (lambda: mg.exp(), lambda: mg.exp(x, x), lambda: mg.clone(x, x), lambda: x.narrow(1)):
        with pytest.raises(TypeError, match=r"argument|tensors"):
            call()


def test_an_unknown_setting_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="foo"), mg.override(foo=1):
        pass


def test_equality_with_what_is_no_number_is_false() -> None:
    x = mg.ones(2)
    assert (x == "a") is False and x != "a" and x != [1.0, 1.0] and x in [None, "a", x]


def test_a_row_may_be_copied_onto_another_of_the_same_tensor() -> None:
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]])
    x[1] = x[0]
    assert x.tolist() == [[1.0, 2.0], [1.0, 2.0]]


def test_an_empty_list_indexes_nothing() -> None:
    assert mg.ones(2, 3)[[]].shape == (0, 3)


def test_a_store_answers_for_what_is_no_tensor() -> None:
    v = mg.Var([1.0])
    grads = (v * 2.0).backward()
    assert "a" not in grads and grads.get("a") is None


def test_the_length_of_a_scalar_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"expected a tensor with at least 1 dim, got a tensor of shape \(\)"):
        len(mg.tensor(1.0))


def test_a_walk_over_a_scalar_is_a_type_error_as_python_says_of_a_number() -> None:
    x = mg.tensor(1.0)
    for walk in (iter, list, lambda x: [*x], lambda x: zip(x, x), lambda x: dict.fromkeys(x), lambda x: max(x)):
        with pytest.raises(
            TypeError,
            match=r"iter: expected a tensor with at least 1 dim, got float32\(\); read the value with .item\(\)",
        ):
            walk(x)
    assert not np.iterable(x) and np.iterable(x.reshape(1))


def test_writing_through_overlapping_windows_is_refused() -> None:
    x = mg.zeros(6)
    with pytest.raises(StorageError, match=r"whose elements share memory"):
        x.unfold(0, 3, 1).add_(1.0)
    assert x.tolist() == [0.0] * 6
    x.unfold(0, 3, 3).add_(1.0)
    x.reshape(2, 3).T[::2].add_(1.0)
    assert x.tolist() == [2.0, 1.0, 2.0, 2.0, 1.0, 2.0]


def test_the_class_takes_lengths_or_data_and_names_what_is_neither() -> None:
    assert mg.Tensor([1.0, 2.0]).tolist() == [1.0, 2.0] and mg.Tensor(2, 3).shape == (2, 3)
    with pytest.raises(DTypeError, match="got str 'a'"):
        mg.Tensor("abc")
