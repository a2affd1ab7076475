"""A variational autoencoder of small binary pictures, trained by SGD on the evidence bound."""

import numpy as np
import torch
import torch.nn.functional as F

rng = np.random.default_rng(2)
PIXELS, HIDDEN, LATENT, BATCH = 16, 12, 3, 8


def layer(inside, outside):
    bound = 1 / np.sqrt(inside)
    return [torch.tensor(rng.uniform(-bound, bound, shape), dtype=torch.float64, requires_grad=True)
            for shape in ((outside, inside), (outside,))]  # fmt: skip


enter, center, spread, back, show = (
    layer(PIXELS, HIDDEN), layer(HIDDEN, LATENT), layer(HIDDEN, LATENT), layer(LATENT, HIDDEN), layer(HIDDEN, PIXELS)
)  # fmt: skip
parameters = [*enter, *center, *spread, *back, *show]


def pictures(n):
    """Crosses: one row and one column of a 4 x 4 picture, with some pixels turned."""
    x = np.zeros((n, 4, 4))
    x[np.arange(n), rng.integers(0, 4, n)] = 1
    x[np.arange(n), :, rng.integers(0, 4, n)] = 1
    return torch.tensor(np.abs(x - (rng.random(x.shape) < 0.05)).reshape(n, PIXELS))


def bound(x):
    h = F.silu(F.linear(x, *enter))
    mean, log_var = F.linear(h, *center), F.linear(h, *spread).clamp(-8, 8)
    noise = torch.tensor(rng.normal(size=(x.shape[0], LATENT)))
    z = mean + torch.exp(0.5 * log_var) * noise
    logits = F.linear(F.silu(F.linear(z, *back)), *show)
    fit = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
    return (fit + divergence) / x.shape[0]


losses = []
for _ in range(20):
    loss = bound(pictures(BATCH))
    gradients = torch.autograd.grad(loss, parameters)
    with torch.no_grad():
        for p, g in zip(parameters, gradients):
            p -= 0.05 * g
    losses.append(loss.item())
