"""A training in several processes that can be killed at any moment, and prints the bits with which each one ends.

    python -m minigrad run -n 2 tests/dist_training.py FOLDER EPOCHS [PAUSE]

Each process has its own random numbers: those of its samples, of dropout, and of a generator.
"""

from __future__ import annotations

import hashlib
import random
import sys
import time
from typing import Any

import numpy as np
from resumed_training import Noisy

import minigrad as mg

nn, F, dist = mg.nn, mg.nn.functional, mg.dist


def train(folder: str, epochs: int, pause: float) -> str:
    rank = dist.get_rank()
    mg.manual_seed(rank), random.seed(rank + 2), np.random.seed(rank + 4)
    network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Dropout(0.2), nn.Linear(4, 1)).double()
    model, generator = dist.DistributedDataParallel(network), mg.Generator(7 + rank)
    optimizer = mg.optim.AdamW(model.parameters(), lr=0.05)
    scheduler = mg.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    sampler = mg.data.DistributedSampler(Noisy(), drop_last=True)
    loader = mg.data.DataLoader(Noisy(), 3, sampler=sampler)
    checkpoint = dist.Checkpoint(model, optimizer, scheduler, loader, generator, folder=folder)
    start = checkpoint.load() or {"epoch": 0, "count": 0}
    count = start["count"]
    for epoch in range(start["epoch"], epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            noise = mg.rand(3, generator=generator, dtype="float64") * random.random()
            optimizer.zero_grad()
            F.mse_loss(model(x.to("reference") + noise)[:, 0], y.to("reference")).backward()
            optimizer.step()
            count += 1
            if count % 3 == 0:
                checkpoint.save(epoch=epoch, count=count)
            time.sleep(pause)
        scheduler.step()
        checkpoint.save(epoch=epoch + 1, count=count)
    bits = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
    bits += np.array([optimizer.param_groups[0]["lr"], random.random(), mg.rand(1).item()]).tobytes()
    each: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(each, hashlib.sha256(bits).hexdigest()[:16])
    return " ".join(each)


if __name__ == "__main__":
    dist.init_process_group()
    mg.set_default_device("reference")
    result = train(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 0.0)
    if dist.get_rank() == 0:
        print(result, flush=True)
