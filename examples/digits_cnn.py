"""A convolutional network reads handwritten digits: modules, a loader, an optimizer and a schedule.

    python examples/digits_cnn.py [--epochs 40] [--fold 4] [--seed 0]

1442 images of 8x8 pixels train 76,000 parameters, and 355 others test them.  The images of each batch are rotated,
stretched and moved a little, so the network never sees the same image twice.  `digits_cnn.jsonl` has the losses.
"""

import argparse
import time

import minigrad as mg
from minigrad import nn
from minigrad.data import DataLoader, TensorDataset, load_digits

F = nn.functional


class Block(nn.Sequential):
    """A convolution whose outputs are normalized over the batch."""

    def __init__(self, channels: int, outputs: int) -> None:
        super().__init__(
            nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
        )  # fmt: skip


class Reader(nn.Module):
    """A classifier of digits: three blocks with two pooling layers between them, and a linear map."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            Block(1, 32), Block(32, 64), nn.MaxPool2d(2), Block(64, 64), nn.MaxPool2d(2), nn.Flatten(),
        )  # fmt: skip
        self.dropout = nn.Dropout(0.3)
        self.scores = nn.Linear(64 * 2 * 2, 10)

    def forward(self, images: mg.Tensor) -> mg.Tensor:
        return self.scores(self.dropout(self.features(images)))


def varied(images: mg.Tensor) -> mg.Tensor:
    """Return images that are rotated by about 7 degrees, stretched by 8 % and moved by up to 0.8 pixels, at random."""
    n, side = len(images), images.shape[-1]
    angle, stretch = 0.12 * mg.randn(n), 1 + 0.08 * mg.randn(n, 2)
    move = (2 * mg.rand(n, 2) - 1) * (1.6 / side)
    cos, sin = angle.cos(), angle.sin()
    rows = [cos * stretch[:, 0], -sin, move[:, 0], sin, cos * stretch[:, 1], move[:, 1]]
    grid = F.affine_grid(mg.stack(rows, 1).reshape(n, 2, 3), images.shape, align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


@mg.no_grad()
def accuracy(model: nn.Module, images: mg.Tensor, labels: mg.Tensor) -> float:
    """Return the share of images that are classified correctly."""
    model.eval()
    right = model(images).argmax(1) == labels
    model.train()
    return right.float().mean().item()


def train(epochs: int, fold: int, seed: int) -> float:
    """Train on all folds except one, the test set; return the share of its images that are classified correctly."""
    mg.manual_seed(seed)
    images, labels, test_images, test_labels = (mg.from_numpy(a) for a in load_digits(fold=fold))
    images, test_images = (x.reshape(-1, 1, 8, 8) for x in (images, test_images))
    loader = DataLoader(TensorDataset(images, labels), batch_size=64, shuffle=True, drop_last=True)
    model = Reader()
    optimizer = mg.optim.AdamW(model.parameters(), weight_decay=0.05)
    steps = epochs * len(loader)
    schedule = mg.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=steps, pct_start=0.2)
    start = time.perf_counter()
    with mg.viz.Log("digits_cnn.jsonl", total=steps, log=True) as log:
        for _ in range(epochs):
            for batch, targets in loader:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(varied(batch)), targets)
                loss.backward()
                optimizer.step()
                schedule.step()
                log(loss=loss)
    seconds = time.perf_counter() - start
    result = accuracy(model, test_images, test_labels)
    print(f"fold {fold}, seed {seed}: {result:.2%} of {len(test_labels)} test images are right after {seconds:.1f} s, "
          f"{seconds / steps * 1e3:.1f} ms per step")  # fmt: skip
    return result


def main() -> None:
    """Read the arguments and train."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--fold", type=int, default=4, help="which fifth of the images is the test, 0 to 4")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    train(options.epochs, options.fold, options.seed)


if __name__ == "__main__":
    main()
