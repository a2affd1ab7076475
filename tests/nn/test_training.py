"""Whole networks, written as PyTorch's users write them, train to the same losses; without PyTorch, to stored ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nn.layer_cases import wave

import minigrad as mg

# Written by `losses(torch, name)` with PyTorch 2.13.
STORED = {
    "image_net": [1.88179686189, 0.993959015412, 1.16239023248, 1.15534165196, 0.99344059492],
    "text_net": [1.73559739627, 1.62742319769, 1.59400634332, 1.56972819174, 1.54726688862],
}


def image_net(nn: Any) -> Any:
    """A convolutional network with a residual connection."""

    class Block(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.norm = nn.BatchNorm2d(channels)
            self.act = nn.ReLU(inplace=True)

        def forward(self, x: Any) -> Any:
            return x + self.act(self.norm(self.conv(x)))

    return nn.Sequential(nn.Conv2d(1, 3, 3, stride=2, padding=1), Block(3), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(12, 5))  # fmt: skip


def text_net(nn: Any) -> Any:
    """Tables whose weight is tied to the last layer, and attention."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleDict({"table": nn.Embedding(5, 4), "norm": nn.LayerNorm(4)})
            self.qkv = nn.Linear(4, 12)
            self.head = nn.Linear(4, 5, bias=False)
            self.layers["table"].weight = self.head.weight
            self.scale = nn.Parameter(self.head.weight.detach()[0] * 0.0 + 1.0)

        def forward(self, index: Any) -> Any:
            x = self.layers.norm(self.layers.table(index)) * self.scale
            q, k, v = self.qkv(x).chunk(3, -1)
            x = x + nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.head(x).reshape(-1, 5)

    return Net()


def inputs(name: str) -> tuple[np.ndarray, np.ndarray]:
    """What a network is trained on."""
    if name == "image_net":
        return wave((4, 1, 8, 8)), np.arange(4) % 5
    return (np.arange(12).reshape(2, 6) * 7) % 5, (np.arange(12) * 3) % 5


def losses(library: Any, name: str, steps: int = 5) -> list[float]:
    """Train a network, with initial values from formulas, by gradient descent with clipped gradients."""
    nn = library.nn
    net = {"image_net": image_net, "text_net": text_net}[name](nn)
    net.to(library.float64)
    if library is mg:
        net.to("reference")
    place = {"device": "reference"} if library is mg else {}
    x, target = [library.tensor(values, **place) for values in inputs(name)]
    for k, p in enumerate(net.parameters()):
        p.data.copy_(library.tensor(wave(tuple(p.shape), k) * 0.4, **place))
    found = []
    for _ in range(steps):
        loss = nn.CrossEntropyLoss(label_smoothing=0.1)(net(x), target)
        net.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        with library.no_grad():
            for p in net.parameters():
                p -= 0.5 * p.grad
        found.append(loss.item())
    return found


@pytest.mark.parametrize("name", STORED)
def test_a_network_trains_to_the_stored_losses(name: str) -> None:
    result = losses(mg, name)
    assert result == pytest.approx(STORED[name], rel=1e-9) and result[-1] < result[0]


@pytest.mark.torch
@pytest.mark.parametrize("name", STORED)
def test_a_network_trains_as_in_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    assert losses(mg, name) == pytest.approx(losses(torch, name), rel=1e-9)


def test_a_state_goes_through_a_file(tmp_path: Any) -> None:
    one, other = image_net(mg.nn), image_net(mg.nn)
    mg.save(one.state_dict(), tmp_path / "model.safetensors")
    other.load_state_dict(mg.load(tmp_path / "model.safetensors"))
    assert all(np.array_equal(a.numpy(), b.numpy())
               for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))  # fmt: skip
