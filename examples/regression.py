"""Linear regression in three ways: gradient descent, L-BFGS, and the normal equations, which are exact.

    python examples/regression.py [--steps 300] [--seed 0]

A polynomial of degree 5 is fitted to 100 noisy values of a sine; 100 others test it.
"""

import argparse
import math

import minigrad as mg
from minigrad import nn

F = nn.functional
DEGREE = 5


def sample(n: int) -> tuple[mg.Tensor, mg.Tensor]:
    """Return the powers of positions from -1 to 1, and noisy values of a sine at these positions."""
    x = 2 * mg.rand(n, dtype="float64") - 1
    return mg.linalg.vander(x, DEGREE + 1), mg.sin(math.pi * x) + 0.1 * mg.randn(n, dtype="float64")


def fit(make_optimizer: type, rate: float, steps: int, powers: mg.Tensor, values: mg.Tensor, log: mg.viz.Log) -> mg.Var:
    """Return the coefficients that an optimizer finds."""
    weight = nn.Parameter(mg.zeros(DEGREE + 1, dtype="float64"))
    optimizer = make_optimizer([weight], lr=rate)

    def closure() -> mg.Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(powers @ weight, values)
        loss.backward()
        return loss

    for k in range(steps):
        log(k + 1, **{make_optimizer.__name__: optimizer.step(closure)})
    return weight


def main() -> None:
    """Fit in three ways, and compare the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    mg.manual_seed(options.seed)
    powers, values = sample(100)
    unseen = sample(100)
    found = {"normal equations": mg.linalg.lstsq(powers, values.unsqueeze(1)).solution.squeeze(1)}
    with mg.viz.Log("regression.jsonl", total=options.steps, log=True) as log:
        found["gradient descent"] = fit(mg.optim.SGD, 0.3, options.steps, powers, values, log)
        found["L-BFGS"] = fit(mg.optim.LBFGS, 1.0, 12, powers, values, log)
    for name, weight in found.items():
        with mg.no_grad():
            error = F.mse_loss(unseen[0] @ weight, unseen[1]).sqrt().item()
        shown = ", ".join(f"{c:.2f}" for c in weight.detach().tolist())
        print(f"{name:>17}: root mean square error {error:.3f} on held-out values; coefficients {shown}")


if __name__ == "__main__":
    main()
