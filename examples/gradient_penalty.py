"""A gradient inside of a loss: a critic whose slope is held at one, as in the Wasserstein GAN with gradient penalty.

The penalty (|df/dx| - 1)**2 is computed from a gradient, so its own is a second derivative: `create_graph=True`
records the way back like anything else.  The critic learns to tell points around 3 from points around 0 by as much as
a slope of one allows, which is about their distance.
Source: I. Gulrajani and others, "Improved Training of Wasserstein GANs", arXiv 1704.00028.
"""

import minigrad as mg

STEPS, POINTS, WIDTH, RATE, WEIGHT = 400, 64, 16, 0.02, 10.0


def critic(x: mg.Tensor, weights: list[mg.Var]) -> mg.Tensor:
    """A number for each point, from two layers."""
    w1, b1, w2 = weights
    return (x @ w1 + b1).tanh() @ w2


def penalty(x: mg.Tensor, weights: list[mg.Var]) -> tuple[mg.Tensor, mg.Tensor]:
    """How far the slopes of the critic at x are from one, and their mean."""
    point = mg.Var(x)
    # Each row of f depends on its own point only, so the gradient of the sum has the slope of each in its row.
    slope = mg.grad(critic(point, weights).sum(), point, create_graph=True).norm(dim=1)
    return (slope - 1.0).square().mean(), slope.mean()


def main() -> None:
    """Train, and print the slope and what the critic says."""
    mg.manual_seed(0)
    weights = [mg.Var(mg.randn(1, WIDTH)), mg.Var(mg.zeros(WIDTH)), mg.Var(mg.zeros(WIDTH, 1))]
    for step in range(STEPS + 1):
        real, fake = 3.0 + 0.1 * mg.randn(POINTS, 1), 0.1 * mg.randn(POINTS, 1)
        apart = critic(real, weights).mean() - critic(fake, weights).mean()
        share = mg.rand(POINTS, 1)
        steep, slope = penalty(real * share + fake * (1.0 - share), weights)
        grads = (WEIGHT * steep - apart).backward()
        with mg.no_grad():  # a Var may be written to only where nothing is recorded
            for w in weights:
                w -= RATE * grads[w]
        if step % 100 == 0:
            print(f"step {step:3}: apart {apart.item():.3f}, slope {slope.item():.3f}, penalty {steep.item():.4f}")


if __name__ == "__main__":
    main()
