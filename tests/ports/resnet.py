"""A small residual network with batch normalization on striped images, trained by SGD with momentum."""

import numpy as np
import torch
import torch.nn.functional as F

rng = np.random.default_rng(0)
N, CLASSES, WIDTH = 4, 3, 3


def images(n):
    """Stripes of three directions, with noise."""
    y = rng.integers(0, CLASSES, n)
    i, j = np.mgrid[:6, :6]
    waves = np.stack([np.sin(i), np.sin(j), np.sin(i + j)])
    x = waves[y][:, None] + rng.normal(0, 0.3, (n, 1, 6, 6))
    return torch.tensor(x, dtype=torch.float64), torch.tensor(y, dtype=torch.long)


def weight(*shape):
    fan_in = int(np.prod(shape[1:]))
    return torch.tensor(rng.normal(0, np.sqrt(2 / fan_in), shape), dtype=torch.float64, requires_grad=True)


def ones(n):
    return torch.ones(n, dtype=torch.float64, requires_grad=True)


def zeros(n):
    return torch.zeros(n, dtype=torch.float64, requires_grad=True)


def block_parameters(inside, outside):
    parameters = {"conv1": weight(outside, inside, 3, 3), "conv2": weight(outside, outside, 3, 3)}
    for k in "12":
        parameters |= {f"scale{k}": ones(outside), f"shift{k}": zeros(outside)}
    if inside != outside:
        parameters["short"] = weight(outside, inside, 1, 1)
    return parameters


def normalized(x, scale, shift, running):
    return F.batch_norm(x, running[0], running[1], scale, shift, training=True, momentum=0.1)


def block(x, p, running, stride):
    y = F.relu(normalized(F.conv2d(x, p["conv1"], stride=stride, padding=1), p["scale1"], p["shift1"], running[0]))
    y = normalized(F.conv2d(y, p["conv2"], padding=1), p["scale2"], p["shift2"], running[1])
    short = F.conv2d(x, p["short"], stride=stride) if "short" in p else x
    return F.relu(y + short)


stem = weight(WIDTH, 1, 3, 3)
blocks = [block_parameters(WIDTH, WIDTH), block_parameters(WIDTH, 2 * WIDTH)]
statistics = [[[torch.zeros(n, dtype=torch.float64), torch.ones(n, dtype=torch.float64)] for _ in range(2)]
              for n in (WIDTH, 2 * WIDTH)]  # fmt: skip
head, bias = weight(CLASSES, 2 * WIDTH), zeros(CLASSES)
parameters = [stem, head, bias, *[p for each in blocks for p in each.values()]]
momentum = [torch.zeros_like(p) for p in parameters]


def network(x):
    x = F.conv2d(x, stem, padding=1)
    for k, p in enumerate(blocks):
        x = block(x, p, statistics[k], stride=1 + k)
    return F.linear(F.adaptive_avg_pool2d(x, 1).flatten(1), head, bias)


losses = []
for _ in range(20):
    x, y = images(N)
    loss = F.cross_entropy(network(x), y, label_smoothing=0.1)
    loss.backward()
    with torch.no_grad():
        for p, m in zip(parameters, momentum):
            m.mul_(0.9).add_(p.grad)
            p.sub_(m, alpha=0.02)
            p.grad = None
    losses.append(loss.item())
losses.append(statistics[1][1][1].sum().item())
