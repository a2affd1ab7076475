"""Rows of what looks at a tensor in another way, cuts it up, joins and pads it: all are made of other ops."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

import minigrad as mg

from .row import ALL, FLOATS, INTS, Row

F = mg.nn.functional
CUBE, MATRIX, VECTOR, IMAGE = (3, 5, 4), (3, 4), (4,), (1, 4, 4, 6)
COLUMNS = np.array([[2, 0, 1]])


def _row(name: str, fn: Callable[..., Any], numpy: Callable[..., Any], *shapes: tuple[int, ...], **more: Any) -> Row:
    shapes = shapes or (CUBE,)
    more.setdefault("dtypes", ALL)
    return Row(name, fn, numpy, ("real",) * len(shapes), more.pop("ops", ()), shapes, kernels=False, **more)


def _joined(call: Callable[..., Any]) -> Callable[..., Any]:
    """The parts that a call gives, end to end, the last one first."""
    return lambda x: mg.cat([part.reshape(-1) for part in call(x)][::-1])


def _parts(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: np.concatenate([part.reshape(-1) for part in call(x)][::-1])


def _filled(x: np.ndarray, part: Any, src: np.ndarray) -> np.ndarray:
    y = x.copy()
    y[part] = src
    return y


def _embedded(x: np.ndarray) -> np.ndarray:
    return np.stack([np.diag(row, -1) for row in x], -1)


def _blocks(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    y = np.zeros((a.shape[0] + 1, a.shape[1] + b.shape[0]), a.dtype)
    y[:-1, : a.shape[1]], y[-1, a.shape[1] :] = a, b
    return y


def _columns(x: np.ndarray) -> np.ndarray:
    """Windows of 2 x 3 with a step of 2 in both, side by side along the rows, one every 2 rows."""
    windows = [x[:, :, i : i + 3 : 2, j : j + 5 : 2].reshape(1, -1) for i in (0,) for j in range(2)]
    return np.stack(windows, -1)


def _added(x: np.ndarray) -> np.ndarray:
    """Four windows of 2 x 2, one every 1, added into 3 x 3."""
    y = np.zeros((2, 1, 3, 3), x.dtype)
    for k in range(4):
        y[:, 0, k // 2 : k // 2 + 2, k % 2 : k % 2 + 2] += x[:, :, k].reshape(2, 2, 2)
    return y


def _apart(x: np.ndarray) -> np.ndarray:
    """Four windows of 2 x 2, one every 2 rows and 3 columns of 4 x 5, of which the third column is in none."""
    y = np.zeros((1, 4, 5), x.dtype)
    for k in range(4):
        y[0, k // 2 * 2 : k // 2 * 2 + 2, k % 2 * 3 : k % 2 * 3 + 2] = x[:, k].reshape(2, 2)
    return y


def _squares(x: np.ndarray) -> np.ndarray:
    return x.reshape(1, 1, 2, 2, 4, 6).transpose(0, 1, 4, 2, 5, 3).reshape(1, 1, 8, 12)


def _channels(x: np.ndarray) -> np.ndarray:
    return x.reshape(1, 4, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(1, 16, 2, 3)


ORDER = [
    _row("unflatten", lambda x: x.unflatten(1, (5, -1)), lambda x: x.reshape(3, 5, 1, 4), ops=("view",)),
    _row("adjoint", mg.adjoint, lambda x: x.swapaxes(1, 2)),
    _row("atleast_1d", lambda x: mg.atleast_1d(x, x.sum())[0], lambda x: x),
    _row("atleast_2d", mg.atleast_2d, lambda x: x[None], VECTOR),
    _row("atleast_3d", mg.atleast_3d, lambda x: x[None, :, None], VECTOR),
    _row("fliplr", mg.fliplr, np.fliplr),
    _row("flipud", mg.flipud, np.flipud),
    _row("rot90", lambda x: x.rot90(3, (0, 2)), lambda x: np.rot90(x, 3, (0, 2))),
    _row("tile", lambda x: x.tile(2, 1), lambda x: np.tile(x, (2, 1)), (2, 3, 2)),
    _row("broadcast_tensors", lambda x: mg.broadcast_tensors(x, x.sum(1, keepdim=True))[1],
         lambda x: np.broadcast_to(x.sum(1, keepdims=True), x.shape), (2, 3), dtypes=FLOATS, refuses=False),
    _row("meshgrid", lambda a, b: mg.meshgrid(a, b, indexing="xy")[1], lambda a, b: np.meshgrid(a, b)[1], (3,), (2,)),
    _row("cartesian_prod", lambda a, b: mg.cartesian_prod(a, b), lambda a, b: np.array([[p, q] for p in a for q in b]),
         (3,), (2,)),
    _row("combinations", lambda x: mg.combinations(x, 3), lambda x: np.array(list(combinations(x, 3))), VECTOR),
]  # fmt: skip

PARTS = [
    _row(name, _joined(call), _parts(numpy), ops=ops)
    for name, call, numpy, ops in (
        ("tensor_split", lambda x: x.tensor_split((1, -1), 1), lambda x: np.split(x, (1, -1), 1), ()),
        ("unbind", lambda x: x.unbind(axis=1), lambda x: np.split(x, 5, 1), ()),
        ("hsplit", lambda x: x.hsplit(5), lambda x: np.hsplit(x, 5), ()),
        ("vsplit", lambda x: x.vsplit([1]), lambda x: np.vsplit(x, [1]), ()),
        ("dsplit", lambda x: x.dsplit(2), lambda x: np.dsplit(x, 2), ()),
        ("split_with_sizes", lambda x: x.split_with_sizes([1, 4], 1), lambda x: np.split(x, [1], 1),
         ("unsafe_split_with_sizes",)),
        ("unsafe_split_with_sizes", lambda x: mg.unsafe_split_with_sizes(x, [1, 4], 1), lambda x: np.split(x, [1], 1),
         ()),
        ("unsafe_split", lambda x: x.unsafe_split(2), lambda x: np.split(x, [2]), ()),
        ("unsafe_chunk", lambda x: x.unsafe_chunk(2, -1), lambda x: np.split(x, 2, -1), ()),
    )
]  # fmt: skip


def _taken_back(g: np.ndarray, word: str) -> np.ndarray:
    """The sum of g over the positions to which each element of (2, 2, 3) is copied."""
    result = np.zeros(12, g.dtype)
    np.add.at(result, np.pad(np.arange(12).reshape(2, 2, 3), ((0, 0), (0, 1), (2, 1)), mode=word), g)
    return result.reshape(2, 2, 3)


PADDING = (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap"))
JOINS = [
    _row("hstack", lambda a, b: mg.hstack([a, b]), lambda a, b: np.hstack([a, b]), (3, 2), (3, 1)),
    _row("vstack", lambda a, b: mg.vstack([a, b]), lambda a, b: np.vstack([a, b]), (2, 3), (3,)),
    _row("dstack", lambda a, b: mg.dstack([a, b]), lambda a, b: np.dstack([a, b]), (2, 3), (2, 3, 2)),
    _row("column_stack", lambda a, b: mg.column_stack([a, b]), lambda a, b: np.column_stack([a, b]), (3,), (3, 2)),
    _row("block_diag", lambda a, b: mg.block_diag(a, b), _blocks, (2, 3), (2,),
         ops=("blocks_joined",)),
    _row("constant_pad_nd", lambda x: mg.constant_pad_nd(x, (1, 2, -1, 1), 1),
         lambda x: np.pad(x[:, 1:], ((0, 0), (0, 1), (1, 2)), constant_values=1), (2, 3, 2)),
    *[_row(f"pad-{mode}", lambda x, mode=mode: F.pad(x, (2, -1), mode), lambda x, word=word: np.pad(
        x[..., :-1], ((0, 0), (2, 0)), mode=word), MATRIX)
      for mode, word in PADDING],
    *[_row(f"pad-{mode} of two dims", lambda x, mode=mode: F.pad(x, (2, 1, 0, 1), mode), lambda x, word=word: np.pad(
        x, ((0, 0), (0, 1), (2, 1)), mode=word), (2, 2, 3), ops=("surrounded",)) for mode, word in PADDING],
    *[_row(f"taken_back-{mode}", lambda g, mode=mode: mg.schema["taken_back"].public(
        g, counts=(0, 0, 0, 1, 2, 1), mode=mode), lambda g, word=word: _taken_back(g, word), (2, 3, 6),
        ops=("taken_back",), dtypes=FLOATS, refuses=False) for mode, word in PADDING],
    _row("repeat_interleave", lambda x: x.repeat_interleave(mg.tensor([2, 0, 1], device=x.device), 1),
         lambda x: np.repeat(x, [2, 0, 1], 1), (2, 3)),
    _row("take_along_dim", lambda x: x.take_along_dim(mg.tensor(COLUMNS, device=x.device), 1),
         lambda x: x[:, COLUMNS[0]], MATRIX),
    _row("one_hot", lambda x: F.one_hot(x.remainder(3), 3), lambda x: np.eye(3, dtype=np.int64)[x.astype(int) % 3],
         (2, 3), dtypes=INTS, result="int64", smooth=False, refuses=False),
]  # fmt: skip

DIAGONALS = [
    _row("diag", lambda x: x.diag(1), lambda x: np.diag(x, 1), (3,), ops=("put_back",)),
    _row("diag_embed", lambda x: x.diag_embed(-1, 0, 1), lambda x: _embedded(x), (2, 3)),
    _row("diagflat", lambda x: x.diagflat(-1), lambda x: np.diagflat(x, -1), (2, 2)),
    _row("trace", mg.trace, np.trace, MATRIX, dtypes=FLOATS, ops=("trace",), refuses=False),
    _row("diagonal_scatter", lambda a, b: mg.diagonal_scatter(a, b, 1),
         lambda a, b: _filled(a, (np.arange(3), np.arange(1, 4)), b), MATRIX, (3,)),
    _row("select_scatter", lambda a, b: mg.select_scatter(a, b, 1, -1), lambda a, b: _filled(a, (slice(None), -1), b),
         MATRIX, (3,)),
    _row("slice_scatter-step", lambda a, b: mg.slice_scatter(a, b, 1, 0, 4, 2),
         lambda a, b: _filled(a, (slice(None), slice(0, 4, 2)), b), MATRIX, (3, 2)),
    _row("as_strided_scatter", lambda a, b: mg.as_strided_scatter(a, b, (2, 2), (4, 1), 1),
         lambda a, b: _filled(a, (slice(0, 2), slice(1, 3)), b), MATRIX, (2, 2)),
    _row("as_strided-turned", lambda x: x.clone().permute(2, 0, 1).as_strided((60,), (1,)).flip(0),
         lambda x: x.reshape(-1)[::-1], ops=("clone", "permute", "as_strided", "flip")),
    _row("as_strided-gaps", lambda x: x.clone()[1:, :, ::2].as_strided((3, 2), (4, 20), 22),
         lambda x: x.reshape(-1)[[[22, 42], [26, 46], [30, 50]]], ops=("clone", "index", "spanned", "as_strided")),
    _row("as_strided-repeated", lambda x: x.clone()[0, 0].expand(3, 4).as_strided((2, 3), (1, 1)),
         lambda x: x.reshape(-1)[[[0, 1, 2], [1, 2, 3]]], ops=("clone", "index", "expand", "spanned", "as_strided")),
]  # fmt: skip

COPIES = [
    _row(f"{name}_copy", call, numpy)
    for name, call, numpy in (
        ("alias", mg.alias_copy, lambda x: x),
        ("as_strided", lambda x: mg.as_strided_copy(x.clone(), (2, 3), (1, 2), 1),
         lambda x: np.stack([x.reshape(-1)[k : k + 5 : 2] for k in (1, 2)])),
        ("diagonal", lambda x: mg.diagonal_copy(x, 1, 0, 2), lambda x: np.diagonal(x, 1, 0, 2)),
        ("expand", lambda x: mg.expand_copy(x, (2, -1, -1, -1)), lambda x: np.stack([x, x])),
        ("narrow", lambda x: x.narrow_copy(1, 2, 3), lambda x: x[:, 2:]),
        ("permute", lambda x: mg.permute_copy(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
        ("select", lambda x: mg.select_copy(x, 1, -1), lambda x: x[:, -1]),
        ("slice", lambda x: mg.slice_copy(x, 1, 1, None, 2), lambda x: x[:, 1::2]),
        ("squeeze", lambda x: mg.squeeze_copy(x[:1], 0), lambda x: x[0]),
        ("t", lambda x: mg.t_copy(x[0]), lambda x: x[0].T),
        ("transpose", lambda x: mg.transpose_copy(x, 0, 1), lambda x: x.swapaxes(0, 1)),
        ("unfold", lambda x: mg.unfold_copy(x, 2, 2, 2), lambda x: x.reshape(3, 5, 2, 2)),
        ("unsqueeze", lambda x: mg.unsqueeze_copy(x, 1), lambda x: x[:, None]),
        ("view", lambda x: mg.view_copy(x, (5, -1)), lambda x: x.reshape(5, 12)),
        ("split", _joined(lambda x: mg.split_copy(x, 2)), _parts(lambda x: np.split(x, [2]))),
        ("split_with_sizes", _joined(lambda x: mg.split_with_sizes_copy(x, [1, 2])),
         _parts(lambda x: np.split(x, [1]))),
        ("unbind", _joined(lambda x: mg.unbind_copy(x, 1)), _parts(lambda x: np.split(x, 5, 1))),
    )
]  # fmt: skip

IMAGES = [
    _row("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), _squares, IMAGE),
    _row("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), _channels, IMAGE),
    _row("channel_shuffle", lambda x: F.channel_shuffle(x, 2), lambda x: x[:, [0, 2, 1, 3]], IMAGE),
    _row("im2col", lambda x: F.unfold(x, (2, 3), 2, 0, (2, 1)), _columns, IMAGE, ops=("windows_of",)),
    _row("col2im", lambda x: F.fold(x, 3, 2), _added, (2, 4, 4), ops=("windows_added",)),
    _row("col2im-apart", lambda x: F.fold(x, (4, 5), 2, stride=(2, 3)), _apart, (4, 4), ops=("windows_added",)),
]

ROWS = [*ORDER, *PARTS, *JOINS, *DIAGONALS, *COPIES, *IMAGES]
