"""The gradient of each sample instead of their sum: from which digits does a network learn most?

    python examples/per_example_gradients.py

The loss is written for one image.  `mg.func.grad` returns the function that computes its gradient, and `mg.func.vmap`
calls this function for all images together, without a loop.  The norm of a sample's gradient is a measure of how much
the sample would change the weights.  After some training it is small for most images; the few with a large norm are the
hard ones.
"""

import minigrad as mg
from minigrad.data import load_digits

HIDDEN, STEPS, RATE = 32, 60, 0.5
Weights = dict[str, mg.Tensor]


def new_network() -> Weights:
    """Return the weights of two layers, which start small and different."""
    return {
        "w1": 0.2 * mg.randn(HIDDEN, 64), "b1": mg.zeros(HIDDEN), "w2": 0.2 * mg.randn(10, HIDDEN), "b2": mg.zeros(10),
    }  # fmt: skip


def loss(network: Weights, image: mg.Tensor, label: mg.Tensor) -> mg.Tensor:
    """Return the loss of one image (64,), or the mean loss of many images (n, 64)."""
    hidden = mg.relu(mg.nn.functional.linear(image, network["w1"], network["b1"]))
    return mg.nn.functional.cross_entropy(mg.nn.functional.linear(hidden, network["w2"], network["b2"]), label)


def norms(network: Weights, images: mg.Tensor, labels: mg.Tensor) -> mg.Tensor:
    """Return the norm of each image's gradient with respect to all weights."""
    each = mg.func.vmap(mg.func.grad(loss), in_dims=(None, 0, 0))(network, images, labels)
    squares = [(g * g).reshape(len(images), -1).sum(1) for g in each.values()]
    return mg.stack(squares).sum(0).sqrt()


def main() -> None:
    """Compute the norms, train, and compute them again."""
    mg.manual_seed(1)
    images, labels, _, _ = (mg.from_numpy(a) for a in load_digits())
    network = new_network()
    before = norms(network, images, labels)
    for _ in range(STEPS):
        slopes = mg.func.grad(loss)(network, images, labels)
        network = {name: w - RATE * slopes[name] for name, w in network.items()}
    after = norms(network, images, labels)
    mean = mg.func.vmap(mg.func.grad(loss), in_dims=(None, 0, 0))(network, images, labels)["w2"].mean(0)
    whole = mg.func.grad(loss)(network, images, labels)["w2"]
    print(f"mean of the gradients and gradient of the mean differ by {(mean - whole).abs().max().item():.0e}")
    for name, found in (("before", before), ("after", after)):
        print(f"{name:>6} training: median norm {found.median().item():.3f}, largest {found.max().item():.2f}")
    most = after.argsort(descending=True)[:5].tolist()
    share = after.sort(descending=True).values[: len(after) // 10].sum() / after.sum()
    print(f"a tenth of the images has {share.item():.0%} of the gradient")
    print("hardest images:", ", ".join(f"number {k}, a {labels[k].item()}" for k in most))


if __name__ == "__main__":
    main()
