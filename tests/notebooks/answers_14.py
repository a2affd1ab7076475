"""Answers to 14, a convolutional network and a small GPT."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad as mg


def _side(kernel: int, stride: int, padding: int, side: int) -> int:
    return len(range(0, side + 2 * padding - kernel + 1, stride))


def _cost_by_positions(inputs: Any, outputs: Any, kernel: Any, stride: Any, padding: Any, side: Any) -> Any:
    size = _side(kernel, stride, padding, side)
    per_position = inputs * kernel * kernel
    return np.array([outputs * (per_position + 1), size, size * size * outputs * per_position]).tolist()


def _cost(bias: int = 1, rounded_up: bool = False, counts_bias: bool = False) -> Any:
    def cost(inputs: Any, outputs: Any, kernel: Any, stride: Any, padding: Any, side: Any) -> Any:
        free = side + 2 * padding - kernel
        size = (-(-free // stride) if rounded_up else free // stride) + 1
        weights = outputs * inputs * kernel**2
        return weights + bias * outputs, size, (weights + counts_bias * outputs) * size**2

    return cost


def _fits(q: Any, k: Any, diagonal: int | None = 1, scale: bool = True) -> Any:
    fits = (q @ k.T) * (q.shape[1] ** -0.5 if scale else 1.0)
    if diagonal is None:
        return fits
    return fits.masked_fill(mg.tensor(np.triu(np.ones((len(q), len(q)), bool), diagonal)), -1e9)


def _attention_by_positions(q: Any, k: Any, v: Any) -> Any:
    rows = []
    for i in range(len(q)):
        share = np.exp(k.numpy()[: i + 1] @ q.numpy()[i] / np.sqrt(q.shape[1]))
        rows.append(share @ v.numpy()[: i + 1] / share.sum())
    return np.stack(rows)


def _masked_after(q: Any, k: Any, v: Any) -> Any:
    return (_fits(q, k, None).softmax(-1) * mg.tensor(np.tril(np.ones((len(q), len(q)), np.float32)))) @ v


def _candidates(scores: Any, k: Any) -> Any:
    return np.sort(np.argsort(scores)[::-1][:k])


def _draw_by_loop(scores: Any, temperature: Any, k: Any, u: Any) -> Any:
    chosen = _candidates(scores, k)
    p = np.exp((scores[chosen] - scores.max()) / temperature)
    total = 0.0
    for i, share in zip(chosen, p / p.sum()):
        total += share
        if total > u:
            return i
    return chosen[-1]


def _draw(power: Any = None, stable: bool = True, local: bool = False, ties: bool = False) -> Any:
    def draw(scores: Any, temperature: Any, k: Any, u: Any) -> Any:
        with np.errstate(all="ignore"):
            p = np.exp((scores - (scores.max() if stable else 0.0)) * (power or (lambda t: 1 / t))(temperature))
            chosen = _candidates(scores, len(scores) if ties else k)
            sums = np.cumsum(p[chosen] / p[chosen].sum())
            at = int(np.argmax(sums > u))
        return at if local else int(chosen[at])

    return draw


def _draw_before_top_k(scores: Any, temperature: Any, k: Any, u: Any) -> Any:
    p = np.exp((scores - scores.max()) / temperature)
    p /= p.sum()
    p[np.argsort(scores)[: len(scores) - k]] = 0.0
    return int(np.argmax(np.cumsum(p) > u))


class _Batch(mg.nn.Module):
    """BatchNorm; the variants of WRONG change one of its steps."""

    unbiased_output = biased_running = always_batch = tracked = eval_moves = swapped = plain = False

    def __init__(self, size: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.eps, self.momentum = eps, 1 - momentum if self.swapped else momentum
        self.weight, self.bias = mg.nn.Parameter(mg.ones(size)), mg.nn.Parameter(mg.zeros(size))
        for name, value in (("running_mean", mg.zeros(size)), ("running_var", mg.ones(size))):
            if self.plain:
                setattr(self, name, value)
            else:
                self.register_buffer(name, value)

    running_mean: Any
    running_var: Any

    def forward(self, x: Any) -> Any:
        n, mean = len(x), x.mean(0)
        biased = x.var(0, correction=0)
        if self.training or self.eval_moves:
            var = biased.detach() * (1.0 if self.biased_running else n / (n - 1))
            self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean.detach()
            self.running_var = (1 - self.momentum) * self.running_var + self.momentum * var
        if not (self.training or self.always_batch):
            mean, biased = self.running_mean, self.running_var
        elif self.unbiased_output:
            biased = biased * (n / (n - 1))
        if self.tracked:
            mean, biased = mean.detach(), biased.detach()
        return (x - mean) / (biased + self.eps).sqrt() * self.weight + self.bias


class _OfTheLibrary(_Batch):
    """Moves the running values by in-place ops, with ops of another form."""

    def forward(self, x: Any) -> Any:
        if not self.training:
            return (x - self.running_mean) * (self.running_var + self.eps).rsqrt() * self.weight + self.bias
        with mg.no_grad():
            self.running_mean.lerp_(x.mean(0), self.momentum)
            self.running_var.lerp_(x.var(0), self.momentum)
        return mg.nn.functional.layer_norm(x.T, (len(x),), eps=self.eps).T * self.weight + self.bias


def _variant(**changed: bool) -> Any:
    return type("Variant", (_Batch,), changed)


RIGHT: dict[str, list[Any]] = {
    "14.1": [_cost(), _cost_by_positions],
    "14.2": [lambda q, k, v: _fits(q, k).softmax(-1) @ v, _attention_by_positions],
    "14.3": [_draw(), _draw_by_loop],
    "14.4": [_Batch, _OfTheLibrary],
}
WRONG: dict[str, list[Any]] = {
    "14.1": [
        _cost(bias=0),
        _cost(rounded_up=True),
        _cost(counts_bias=True),
        lambda inputs, outputs, kernel, stride, padding, side: (
            outputs * inputs * kernel**2 + outputs, side // stride, outputs * inputs * kernel**2 * (side // stride) ** 2
        ),
        lambda inputs, outputs, kernel, stride, padding, side: (
            (outputs * kernel**2 + outputs), *_cost()(inputs, outputs, kernel, stride, padding, side)[1:]
        ),
        lambda *given: _cost()(*given)[:2],
    ],
    "14.2": [
        lambda q, k, v: _fits(q, k, None).softmax(-1) @ v,
        lambda q, k, v: _fits(q, k, 0).softmax(-1) @ v,
        lambda q, k, v: _fits(q, k, scale=False).softmax(-1) @ v,
        lambda q, k, v: _fits(q, k).softmax(0) @ v,
        lambda q, k, v: _fits(q, k) @ v,
        _masked_after,
    ],
    "14.3": [
        _draw(stable=False),
        _draw(power=lambda t: t),
        _draw(power=lambda t: 1.0),
        _draw(local=True),
        _draw(ties=True),
        _draw_before_top_k,
        lambda scores, temperature, k, u: int(np.argmax(scores)),
    ],
    "14.4": [
        _variant(unbiased_output=True), _variant(biased_running=True), _variant(always_batch=True),
        _variant(tracked=True), _variant(eval_moves=True), _variant(swapped=True), _variant(plain=True),
        lambda size, **options: mg.ones(size),
    ],
}  # fmt: skip
PRINTED = [
    "  0: Conv2d       (64, 16, 8, 8)         160        589,824   256 kB",
    "6,186 of 6,186 parameters are trained\nloss at the start 2.",
    "the scores of image 0 depend on the images [0, 1, 2, 3, 4, 5]\nin evaluation mode they depend on [0]\n9",
    "with the mask, position 10 depends on [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n",
    "after:  2.",
    "parameters\n<All keys matched successfully>\nthe same scores: True\n",
]
