"""Watch a network learn handwritten digits: what it gets right, how sure it is, and what it still confuses.

    python examples/digits_mlp.py [EPOCHS]

1442 images of 8x8 pixels train two layers of weights, 355 others test them.  `python -m minigrad demo` trains the same
network to the end; here each step is spelt out, with `mg.grad`, which returns the gradients and touches no `.grad`.
"""

import sys
import time

import minigrad as mg
from minigrad.data import load_digits

HIDDEN, BATCH, RATE, MOMENTUM = 64, 32, 0.08, 0.9
SHADES = " .:-=+*#%@"


def new_network() -> list[mg.Var]:
    """Weights and biases.  Weights start small and unequal, or all hidden units would learn the same."""
    first, second = 0.2 * mg.randn(64, HIDDEN), 0.2 * mg.randn(HIDDEN, 10)
    return [mg.Var(first, name="w1"), mg.Var(mg.zeros(HIDDEN), name="b1"),
            mg.Var(second, name="w2"), mg.Var(mg.zeros(10), name="b2")]  # fmt: skip


def scores(network: list[mg.Var], images: mg.Tensor) -> mg.Tensor:
    """(n, 64) pixels to (n, 10): the logarithm of the probability of each digit."""
    w1, b1, w2, b2 = network
    hidden = mg.relu(images @ w1 + b1)
    return mg.log_softmax(hidden @ w2 + b2, dim=1)


def surprise(log_probabilities: mg.Tensor, labels: mg.Tensor) -> mg.Tensor:
    """The cross entropy: how unlikely the network thought what turned out to be true, on average."""
    of_truth = log_probabilities.gather(1, labels.unsqueeze(1))
    return -of_truth.mean()


def accuracy(network: list[mg.Var], images: mg.Tensor, labels: mg.Tensor) -> float:
    """The share of images whose likeliest digit is the right one.  Nothing is recorded here."""
    with mg.no_grad():
        hits = scores(network, images).argmax(1) == labels
    return hits.float().mean().item()


def one_epoch(
    network: list[mg.Var], speeds: list[mg.Tensor], images: mg.Tensor, labels: mg.Tensor, rate: float
) -> float:
    """Every training image once, in random order; returns the mean loss."""
    order = mg.randperm(len(images))
    total = 0.0
    for batch in order.split(BATCH):
        loss = surprise(scores(network, images[batch]), labels[batch])
        slopes = mg.grad(loss, network)
        for v, speed, slope in zip(network, speeds, slopes):
            # A ball that rolls downhill: it keeps nine tenths of its speed, and the slope adds to it.
            speed.mul_(MOMENTUM).add_(slope)
            with mg.no_grad():  # a Var may be written to only where nothing is recorded
                v.sub_(speed * rate)
        total += loss.item() * len(batch)
    return total / len(images)


def picture(image: mg.Tensor) -> list[str]:
    """Eight lines of characters, the darker the more ink."""
    return ["".join(SHADES[round(p * (len(SHADES) - 1))] * 2 for p in row) for row in image.reshape(8, 8).tolist()]


def show_mistakes(network: list[mg.Var], images: mg.Tensor, labels: mg.Tensor, most: int = 3) -> None:
    """The test images that the network is surest about and wrong."""
    with mg.no_grad():
        chances = scores(network, images).exp()
    sure, guess = chances.max(1)
    wrong = [k for k, (a, b) in enumerate(zip(guess.tolist(), labels.tolist())) if a != b]
    wrong.sort(key=lambda k: -sure[k].item())
    print(f"\n{len(wrong)} of {len(labels)} test images are wrong; the surest mistakes:\n")
    for k in wrong[:most]:
        print(f"  a {labels[k].item()}, taken for a {guess[k].item()} with {sure[k].item():.0%} confidence")
        print("\n".join(f"    |{line}|" for line in picture(images[k])))


def main() -> None:
    """Train, with a line an epoch, then look at what is left."""
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    mg.manual_seed(1)
    images, labels, test_images, test_labels = (mg.from_numpy(a) for a in load_digits())
    network = new_network()
    speeds = [mg.zeros_like(v) for v in network]
    print(f"{sum(v.numel() for v in network)} numbers to learn from {len(images)} images")
    print(f"before: {accuracy(network, test_images, test_labels):.1%} right, as good as guessing")
    for epoch in range(1, epochs + 1):
        started = time.perf_counter()
        rate = RATE * (1 - (epoch - 1) / epochs)  # smaller and smaller steps, to settle down
        loss = one_epoch(network, speeds, images, labels, rate)
        seconds = time.perf_counter() - started
        right = accuracy(network, test_images, test_labels)
        print(f"epoch {epoch:2}: loss {loss:.3f}, {right:.1%} of the test images right, {seconds * 1000:.0f} ms")
    print(f"test accuracy {accuracy(network, test_images, test_labels):.4f}")
    show_mistakes(network, test_images, test_labels)


if __name__ == "__main__":
    main()
