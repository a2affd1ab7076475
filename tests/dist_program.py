"""A program that `tests/dist` starts in several processes; a failed assertion of a case ends the job."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import minigrad as mg

nn, F, dist = mg.nn, mg.nn.functional, mg.dist
X = np.random.default_rng(1).standard_normal((12, 5))
Y = np.random.default_rng(2).integers(0, 3, 12)


def network(seed: int) -> nn.Module:
    mg.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Tanh(), nn.Linear(7, 3)).double()


def share(rank: int, size: int) -> tuple[mg.Tensor, mg.Tensor]:
    n = len(X) // size
    return mg.tensor(X[rank * n : rank * n + n]), mg.tensor(Y[rank * n : rank * n + n])


def collectives(rank: int, size: int) -> None:
    ranks = list(range(size))
    x = mg.tensor([1.0, 2.0]) * (rank + 1)
    assert dist.all_reduce(x) is None and x.tolist() == [sum(ranks) + size, 2.0 * (sum(ranks) + size)]
    b = mg.tensor([False, rank == size - 1])
    dist.all_reduce(b, "max")
    assert b.tolist() == [False, True]
    half = mg.tensor([1.0, float(rank)], dtype="bfloat16")
    work = dist.all_reduce(half, dist.ReduceOp.AVG, async_op=True)
    assert work.wait() and half.tolist() == [1.0, sum(ranks) / size] and half.dtype is mg.bfloat16
    turned = mg.arange(6, dtype="int64").reshape(2, 3).t() * (rank == 0)
    dist.broadcast(turned, 0)
    assert turned.tolist() == [[0, 3], [1, 4], [2, 5]]
    parts = [mg.zeros(2, dtype="int64") for _ in ranks]
    dist.all_gather(parts, mg.tensor([rank, -rank]))
    assert [p.tolist() for p in parts] == [[r, -r] for r in ranks]
    total = mg.tensor([float(rank)])
    dist.reduce(total, size - 1)
    assert total.item() == (sum(ranks) if rank == size - 1 else rank)
    if rank == 0:
        dist.send(mg.tensor([7.0, 8.0]), 1)
    if rank == 1:
        got = mg.zeros(2)
        assert dist.recv(got) == 0 and got.tolist() == [7.0, 8.0]
    objects: list[object] = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    assert objects == [{"rank": r} for r in ranks]
    said = [f"from {rank}"]
    dist.broadcast_object_list(said, 1)
    assert said == ["from 1"]
    dist.barrier()


def gradients(rank: int, size: int) -> None:
    """Shares of a batch give the gradients of the whole, and processes stay equal bit for bit."""
    one, model = network(0).eval(), network(rank)
    ddp = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=200 / 2**20).eval()
    assert len(ddp.buckets) > 1 and next(name for name, _ in ddp.named_parameters()) == "module.0.weight"
    optimizers = [mg.optim.AdamW(m.parameters()) for m in (one, ddp)]
    for _ in range(4):
        for m, optimizer, (x, y) in zip((one, ddp), optimizers, (share(0, 1), share(rank, size))):
            optimizer.zero_grad()
            F.cross_entropy(m(x), y).backward()
        for p, q in zip(one.parameters(), model.parameters()):
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=0, atol=1e-12)
        for optimizer in optimizers:
            optimizer.step()
    states: list[object] = [None] * size
    dist.all_gather_object(states, [p.detach().numpy().tobytes() for p in model.parameters()])
    assert all(state == states[0] for state in states)


def accumulation(rank: int, size: int) -> None:
    """Under no_sync gradients add up in each process; the next pass reduces the sum."""
    model = network(3).eval()
    ddp = dist.DistributedDataParallel(model)
    x, y = share(rank, size)
    with ddp.no_sync():
        F.cross_entropy(ddp(x), y).backward()
    alone = [p.grad.numpy().copy() for p in model.parameters()]
    gathered: list[object] = [None] * size
    dist.all_gather_object(gathered, alone[0].tobytes())
    assert len(set(gathered)) == size
    F.cross_entropy(ddp(x), y).backward()
    kept = [p.grad for p in model.parameters()]
    values = [g.numpy().copy() for g in kept]
    everyone: list[object] = [None] * size
    dist.all_gather_object(everyone, alone)
    for k, g in enumerate(values):
        np.testing.assert_allclose(g, 2 * sum(each[k] for each in everyone) / size, atol=1e-12)
    ddp.zero_grad()
    F.cross_entropy(ddp(x * 3.0), y).backward()
    assert all(np.array_equal(g.numpy(), value) for g, value in zip(kept, values)), "a gradient that was kept changed"


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.never = nn.Linear(5, 3).double(), nn.Linear(5, 3).double(), nn.Linear(5, 3).double()

    def forward(self, x: mg.Tensor, left: bool) -> mg.Tensor:
        return self.left(x) if left else self.right(x)


def unused(rank: int, size: int) -> None:
    """A parameter that some processes use gets the mean; one that none uses keeps None."""
    mg.manual_seed(0)
    ddp = dist.DistributedDataParallel(Branches(), find_unused_parameters=True)
    x, _ = share(rank, size)
    for step in range(2):
        ddp.zero_grad()
        ddp(x, left=rank == step % size).sum().backward()
        model = ddp.module
        assert model.never.weight.grad is None
        np.testing.assert_allclose(model.left.bias.grad.numpy(), [len(x) / size] * 3)
        np.testing.assert_allclose(model.right.bias.grad.numpy(), [len(x) * (size - 1) / size] * 3)
    strict = dist.DistributedDataParallel(Branches())
    strict(x, left=True).sum().backward()
    try:
        strict(x, left=True)
    except mg.GroupError as error:
        assert "no gradient arrived for right.weight, right.bias, never.weight" in str(error)
    else:
        raise AssertionError("a missing gradient was not noticed")


def buffers(rank: int, size: int) -> None:
    """Buffers become those of process 0 before each forward pass in training mode."""
    ddp = dist.DistributedDataParallel(network(1))
    x, y = share(rank, size)
    for _ in range(2):
        ddp.zero_grad()
        F.cross_entropy(ddp(x), y).backward()
    norm = ddp.module[1]
    mean = norm.running_mean.clone()
    dist.broadcast(mean, 0)
    ddp(x)
    mine: list[object] = [None] * size
    dist.all_gather_object(mine, norm.num_batches_tracked.item())
    assert mine == [3] * size


def unlike(rank: int, size: int) -> None:
    """Models that differ are refused in every process."""
    try:
        dist.DistributedDataParallel(nn.Linear(2, 3 + rank))
    except mg.GroupError as error:
        assert "process 1 has ('weight', 'float32(4, 2)') and process 0 has ('weight', 'float32(3, 2)')" in str(error)
    else:
        raise AssertionError("models that differ were accepted")


def sampler(rank: int, size: int) -> None:
    taken: list[list[int]] = [[]] * size
    dist.all_gather_object(taken, list(mg.data.DistributedSampler(range(10), shuffle=False)))
    assert {k for part in taken for k in part} == set(range(10))


def checkpoints(rank: int, size: int) -> None:
    """Every process gets its own random numbers back, and every process raises what process 0 does."""
    folder = tempfile.mkdtemp() if rank == 0 else f"/nowhere/{rank}"
    generator = mg.Generator(rank)
    mg.manual_seed(10 + rank)
    model = nn.Linear(2, 1)
    checkpoint = dist.Checkpoint(model, generator=generator, folder=folder)
    assert checkpoint.load() is None
    assert checkpoint.save(rank=rank).endswith("checkpoint-00000001.safetensors")
    drawn = mg.rand(2).tolist(), mg.rand(2, generator=generator).tolist()
    with mg.no_grad():
        model.weight.zero_()
    assert checkpoint.load() == {"rank": 0} and model.weight.abs().sum().item() > 0
    assert drawn == (mg.rand(2).tolist(), mg.rand(2, generator=generator).tolist())
    if rank == 0:
        saved = mg.Checkpoint(model, generator=generator, folder=folder)
        assert saved.load() == {"rank": 0}
        saved.save()
    try:
        checkpoint.load()
    except mg.FileError as error:
        assert f"was written by 1 process, but is read by {size}" in str(error)
    else:
        raise AssertionError("the file of one process was read by more")
    for name in os.listdir(folder) if rank == 0 else ():
        Path(folder, name).write_bytes(b"damaged")
    try:
        checkpoint.load()
    except mg.FileError as error:
        assert "is intact" in str(error)
    else:
        raise AssertionError("a damaged file was read")


def death(rank: int, size: int) -> None:
    """Process 1 ends in the middle, and the others wait for it."""
    for step in range(1000):
        dist.all_reduce(mg.tensor([1.0]))
        if step == 5 and rank == 1:
            Path(os.environ["DIED"]).write_text(str(time.time()))
            if sys.argv[2] == "raise":
                raise ValueError("rank 1 met a bad batch")
            if sys.argv[2] == "exit":
                sys.exit(3)
            os.kill(os.getpid(), 9)
        time.sleep(0.01)


def synchronized(rank: int, size: int) -> None:
    """Batch normalization over all processes has the statistics, outputs and gradients of one with the whole batch."""
    images = np.random.default_rng(3).standard_normal((7, 3, 2, 2))
    cuts = [0, *np.linspace(2, 7, size).astype(int)]  # shares of different sizes
    own = slice(cuts[rank], cuts[rank + 1])

    def net() -> nn.Module:
        mg.manual_seed(5)
        return nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4, momentum=0.3), nn.Tanh()).double()

    whole, part = net(), nn.SyncBatchNorm.convert_sync_batchnorm(net())
    for _ in range(2):
        x, z = mg.tensor(images, requires_grad=True), mg.tensor(images[own], requires_grad=True)
        y, w = whole(x), part(z)
        np.testing.assert_allclose(w.detach().numpy(), y.detach().numpy()[own], rtol=0, atol=1e-12)
        (y * y * mg.tensor(images.sum((1, 2, 3), keepdims=True))).sum().backward()
        (w * w * mg.tensor(images[own].sum((1, 2, 3), keepdims=True))).sum().backward()
        np.testing.assert_allclose(z.grad.numpy(), x.grad.numpy()[own], rtol=0, atol=1e-12)
    for p, q in zip(whole.parameters(), part.parameters()):
        dist.all_reduce(q.grad)
        np.testing.assert_allclose(q.grad.numpy(), p.grad.numpy(), rtol=0, atol=1e-11)
    for one, other in zip(whole.buffers(), part.buffers()):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=0, atol=1e-12)
    results = []
    for layer, values in ((nn.BatchNorm2d(3), images), (nn.SyncBatchNorm(3), images[own])):
        v = mg.tensor(values, requires_grad=True)
        (first,) = mg.autograd.grad(layer.double()(v).sin().sum(), [v], create_graph=True)
        results.append(mg.autograd.grad((first * first).sum(), [v])[0].numpy())
    np.testing.assert_allclose(results[1], results[0][own], rtol=0, atol=1e-11)
    ddp = dist.DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(network(2)))
    one = network(2)
    F.cross_entropy(one(share(0, 1)[0]), share(0, 1)[1]).backward()
    F.cross_entropy(ddp(share(rank, size)[0]), share(rank, size)[1]).backward()
    for p, q in zip(one.parameters(), ddp.parameters()):
        np.testing.assert_allclose(q.grad.numpy(), p.grad.numpy(), rtol=0, atol=1e-11)
    half = nn.SyncBatchNorm(3, affine=False).half()(mg.tensor(images[own], dtype="float16"))
    full = nn.BatchNorm2d(3, affine=False)(mg.tensor(images, dtype="float32"))[own]
    np.testing.assert_allclose(half.float().numpy(), full.numpy(), atol=5e-3)
    assert half.dtype is mg.float16
    try:
        nn.SyncBatchNorm(2)(mg.ones(int(rank == 0), 2))
    except mg.ShapeError as error:
        assert "must have more than 1 value per channel" in str(error)
    else:
        raise AssertionError("one value per channel")


CASES: dict[str, Callable[[int, int], None]] = {
    f.__name__: f
    for f in (collectives, gradients, accumulation, unused, buffers, unlike, sampler, checkpoints, synchronized, death)
}

if __name__ == "__main__":
    dist.init_process_group("gloo")
    mg.set_default_device("cpu")
    for name in sys.argv[1].split(","):
        CASES[name](dist.get_rank(), dist.get_world_size())
    dist.destroy_process_group()
