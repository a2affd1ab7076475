"""The optimizers, options and schedules that are held to PyTorch, and the steps that they take.

`python tests/optim_cases.py` writes PyTorch's numbers into `optim/frozen.json`, for machines without PyTorch.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FROZEN = Path(__file__).parent / "optim" / "frozen.json"

OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1, "betas": (0.8, 0.9), "eps": 1e-3}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "maximize": True}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.01, "weight_decay": 0.3, "maximize": True}),
    ("AdamW", {"lr": 0.01, "amsgrad": True}),
    ("Adamax", {"lr": 0.01}),
    ("Adamax", {"lr": 0.01, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.01}),
    ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "momentum_decay": 0.02}),
    ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {"lr": 0.01}),
    ("RAdam", {"lr": 0.01, "weight_decay": 0.1, "betas": (0.9, 0.9)}),
    ("RAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1, "maximize": True}),
    ("RMSprop", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "centered": True, "maximize": True}),
    ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.5, "alpha": 0.9}),
    ("Adafactor", {}),
    (
        "Adafactor",
        {"lr": 0.1, "beta2_decay": -0.5, "eps": (1e-4, 0.01), "d": 1.5, "weight_decay": 0.1, "maximize": True},
    ),
    ("Rprop", {"lr": 0.01}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (0.01, 0.2), "maximize": True}),
    ("ASGD", {"lr": 0.1}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 3, "weight_decay": 0.1, "maximize": True}),
]
NAMES = [f"{name}-{'-'.join(options) or 'plain'}" for name, options in OPTIMIZERS]
SHAPES = [(3, 4), (5,), (), (2, 1, 3)]
STEPS = 20


def values(seed: int, dtype: Any) -> list[Any]:
    """Return an array for each shape."""
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.standard_normal(shape), dtype) for shape in SHAPES]


def gradients(step: int, arrays: list[Any]) -> list[Any]:
    """Return the gradients of a step: near those of a parabola, and different at each step."""
    noise = values(100 + step, np.float64)
    return [(a + 0.5 * n).astype(a.dtype) for a, n in zip(arrays, noise)]


# A name, and a schedule of a module `s` (lr_scheduler of either library) for an optimizer `o` with two groups.
SCHEDULES: dict[str, Any] = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, [lambda e: 0.95**e, lambda e: 1 / (1 + e)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9 if e % 2 else 1.05),
    "StepLR": lambda s, o: s.StepLR(o, 7, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [5, 5, 20, 41], 0.3),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.25, 9),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.2, 0.9, 30),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.97),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 40, 1.7),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 17, 0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5, 2, 0.001),
    "CosineAnnealingWarmRestarts-1": lambda s, o: s.CosineAnnealingWarmRestarts(o, 8),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.3], 7, 5),
    "CyclicLR-triangular2": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 4, mode="triangular2", base_momentum=0.7),
    "CyclicLR-exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 6, mode="exp_range", gamma=0.97, cycle_momentum=False),
    "CyclicLR-scale_fn": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 6, scale_fn=lambda x: 1 / x, scale_mode="cycle"),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, [0.5, 0.2], total_steps=60),
    "OneCycleLR-three": lambda s, o: s.OneCycleLR(
        o, 0.5, epochs=6, steps_per_epoch=10, three_phase=True, pct_start=0.2
    ),
    "OneCycleLR-linear": lambda s, o: s.OneCycleLR(o, 0.5, 60, anneal_strategy="linear", cycle_momentum=False),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9)]),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 6), s.CosineAnnealingLR(o, 20), s.ExponentialLR(o, 0.9)], [6, 30]
    ),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o, factor=0.5, patience=2, cooldown=1, min_lr=[0.001, 0.02]),
    "ReduceLROnPlateau-max": lambda s, o: s.ReduceLROnPlateau(o, "max", 0.5, 1, threshold=0.1, threshold_mode="abs"),
}
EPOCHS = 60


def metric(epoch: int) -> float:
    """Return a value that falls, stays and rises."""
    return float(np.sin(epoch / 7) + 3 / (epoch + 1))


def steps_of(name: str, modules: Any, optimizer: Any) -> list[list[float]]:
    """Return the rate of each group, and its momentum if it changes, at the beginning and after each epoch."""
    schedule = SCHEDULES[name](modules, optimizer)
    keys = ("lr", "momentum") if "Cycl" in name else ("lr",)
    rows = [state_of(optimizer, keys)]
    for epoch in range(EPOCHS - 1):
        optimizer.step()
        schedule.step(*([metric(epoch)] if name.startswith("Reduce") else []))
        rows.append(state_of(optimizer, keys))
    return rows


def state_of(optimizer: Any, keys: tuple[str, ...]) -> list[float]:
    """Return some options of each group."""
    return [float(group[key]) for group in optimizer.param_groups for key in keys]


def optimized(torch: Any, name: str, options: dict[str, Any]) -> list[float]:
    """Return all elements of all parameters after the steps, in float64."""
    params = [torch.nn.Parameter(torch.tensor(v)) for v in values(0, np.float64)]
    optimizer = getattr(torch.optim, name)(params, **options)
    for step in range(STEPS):
        for p, g in zip(params, gradients(step, [p.detach().numpy() for p in params])):
            p.grad = torch.tensor(g)
        optimizer.step()
    return [float(f"{x:.11g}") for p in params for x in p.detach().numpy().ravel()]


def main() -> None:
    """Write the file."""
    import torch

    content: dict[str, Any] = {"optimizers": {}, "schedules": {}}
    for label, (name, options) in zip(NAMES, OPTIMIZERS):
        content["optimizers"][label] = optimized(torch, name, options)
    for name in SCHEDULES:
        groups = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": lr} for lr in (0.1, 0.05)]
        rows = steps_of(name, torch.optim.lr_scheduler, torch.optim.SGD(groups, momentum=0.9))
        content["schedules"][name] = [[float(f"{x:.11g}") for x in row] for row in rows]
    FROZEN.write_text(json.dumps(content, separators=(",", ":")).replace("],", "],\n") + "\n")


if __name__ == "__main__":
    main()
