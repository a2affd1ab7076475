"""A variational autoencoder: digits as points of a plane, and a digit for every point.

    python examples/vae.py [--epochs 60] [--seed 0]

The encoder maps an image to the mean and the variance of a normal distribution, and the decoder maps a sample of this
distribution to an image.  The loss is an upper bound of -log p(image), in nats (Kingma and Welling, 2013).
`vae.jsonl` has the two parts of the loss.
"""

import argparse

import minigrad as mg
from minigrad import nn
from minigrad.data import DataLoader, TensorDataset, load_digits

F = nn.functional
SHADES = " .:-=+*#%@"


class Autoencoder(nn.Module):
    """Two networks of two layers each: from 64 pixels to a code, and from a code to 64 pixels."""

    def __init__(self, code: int = 2, hidden: int = 128) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 2 * code))
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.ReLU(), nn.Linear(hidden, 64))

    def forward(self, images: mg.Tensor) -> tuple[mg.Tensor, mg.Tensor, mg.Tensor]:
        """Return the scores of the pixels, and the mean and the logarithm of the variance of the code."""
        mean, log_variance = self.encoder(images).chunk(2, 1)
        code = mean + (log_variance / 2).exp() * mg.randn_like(mean)
        return self.decoder(code), mean, log_variance


def parts(model: Autoencoder, images: mg.Tensor) -> tuple[mg.Tensor, mg.Tensor]:
    """Return the error of the pixels, and the divergence of the code from a standard normal distribution, per image."""
    scores, mean, log_variance = model(images)
    error = F.binary_cross_entropy_with_logits(scores, images, reduction="sum")
    divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
    return error / len(images), divergence / len(images)


@mg.no_grad()
def plane(model: Autoencoder, side: int = 6) -> str:
    """Return the digits that the decoder generates for the points of a grid."""
    at = mg.linspace(-1.6, 1.6, side)
    points = mg.stack(mg.meshgrid(at, at, indexing="ij"), -1).reshape(-1, 2)
    pixels = model.decoder(points).sigmoid().reshape(side, side, 8, 8).transpose(1, 2).reshape(8 * side, 8 * side)
    shade = (pixels * len(SHADES)).long().clamp(max=len(SHADES) - 1)
    return "\n".join("".join(2 * SHADES[k] for k in row) for row in shade.tolist())


def main() -> None:
    """Train, test, and draw the plane of codes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    mg.manual_seed(options.seed)
    train, _, test, _ = (mg.from_numpy(a) for a in load_digits())
    model = Autoencoder()
    optimizer = mg.optim.Adam(model.parameters(), lr=2e-3)
    loader = DataLoader(TensorDataset(train), batch_size=64, shuffle=True)
    with mg.viz.Log("vae.jsonl", total=options.epochs) as log:
        for _ in range(options.epochs):
            for (images,) in loader:
                optimizer.zero_grad()
                error, divergence = parts(model, images)
                (error + divergence).backward()
                optimizer.step()
            log(error=error, divergence=divergence)
    with mg.no_grad():
        error, divergence = parts(model, test)
    print(plane(model))
    print(f"held-out images: {(error + divergence).item():.2f} nats, of which {divergence.item():.2f} are for the code")


if __name__ == "__main__":
    main()
