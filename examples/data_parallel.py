"""Several processes train one network; each of them reads its share of every batch.

    python -m minigrad run -n 2 examples/data_parallel.py [--epochs 10] [--seed 0]

Gradients are averaged while the backward pass is still running, so the weights of all processes stay equal, bit for
bit.  Process 0 writes the log and the checkpoints.  If the program is started again, it continues from the last
checkpoint.
"""

import argparse

import minigrad as mg
from minigrad import dist, nn
from minigrad.data import DataLoader, DistributedSampler, TensorDataset, load_digits

F = nn.functional
BATCH = 64  # images per step in all processes together


def network() -> nn.Sequential:
    """Return a network with two hidden layers."""
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))


@mg.no_grad()
def accuracy(model: nn.Module, images: mg.Tensor, labels: mg.Tensor) -> float:
    """Return the share of images that are classified correctly; each process tests its own share of the images."""
    mine = range(dist.get_rank(), len(images), dist.get_world_size())
    right = (model(images[list(mine)]).argmax(1) == labels[list(mine)]).float().sum()
    dist.all_reduce(right)
    return right.item() / len(images)


def main() -> None:
    """Train the network, and write a checkpoint per epoch."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default="data_parallel", help="of the checkpoints")
    options = parser.parse_args()
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    mg.manual_seed(options.seed)
    images, labels, *test = (mg.from_numpy(a) for a in load_digits())
    data = TensorDataset(images, labels)
    sampler = DistributedSampler(data, drop_last=True, seed=options.seed)
    loader = DataLoader(data, batch_size=BATCH // size, sampler=sampler, drop_last=True)
    model = dist.DistributedDataParallel(network())
    optimizer = mg.optim.AdamW(model.parameters(), lr=3e-3)
    checkpoint = dist.Checkpoint(model, optimizer, folder=options.folder)
    begun = (checkpoint.load() or {"epoch": 0})["epoch"]
    with mg.viz.Log("data_parallel.jsonl" if rank == 0 else None, total=options.epochs, show=rank == 0) as log:
        for epoch in range(begun, options.epochs):
            sampler.set_epoch(epoch)
            for batch, targets in loader:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(batch), targets)
                loss.backward()
                optimizer.step()
            dist.all_reduce(loss := loss.detach(), "avg")
            log(epoch + 1, loss=loss)
            checkpoint.save(epoch=epoch + 1)
    result = accuracy(model, *test)
    if rank == 0:
        print(f"{size} processes: {result:.2%} of {len(test[0])} test images are right")


if __name__ == "__main__":
    main()
