"""Answers to A4, from JAX."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg


def _at_set(x: Any, index: Any, value: Any) -> Any:
    y = x.clone()
    y[index] = value
    return y


def _at_set_by_mask(x: Any, index: Any, value: Any) -> Any:
    chosen = np.zeros(x.shape, bool)
    chosen[index] = True
    whole = mg.zeros_like(x)
    whole[index] = value
    return mg.where(mg.tensor(chosen), whole, x)


def _at_set_in_place(x: Any, index: Any, value: Any) -> Any:
    with mg.no_grad():
        x[index] = value
    return x


def _at_set_detached(x: Any, index: Any, value: Any) -> Any:
    y = x.detach().clone()
    y[index] = value
    return y


def _at_set_a_number(x: Any, index: Any, value: Any) -> Any:
    y = x.clone()
    y[index] = value.detach()
    return y


def _at_add(x: Any, index: Any, value: Any) -> Any:
    y = x.clone()
    y[index] = y[index] + value
    return y


def _at_set_by_numpy(x: Any, index: Any, value: Any) -> Any:
    y = x.detach().numpy().copy()
    y[index] = value.detach().numpy()
    return mg.Var(y)


def _kept(x: Any, keep: float, generator: Any) -> Any:
    return (mg.rand(*x.shape, generator=generator) < keep).to(x.dtype)


def _dropout_by_seed(x: Any, keep: float, key: int) -> Any:
    mg.manual_seed(key)
    return x * _kept(x, keep, None) / keep


ONCE = mg.Generator(7)


def _ravel(tree: Any, turn: bool = False, cut: bool = False) -> Any:
    leaves: list[Any] = []
    mg.func.tree_map(leaves.append, tree)
    parts = [(x.detach() if cut else x).reshape(-1) for x in leaves]

    def unravel(flat: Any) -> Any:
        pieces = iter(flat.split([x.numel() for x in leaves]))
        return mg.func.tree_map(lambda x: next(pieces).reshape(x.shape[::-1] if turn else x.shape), tree)

    return mg.cat(parts), unravel


def _ravel_by_hand(tree: Any) -> Any:
    if isinstance(tree, mg.Tensor):
        return tree.reshape(-1), lambda flat: flat.reshape(tree.shape)
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    pairs = [_ravel_by_hand(tree[key]) for key in keys]
    sizes = [flat.numel() for flat, _ in pairs]

    def unravel(flat: Any) -> Any:
        parts = [back(part) for (_, back), part in zip(pairs, flat.split(sizes))]
        return dict(zip(keys, parts)) if isinstance(tree, dict) else type(tree)(parts)

    return mg.cat([flat for flat, _ in pairs]), unravel


RIGHT: dict[str, list[Any]] = {
    "A4.1": [_at_set, _at_set_by_mask],
    "A4.2": [
        lambda x, keep, key: x * _kept(x, keep, mg.Generator(key)) / keep,
        lambda x, keep, key: mg.where(mg.rand(*x.shape, generator=mg.Generator(key)) < keep, x / keep, x * 0.0),
    ],
    "A4.3": [_ravel, _ravel_by_hand],
}
WRONG: dict[str, list[Any]] = {
    "A4.1": [
        _at_set_in_place,
        _at_set_detached,
        _at_set_a_number,
        _at_add,
        _at_set_by_numpy,
        lambda x, index, value: x,
    ],
    "A4.2": [
        _dropout_by_seed,
        lambda x, keep, key: x * _kept(x, keep, None) / keep,
        lambda x, keep, key: x * _kept(x, keep, ONCE) / keep,
        lambda x, keep, key: x * _kept(x, keep, mg.Generator(0)) / keep,
        lambda x, keep, key: x * _kept(x, keep, mg.Generator(key)),
        lambda x, keep, key: x * _kept(x, 1 - keep * 0.5, mg.Generator(key)) / keep,
        lambda x, keep, key: x.detach() * _kept(x, keep, mg.Generator(key)) / keep,
    ],
    "A4.3": [
        lambda tree: _ravel(tree, turn=True),
        lambda tree: _ravel(tree, cut=True),
        lambda tree: _ravel(tree)[0],
        lambda tree: (_ravel(tree)[0], lambda flat: tree),
        lambda tree: (_ravel(tree)[0], lambda flat: flat),
        lambda tree: (_ravel(tree)[0], lambda flat: _ravel(tree)[1](flat.flip(0))),
    ],
}
PRINTED = [
    "vmap of grad\n   minigrad  [4.0, 4.0]\n   JAX       [4.0, 4.0]\n",
    "float() under grad\n   minigrad  3.0\n   JAX       ConcretizationTypeError: ",
    "it is 0.5 (1/2) times what it should be",
    "beyond the end\n   minigrad  IndexOutOfRange: ",
    "the derivative of abs at 0\n   minigrad  0.0\n   JAX       1.0\n",
    "the standard deviation of 1, 2, 3\n   minigrad  1.0\n   JAX       0.8165\n",
    "twice the same: False  with a key: True\nanother key, other numbers: True\n",
    "step 43: 0.0145938377, JAX's 0.0145938377\nlargest difference: below 1e-8\n",
    "smallest loss 0.0146 at step 43, and 0.5 at the end\n",
    "the smallest loss was 0.014594; the stored weights have 0.13",
    "the smallest loss was 0.014594; the stored weights have 0.014594\n",
]
