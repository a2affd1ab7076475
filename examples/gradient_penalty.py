"""A gradient inside a loss: the gradient penalty of the Wasserstein GAN, which keeps the slope of a critic near one.

The penalty (|df/dx| - 1)**2 is computed from a gradient, so its own gradient is a second derivative: with
`create_graph=True`, the backward pass is recorded like any other computation.  The critic learns to separate points
around 3 from points around 0 by as much as a slope of one allows, which is about their distance.  Source: I. Gulrajani
and others, "Improved Training of Wasserstein GANs", arXiv 1704.00028.
"""

import minigrad as mg

STEPS, POINTS, WIDTH, RATE, WEIGHT = 400, 64, 16, 0.02, 10.0


def critic(x: mg.Tensor, weights: list[mg.Var]) -> mg.Tensor:
    """Return one number for each point, computed by two layers."""
    w1, b1, w2 = weights
    return (x @ w1 + b1).tanh() @ w2


def penalty(x: mg.Tensor, weights: list[mg.Var]) -> tuple[mg.Tensor, mg.Tensor]:
    """Return the mean squared difference between the critic's slopes at x and one, and the mean slope."""
    point = mg.Var(x)
    # Each row of f depends only on its own point, so each row of the gradient of the sum is the slope at one point.
    slope = mg.grad(critic(point, weights).sum(), point, create_graph=True).norm(dim=1)
    return (slope - 1.0).square().mean(), slope.mean()


def main() -> None:
    """Train the critic, and print its slope and the difference between its values."""
    mg.manual_seed(0)
    weights = [mg.Var(mg.randn(1, WIDTH)), mg.Var(mg.zeros(WIDTH)), mg.Var(mg.zeros(WIDTH, 1))]
    for step in range(STEPS + 1):
        real, fake = 3.0 + 0.1 * mg.randn(POINTS, 1), 0.1 * mg.randn(POINTS, 1)
        apart = critic(real, weights).mean() - critic(fake, weights).mean()
        share = mg.rand(POINTS, 1)
        steep, slope = penalty(real * share + fake * (1.0 - share), weights)
        grads = (WEIGHT * steep - apart).backward()
        with mg.no_grad():  # a Var may be changed only while nothing is recorded
            for w in weights:
                w -= RATE * grads[w]
        if step % 100 == 0:
            print(f"step {step:3}: apart {apart.item():.3f}, slope {slope.item():.3f}, penalty {steep.item():.4f}")


if __name__ == "__main__":
    main()
