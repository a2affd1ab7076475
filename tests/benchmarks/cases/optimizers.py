"""A step of an optimizer over many parameters whose gradients are there; PyTorch's in its fastest form."""

from collections.abc import Callable
from typing import Any

from tests.benchmarks.case import Table, normal

TABLE = Table("optimizers")


def adamw(m: Any, *tensors: Any) -> Callable[[], Any]:
    """A step of AdamW; the first half of the tensors are parameters, the others their gradients."""
    parameters = list(tensors[: len(tensors) // 2])
    for parameter, gradient in zip(parameters, tensors[len(parameters) :]):
        parameter.grad = gradient
    optimizer = m.optim.AdamW(parameters, fused=True)

    def run() -> Any:
        optimizer.step()
        return parameters

    return run


for name, shapes, goal in (
    ("AdamW over 100 tensors of 10^4", [(100, 100)] * 100, 1.8),
    ("AdamW over 30 small tensors", [(64, 64), (64,), (10,)] * 10, 6.0),
):
    TABLE.add(name, normal(*shapes, *shapes), tracks=len(shapes), build=adamw, goal=goal)
