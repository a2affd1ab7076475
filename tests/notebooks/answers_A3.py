"""Answers to A3, from PyTorch."""

from __future__ import annotations

from typing import Any

import minigrad as mg


def _strict(y: Any) -> Any:
    if y.numel() != 1:
        raise ValueError(f"a scalar is needed, and this has {y.numel()} elements")
    return y.backward()


def _strict_by_item(y: Any) -> Any:
    sizes = 1
    for n in y.shape:
        sizes *= n
    if sizes == 1:
        return y.backward()
    raise ValueError("no scalar")


def _strict_too_late(y: Any) -> Any:
    grads = y.backward()
    if y.numel() != 1:
        raise ValueError("too late")
    return grads


def _strict_by_rank(y: Any) -> Any:
    if y.ndim:
        raise ValueError("no scalar")
    return y.backward()


def _strict_without_a_result(y: Any) -> None:
    _strict(y)


def _strict_by_assertion(y: Any) -> Any:
    assert y.numel() == 1
    return y.backward()


def _strict_by_minigrad(y: Any) -> Any:
    y.item()
    return y.backward()


def _load(w: Any, state: Any, turn: Any = None, first: bool = True, renew: bool = False) -> Any:
    if first and set(w) != set(state):
        raise KeyError("names differ")
    for name in list(w):
        value = state[name]
        turned = turn(name, value) if turn else name.endswith(".weight") and value.ndim == 2
        if renew:
            w[name] = mg.Var(value.T if turned else value, name=name)
        else:
            w[name].set(value.T if turned else value)
    if set(w) != set(state):
        raise KeyError("names differ")
    return w


def _load_by_copy(w: Any, state: Any) -> Any:
    if sorted(w) != sorted(state):
        raise KeyError(sorted(set(w) ^ set(state)))
    with mg.no_grad():
        for name, value in state.items():
            value = mg.tensor(value)
            w[name].copy_(value.t() if value.ndim == 2 and "weight" in name else value)
    return w


def _in_parts(loss_of: Any, w: Any, parts: Any, weigh: Any = len, mean: bool = True) -> Any:
    count = sum(weigh(part) for part in parts) if mean else 1
    total: dict[str, Any] = {}
    for part in parts:
        for name, g in zip(w, mg.grad(loss_of(part), list(w.values()))):
            g = g * weigh(part) / count
            total[name] = total[name] + g if name in total else g
    return total


def _in_parts_by_loss(loss_of: Any, w: Any, parts: Any) -> Any:
    count = sum(len(part) for part in parts)
    loss = sum(loss_of(part) * (len(part) / count) for part in parts)
    return dict(zip(w, mg.grad(loss, list(w.values()))))


def _in_parts_by_backward(loss_of: Any, w: Any, parts: Any) -> Any:
    count = sum(len(part) for part in parts)
    for v in w.values():
        v.grad = None
    for part in parts:
        (loss_of(part) * (len(part) / count)).backward()
    return {name: v.grad for name, v in w.items()}


def _in_parts_the_last(loss_of: Any, w: Any, parts: Any) -> Any:
    for part in parts:
        found = mg.grad(loss_of(part), list(w.values()))
    return dict(zip(w, found))


RIGHT: dict[str, list[Any]] = {
    "A3.1": [_strict, _strict_by_item],
    "A3.2": [_load, _load_by_copy],
    "A3.3": [_in_parts, _in_parts_by_loss],
}
WRONG: dict[str, list[Any]] = {
    "A3.1": [
        lambda y: y.backward(),
        _strict_too_late,
        _strict_by_rank,
        _strict_without_a_result,
        _strict_by_assertion,
        _strict_by_minigrad,
        lambda y: y.sum().backward(),
    ],
    "A3.2": [
        lambda w, state: _load(w, state, turn=lambda name, value: False),
        lambda w, state: _load(w, state, turn=lambda name, value: value.shape != w[name].shape),
        lambda w, state: _load(w, state, renew=True),
        lambda w, state: _load(w, state, first=False),
        lambda w, state: {name: mg.Var(value) for name, value in state.items()},
        lambda w, state: [v.set(state.get(name, 0.0)) for name, v in w.items()],
    ],
    "A3.3": [
        lambda loss_of, w, parts: _in_parts(loss_of, w, parts, weigh=lambda part: 1),
        lambda loss_of, w, parts: _in_parts(loss_of, w, parts, mean=False),
        _in_parts_by_backward,
        _in_parts_the_last,
        lambda loss_of, w, parts: list(_in_parts(loss_of, w, parts).values()),
        lambda loss_of, w, parts: {name: -g for name, g in _in_parts(loss_of, w, parts).items()},
    ],
}
PRINTED = [
    "torch.func, as mg.func\n   minigrad  [3.0, 12.0]\n   PyTorch   [3.0, 12.0]\n",
    "written there, seen here: [7.0, 2.0, 3.0]\n",
    "backward of three elements\n   minigrad  [2.0, 4.0, 6.0]\n   PyTorch   RuntimeError: grad can be implicitly ",
    "a million times 0.1, in float32\n   minigrad  100000.0\n   PyTorch   100000.0",
    "numbers that do not fit into a byte\n   minigrad  [255, 0, 0]\n",
    "under mg.debug(): fill_ at ",
    "the whole script\n   minigrad  last loss 0.1224763, error in evaluation mode 0.1101984\n   PyTorch   last loss ",
    "step   0: 0.4865884568     PyTorch's 0.4865884568\nstep   1: 2.159842707      PyTorch's 0.472600162\n",
    " ratio 32.0\n",
    "the same to nine digits\n",
    "has no attribute 'sparse_coo_tensor': there are no sparse tensors; mg.gather and mg.scatter_add work by index",
]
