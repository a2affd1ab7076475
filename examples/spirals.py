"""Three arms of a spiral, which no straight line separates: the purpose of a hidden layer.

    python examples/spirals.py [--epochs 200] [--seed 0]

A linear map and a network with two hidden layers learn the same 600 points; 300 others test them.
"""

import argparse

import minigrad as mg
from minigrad import nn
from minigrad.data import DataLoader, TensorDataset, spirals

F = nn.functional
MODELS = {
    "linear map": lambda: nn.Linear(2, 3),
    "two hidden layers": lambda: nn.Sequential(
        nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3)
    ),
}


def accuracy(model: nn.Module, points: mg.Tensor, labels: mg.Tensor) -> float:
    """Return the share of points whose arm is predicted correctly."""
    with mg.no_grad():
        return (model(points).argmax(1) == labels).float().mean().item()


def regions(model: nn.Module, width: int = 56, height: int = 24) -> str:
    """Return the arm that the model predicts at each position of the plane, as characters."""
    y, x = mg.meshgrid(mg.linspace(1.1, -1.1, height), mg.linspace(-1.1, 1.1, width), indexing="ij")
    with mg.no_grad():
        chosen = model(mg.stack([x, y], -1)).argmax(-1)
    return "\n".join("".join(".o#"[k] for k in row) for row in chosen.tolist())


def main() -> None:
    """Train both models, and draw their predictions."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    mg.manual_seed(options.seed)
    train, test = spirals(600, noise=0.03), spirals(300, noise=0.03)
    results = []
    with mg.viz.Log("spirals.csv", total=options.epochs * len(MODELS)) as log:
        for name, make in MODELS.items():
            model = make()
            optimizer = mg.optim.Adam(model.parameters(), lr=1e-2)
            for _ in range(options.epochs):
                for points, labels in DataLoader(TensorDataset(*train), batch_size=100, shuffle=True):
                    optimizer.zero_grad()
                    loss = F.cross_entropy(model(points), labels)
                    loss.backward()
                    optimizer.step()
                log(loss=loss, accuracy=accuracy(model, *train))
            results.append(f"{name}: {accuracy(model, *test):.1%} of {len(test[1])} held-out points are right")
    print(regions(model))
    print("\n".join(results))


if __name__ == "__main__":
    main()
