"""Two networks compete: one generates points, the other distinguishes them from points on two moons.

    python examples/gan_points.py [--steps 3000] [--seed 0]

The generator never sees the moons, only the other network's gradient (Goodfellow et al., 2014).  Two mean distances
are the result: from a held-out point to the nearest generated point, which is large if the generator misses a part of
the moons, and from a generated point to the nearest held-out point, which is large if it generates points elsewhere.
"""

import argparse

import minigrad as mg
from minigrad import nn
from minigrad.data import moons

F = nn.functional
BATCH, NOISE = 256, 8


def network(inputs: int, outputs: int, hidden: int = 64) -> nn.Sequential:
    """Return a network of three linear maps."""
    return nn.Sequential(
        nn.Linear(inputs, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, hidden), nn.LeakyReLU(0.2),
        nn.Linear(hidden, outputs),
    )  # fmt: skip


def distance(points: mg.Tensor, others: mg.Tensor) -> float:
    """Return the mean distance from a point to the nearest of the other points."""
    return mg.cdist(points, others).min(1).values.mean().item()


def drawing(points: mg.Tensor, width: int = 64, height: int = 18) -> str:
    """Return a drawing of points as characters."""
    low, high = mg.tensor([-1.6, -1.1]), mg.tensor([2.6, 1.6])
    cells = ((points - low) / (high - low) * mg.tensor([float(width), float(height)])).long()
    taken = {tuple(cell) for cell in cells.tolist()}
    return "\n".join("".join(".o"[(x, y) in taken] for x in range(width)) for y in reversed(range(height)))


def main() -> None:
    """Train both networks in turns."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    mg.manual_seed(options.seed)
    real, _ = moons(2000, noise=0.05)
    generator, critic = network(NOISE, 2), network(2, 1)
    optimizers = [mg.optim.Adam(model.parameters(), lr=1e-3, betas=(0.5, 0.99)) for model in (generator, critic)]
    ones, zeros = mg.ones(BATCH, 1), mg.zeros(BATCH, 1)
    with mg.viz.Log("gan_points.jsonl", total=options.steps) as log:
        for _ in range(options.steps):
            made = generator(mg.randn(BATCH, NOISE))
            batch = real[mg.randint(0, len(real), (BATCH,))]
            told = F.binary_cross_entropy_with_logits(critic(batch), 0.9 * ones)
            told = told + F.binary_cross_entropy_with_logits(critic(made.detach()), zeros)
            optimizers[1].zero_grad()
            told.backward()
            optimizers[1].step()
            fooled = F.binary_cross_entropy_with_logits(critic(made), ones)
            optimizers[0].zero_grad()
            fooled.backward()
            optimizers[0].step()
            log(critic=told, generator=fooled)
    unseen, _ = moons(500, noise=0.05)
    with mg.no_grad():
        made = generator(mg.randn(2000, NOISE))
        print(drawing(made))
        for name, points in (("made", made), ("real", real)):
            print(f"2000 {name} points: a held-out one is {distance(unseen, points):.3f} from the nearest of them, "
                  f"one of them {distance(points, unseen):.3f} from the nearest held-out one")  # fmt: skip


if __name__ == "__main__":
    main()
