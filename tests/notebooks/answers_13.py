"""Answers to 13, training something real."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg


def _picked(rows: Any, truth: Any) -> Any:
    return rows.gather(1, truth.unsqueeze(1))


def _two_lines(scores: Any, truth: Any) -> Any:
    shifted = scores - scores.detach().amax(1, keepdim=True)
    return (shifted.exp().sum(1).log() - _picked(shifted, truth).squeeze(1)).mean()


def _momentum_in_place(weight: Any, gradient: Any, speed: Any, rate: Any) -> Any:
    speed.mul_(0.9).add_(gradient)
    return weight.sub_(speed * rate), speed


def _clipped_by_numpy(gradients: Any, limit: Any) -> Any:
    total = np.linalg.norm(np.concatenate([g.numpy().reshape(-1) for g in gradients]))
    return [mg.tensor(g.numpy() * (1.0 if total <= limit else limit / total)) for g in gradients]


def _clipped_by(gradients: Any, limit: Any, total: Any) -> Any:
    return [g * min(1.0, limit / max(total, 1e-30)) for g in gradients]


def _length(g: Any) -> float:
    return float(np.linalg.norm(g.numpy()))


def _fits(q: Any, k: Any, diagonal: int | None = 1, scale: bool = True) -> Any:
    fits = (q @ k.T) * (q.shape[1] ** -0.5 if scale else 1.0)
    if diagonal is None:
        return fits
    return fits.masked_fill(mg.tensor(np.triu(np.ones((len(q), len(q)), bool), diagonal)), -1e9)


def _attention_by_places(q: Any, k: Any, v: Any) -> Any:
    found = []
    for i in range(len(q)):
        share = np.exp(k.numpy()[: i + 1] @ q.numpy()[i] / np.sqrt(q.shape[1]))
        found.append(share @ v.numpy()[: i + 1] / share.sum())
    return np.stack(found)


def _masked_after(q: Any, k: Any, v: Any) -> Any:
    return (_fits(q, k, None).softmax(-1) * mg.tensor(np.tril(np.ones((len(q), len(q)), np.float32)))) @ v


RIGHT: dict[str, list[Any]] = {
    "13.1": [lambda scores, truth: -_picked(scores.log_softmax(1), truth).mean(), _two_lines],
    "13.2": [
        lambda weight, gradient, speed, rate: (weight - rate * (0.9 * speed + gradient), 0.9 * speed + gradient),
        _momentum_in_place,
    ],
    "13.3": [
        lambda gradients, limit: _clipped_by(gradients, limit, sum(_length(g) ** 2 for g in gradients) ** 0.5),
        _clipped_by_numpy,
    ],
    "13.4": [lambda q, k, v: _fits(q, k).softmax(-1) @ v, _attention_by_places],
}
WRONG: dict[str, list[Any]] = {
    "13.1": [
        lambda scores, truth: _picked(scores.log_softmax(1), truth).mean(),
        lambda scores, truth: -_picked(scores.log_softmax(1), truth).sum(),
        lambda scores, truth: -_picked(scores.softmax(1).log(), truth).mean(),
        lambda scores, truth: -scores.log_softmax(1).mean(),
        lambda scores, truth: -_picked(scores.log_softmax(0), truth).mean(),
        lambda scores, truth: (-_picked(scores.log_softmax(1), truth).mean()).item(),
    ],
    "13.2": [
        lambda weight, gradient, speed, rate: (weight - rate * speed, 0.9 * speed + gradient),
        lambda weight, gradient, speed, rate: (weight + rate * (0.9 * speed + gradient), 0.9 * speed + gradient),
        lambda weight, gradient, speed, rate: (weight - rate * (speed + gradient), speed + gradient),
        lambda weight, gradient, speed, rate: (weight - rate * (speed + 0.1 * gradient), 0.9 * speed + 0.1 * gradient),
        lambda weight, gradient, speed, rate: (0.9 * speed + gradient, weight - rate * (0.9 * speed + gradient)),
        lambda weight, gradient, speed, rate: weight - rate * (0.9 * speed + gradient),
    ],
    "13.3": [
        lambda gradients, limit: [_clipped_by([g], limit, _length(g))[0] for g in gradients],
        lambda gradients, limit: _clipped_by(gradients, limit, sum(_length(g) for g in gradients)),
        lambda gradients, limit: _clipped_by(gradients, limit, sum(_length(g) ** 2 for g in gradients)),
        lambda gradients, limit: [g * (limit / sum(_length(g) ** 2 for g in gradients) ** 0.5) for g in gradients],
        lambda gradients, limit: [g.clamp(-limit, limit) for g in gradients],
        lambda gradients, limit: gradients,
    ],
    "13.4": [
        lambda q, k, v: _fits(q, k, None).softmax(-1) @ v,
        lambda q, k, v: _fits(q, k, 0).softmax(-1) @ v,
        lambda q, k, v: _fits(q, k, scale=False).softmax(-1) @ v,
        lambda q, k, v: _fits(q, k).softmax(0) @ v,
        lambda q, k, v: _fits(q, k) @ v,
        _masked_after,
    ],
}  # fmt: skip
PRINTED = [
    "log(10)                2.30\nloss at the start      2.39\nwith weights of size 1 21.10\n",
    "step 0: .grad has length 0.644, the gradient of this batch 0.644\nstep 1: .grad has length 0.998, ",
    "loss on one batch: 2.41 at the start, 0.00",
    "before: 10.4% right\nafter:  9",
    "CNN has 6032 numbers to learn\nMLP has 4736 numbers to learn\nloss at the start: 2.30\n9",
    "place 10 depends on places [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\nloss at the end 2.",
]
