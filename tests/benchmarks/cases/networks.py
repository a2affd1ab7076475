"""Training steps of networks at small sizes, written with `nn` as their users write them: one text for both libraries.

A step is the loss, its gradients, and AdamW in its fastest form.  The first steps are compared.

Sources: ResNet, He et al. 2015; U-Net, Ronneberger et al. 2015; the LSTM language model, Zaremba et al. 2014; GPT-2,
Radford et al. 2019; the variational autoencoder, Kingma and Welling 2013.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.case import Table
from tests.benchmarks.cases.modules import filled

TABLE = Table("networks")
VOCABULARY = 64


def digits(m: Any) -> Any:
    """The network of `examples/digits_cnn.py` in size: two convolutions with batch_norm, two linear layers."""
    nn = m.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip


def resnet(m: Any) -> Any:
    """Three stages of one block each, for images of 32x32."""
    nn = m.nn

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, ins: int, outs: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Sequential(nn.Conv2d(ins, outs, 3, stride, 1, bias=False), nn.BatchNorm2d(outs), nn.ReLU())
            self.second = nn.Sequential(nn.Conv2d(outs, outs, 3, 1, 1, bias=False), nn.BatchNorm2d(outs))
            short = nn.Sequential(nn.Conv2d(ins, outs, 1, stride, bias=False), nn.BatchNorm2d(outs))
            self.short = short if stride > 1 else nn.Identity()

        def forward(self, x: Any) -> Any:
            return m.relu(self.second(self.first(x)) + self.short(x))

    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


def unet(m: Any) -> Any:
    """Two levels, for images of 32x32; the result has a score for each pixel."""
    nn = m.nn

    def twice(ins: int, outs: int) -> Any:
        return nn.Sequential(
            nn.Conv2d(ins, outs, 3, padding=1), nn.ReLU(), nn.Conv2d(outs, outs, 3, padding=1), nn.ReLU()
        )

    class UNet(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.down, self.low, self.up = twice(1, 16), twice(16, 32), twice(32, 16)
            self.pool, self.rise, self.last = nn.MaxPool2d(2), nn.ConvTranspose2d(32, 16, 2, 2), nn.Conv2d(16, 2, 1)

        def forward(self, x: Any) -> Any:
            high = self.down(x)
            return self.last(self.up(m.cat([high, self.rise(self.low(self.pool(high)))], 1)))

    return UNet()


def language(m: Any) -> Any:
    """An LSTM over characters, times first."""
    nn = m.nn

    class Writer(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.char, self.lstm = nn.Embedding(VOCABULARY, 128), nn.LSTM(128, 128)
            self.out = nn.Linear(128, VOCABULARY)

        def forward(self, x: Any) -> Any:
            return self.out(self.lstm(self.char(x))[0]).flatten(0, 1)

    return Writer()


def gpt(m: Any) -> Any:
    """Two causal blocks of width 128 with four heads, over 64 characters."""
    nn, f = m.nn, m.nn.functional

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(128), nn.LayerNorm(128)
            self.qkv, self.out = nn.Linear(128, 384), nn.Linear(128, 128)
            self.wide, self.narrow = nn.Linear(128, 512), nn.Linear(512, 128)

        def forward(self, h: Any) -> Any:
            n, length, _ = h.shape
            qkv = self.qkv(self.first(h)).reshape(n, length, 3, 4, 32).permute(2, 0, 3, 1, 4)
            a = f.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], is_causal=True)
            h = h + self.out(a.transpose(1, 2).reshape(n, length, 128))
            return h + self.narrow(f.gelu(self.wide(self.second(h))))

    class Writer(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.char, self.place = nn.Embedding(VOCABULARY, 128), nn.Embedding(64, 128)
            self.blocks, self.norm = nn.Sequential(Block(), Block()), nn.LayerNorm(128)
            self.out = nn.Linear(128, VOCABULARY)

        def forward(self, x: Any) -> Any:
            h = self.char(x) + self.place(m.arange(x.shape[1]))
            return self.out(self.norm(self.blocks(h))).flatten(0, 1)

    return Writer()


def vae(m: Any) -> Any:
    """784 to 256 to 16 and back; the noise is a buffer, so that both libraries have the same."""
    nn, f = m.nn, m.nn.functional

    class VAE(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.wide, self.mean, self.spread = nn.Linear(784, 256), nn.Linear(256, 16), nn.Linear(256, 16)
            self.back = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, 784))
            self.register_buffer("noise", m.zeros(64, 16))

        def forward(self, x: Any) -> Any:
            h = f.relu(self.wide(x))
            mean, spread = self.mean(h), self.spread(h)
            logits = self.back(mean + self.noise * (0.5 * spread).exp())
            apart = f.binary_cross_entropy_with_logits(logits, x, reduction="sum")
            return (apart - 0.5 * (1 + spread - mean * mean - spread.exp()).sum()) / x.shape[0]

    return VAE()


def step(model: Callable[[Any], Any]) -> Callable[..., Callable[[], Any]]:
    """A row that trains; without labels the model's result is the loss."""

    def build(m: Any, x: Any, *labels: Any) -> Callable[[], Any]:
        net = filled(m, model(m))
        optimizer = m.optim.AdamW(net.parameters(), lr=1e-3, fused=True)

        def run() -> Any:
            optimizer.zero_grad()
            loss = m.nn.functional.cross_entropy(net(x), *labels) if labels else net(x)
            loss.backward()
            optimizer.step()
            return loss

        return run

    return build


def images(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Normally distributed pixels."""
    return rng.standard_normal(shape).astype(np.float32)


def classes(rng: np.random.Generator, count: int, *shape: int) -> np.ndarray:
    """Class numbers, letters."""
    return rng.integers(0, count, shape)


for name, model, arrays in (
    ("CNN, 64 digits of 8x8", digits, lambda rng: [images(rng, 64, 1, 8, 8), classes(rng, 10, 64)]),
    ("ResNet, 16 images of 32x32", resnet, lambda rng: [images(rng, 16, 3, 32, 32), classes(rng, 10, 16)]),
    ("U-Net, 8 images of 32x32", unet, lambda rng: [images(rng, 8, 1, 32, 32), classes(rng, 2, 8, 32, 32)]),
    (
        "LSTM language model, 32 of 64 characters", language,
        lambda rng: [classes(rng, VOCABULARY, 32, 64), classes(rng, VOCABULARY, 32 * 64)],
    ),
    (
        "GPT, 32 of 64 characters", gpt,
        lambda rng: [classes(rng, VOCABULARY, 32, 64), classes(rng, VOCABULARY, 32 * 64)],
    ),
    ("VAE, 64 images of 28x28", vae, lambda rng: [rng.random((64, 784)).astype(np.float32)]),
):  # fmt: skip
    TABLE.add(f"step of a {name}", arrays, build=step(model), goal=1.3, rtol=1e-3)
