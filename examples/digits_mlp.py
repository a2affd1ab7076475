"""Watch a network learn handwritten digits: its accuracy, its confidence, and the digits that it confuses.

    python examples/digits_mlp.py [EPOCHS]

1442 images of 8x8 pixels train two layers of weights, and 355 others test them.  `python -m minigrad demo` trains the
same network to the end.  Here each step is written out with `mg.grad`, which returns the gradients and does not change
`.grad`.
"""

import sys
import time

import minigrad as mg
from minigrad.data import load_digits

HIDDEN, BATCH, RATE, MOMENTUM = 64, 32, 0.08, 0.9
SHADES = " .:-=+*#%@"


def new_network() -> list[mg.Var]:
    """Return weights and biases; the weights differ, or all hidden units would learn the same."""
    first, second = 0.2 * mg.randn(64, HIDDEN), 0.2 * mg.randn(HIDDEN, 10)
    return [mg.Var(first, name="w1"), mg.Var(mg.zeros(HIDDEN), name="b1"),
            mg.Var(second, name="w2"), mg.Var(mg.zeros(10), name="b2")]  # fmt: skip


def scores(network: list[mg.Var], images: mg.Tensor) -> mg.Tensor:
    """Return the logarithm of the probability of each digit: (n, 64) pixels become (n, 10) scores."""
    w1, b1, w2, b2 = network
    hidden = mg.relu(images @ w1 + b1)
    return mg.log_softmax(hidden @ w2 + b2, dim=1)


def surprise(log_probabilities: mg.Tensor, labels: mg.Tensor) -> mg.Tensor:
    """Return the cross entropy: the mean of -log of the probability that the network assigns to the right digit."""
    of_truth = log_probabilities.gather(1, labels.unsqueeze(1))
    return -of_truth.mean()


def accuracy(network: list[mg.Var], images: mg.Tensor, labels: mg.Tensor) -> float:
    """Return the share of images whose likeliest digit is the right one.  No graph is recorded here."""
    with mg.no_grad():
        hits = scores(network, images).argmax(1) == labels
    return hits.float().mean().item()


def one_epoch(
    network: list[mg.Var], speeds: list[mg.Tensor], images: mg.Tensor, labels: mg.Tensor, rate: float
) -> float:
    """Train on every image once, in random order, and return the mean loss."""
    order = mg.randperm(len(images))
    total = 0.0
    for batch in order.split(BATCH):
        loss = surprise(scores(network, images[batch]), labels[batch])
        slopes = mg.grad(loss, network)
        for v, speed, slope in zip(network, speeds, slopes):
            # Momentum, like a ball that rolls downhill: nine tenths of the speed remain, and the gradient is added.
            speed.mul_(MOMENTUM).add_(slope)
            with mg.no_grad():  # a Var may be changed only while nothing is recorded
                v.sub_(speed * rate)
        total += loss.item() * len(batch)
    return total / len(images)


def picture(image: mg.Tensor) -> list[str]:
    """Return an image as eight lines of characters; a darker character means more ink."""
    return ["".join(SHADES[round(p * (len(SHADES) - 1))] * 2 for p in row) for row in image.reshape(8, 8).tolist()]


def show_mistakes(network: list[mg.Var], images: mg.Tensor, labels: mg.Tensor, most: int = 3) -> None:
    """Print the wrongly classified test images about which the network is most confident."""
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
    """Train with one line of output per epoch, then show the remaining mistakes."""
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    mg.manual_seed(1)
    images, labels, test_images, test_labels = (mg.from_numpy(a) for a in load_digits())
    network = new_network()
    speeds = [mg.zeros_like(v) for v in network]
    print(f"{sum(v.numel() for v in network)} numbers to learn from {len(images)} images")
    print(f"before: {accuracy(network, test_images, test_labels):.1%} right, as good as guessing")
    for epoch in range(1, epochs + 1):
        started = time.perf_counter()
        rate = RATE * (1 - (epoch - 1) / epochs)  # the steps become smaller, so that the weights converge
        loss = one_epoch(network, speeds, images, labels, rate)
        seconds = time.perf_counter() - started
        right = accuracy(network, test_images, test_labels)
        print(f"epoch {epoch:2}: loss {loss:.3f}, {right:.1%} of the test images right, {seconds * 1000:.0f} ms")
    print(f"test accuracy {accuracy(network, test_images, test_labels):.4f}")
    show_mistakes(network, test_images, test_labels)


if __name__ == "__main__":
    main()
