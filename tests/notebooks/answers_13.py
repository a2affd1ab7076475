"""Answers to 13, training a network."""

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


class _Normalized(mg.nn.Module):
    """RMSNorm; the variants of WRONG override `over`, the divisor of an input, or build other members."""

    def __init__(self, size: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = self.started(size)

    def started(self, size: int) -> Any:
        return mg.nn.Parameter(mg.ones(size))

    def over(self, x: Any) -> Any:
        return ((x * x).mean(-1, keepdim=True) + self.eps).sqrt()

    def forward(self, x: Any) -> Any:
        return x / self.over(x) * self.weight


class _BySums(_Normalized):
    def forward(self, x: Any) -> Any:
        return self.weight * x * (self.eps + (x**2).sum(-1, keepdim=True) / x.shape[-1]) ** -0.5


class _NoParameter(_Normalized):
    def started(self, size: int) -> Any:
        return mg.ones(size)


class _Zeros(_Normalized):
    def started(self, size: int) -> Any:
        return mg.nn.Parameter(mg.zeros(size))


class _ExtraBias(_Normalized):
    def started(self, size: int) -> Any:
        self.bias = mg.nn.Parameter(mg.zeros(size))
        return super().started(size)


class _OverColumns(_Normalized):
    def over(self, x: Any) -> Any:
        return ((x * x).mean(0, keepdim=True) + self.eps).sqrt()


class _WithoutEps(_Normalized):
    def over(self, x: Any) -> Any:
        return (x * x).mean(-1, keepdim=True).sqrt()


class _Length(_Normalized):
    def over(self, x: Any) -> Any:
        return ((x * x).sum(-1, keepdim=True) + self.eps).sqrt()


class _Centred(_Normalized):
    def forward(self, x: Any) -> Any:
        return super().forward(x - x.mean(-1, keepdim=True))


class _Detached(_Normalized):
    def forward(self, x: Any) -> Any:
        return x / self.over(x) * self.weight.detach()


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
    "13.4": [_Normalized, _BySums],
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
        _NoParameter, _Zeros, _ExtraBias, _OverColumns, _WithoutEps, _Length, _Centred, _Detached,
        lambda size, eps=1e-6: mg.ones(size),
    ],
}  # fmt: skip
PRINTED = [
    "largest difference: 0.0\n",
    "4,810 of 4,810 parameters are trained\nlog(10)                2.30\nloss at the start      2.29\n",
    "step 0: .grad has length 0.237, the gradient of this batch 0.237\nstep 1: .grad has length 0.433, ",
    "loss on one batch: 2.28 at the start, 0.00",
    "before: 12.4% correct\nafter:  9",
    "training loss 0.00",
]
