"""A GRU that reads letters, and attention over its states: it reverses words.  Trained by Adam."""

import math

import numpy as np
import torch
import torch.nn.functional as F

rng = np.random.default_rng(1)
LETTERS, SIZE, LENGTH, BATCH = 6, 8, 4, 5


def matrix(*shape):
    return torch.tensor(rng.normal(0, 0.4, shape), dtype=torch.float64, requires_grad=True)


def cell_parameters():
    return [matrix(3 * SIZE, SIZE), matrix(3 * SIZE, SIZE), matrix(3 * SIZE), matrix(3 * SIZE)]


table, encoder, decoder = matrix(LETTERS + 1, SIZE), cell_parameters(), cell_parameters()
query, key, out = matrix(SIZE, SIZE), matrix(SIZE, SIZE), matrix(LETTERS, 2 * SIZE)
parameters = [table, *encoder, *decoder, query, key, out]


def step(x, h, p):
    """One step of a GRU, its gates in PyTorch's order: reset, update, new."""
    given = F.linear(x, p[0], p[2]).chunk(3, dim=-1)
    own = F.linear(h, p[1], p[3]).chunk(3, dim=-1)
    reset, update = torch.sigmoid(given[0] + own[0]), torch.sigmoid(given[1] + own[1])
    new = torch.tanh(given[2] + reset * own[2])
    return torch.lerp(new, h, update)


def encode(words):
    h, states = torch.zeros(BATCH, SIZE, dtype=torch.float64), []
    for x in F.embedding(words, table).unbind(1):
        h = step(x, h, encoder)
        states.append(h)
    return torch.stack(states, dim=1), h


def decode(states, h, targets):
    previous = torch.full((BATCH, 1), LETTERS, dtype=torch.long)
    inputs = F.embedding(torch.cat([previous, targets[:, :-1]], dim=1), table)
    keys, scores = states @ key.T, []
    for t in range(LENGTH):
        h = step(inputs[:, t], h, decoder)
        weights = torch.einsum("bld,bd->bl", keys, h @ query.T).div(math.sqrt(SIZE)).softmax(-1)
        context = torch.bmm(weights.unsqueeze(1), states).squeeze(1)
        scores.append(F.linear(torch.cat([h, context], dim=-1), out))
    return torch.stack(scores, dim=1)


first = [torch.zeros_like(p) for p in parameters]
second = [torch.zeros_like(p) for p in parameters]
losses = []
for n in range(1, 21):
    words = torch.tensor(rng.integers(0, LETTERS, (BATCH, LENGTH)))
    targets = words.flip(1)
    loss = F.cross_entropy(decode(*encode(words), targets).reshape(-1, LETTERS), targets.reshape(-1))
    loss.backward()
    norm = torch.sqrt(sum((p.grad**2).sum() for p in parameters))
    with torch.no_grad():
        for p, m, v in zip(parameters, first, second):
            g = p.grad * torch.clamp(1.0 / norm, max=1.0)
            m.lerp_(g, 0.1)
            v.mul_(0.999).addcmul_(g, g, value=0.001)
            p.addcdiv_(m / (1 - 0.9**n), (v / (1 - 0.999**n)).sqrt().add_(1e-8), value=-0.01)
            p.grad = None
    losses.append(loss.item())
