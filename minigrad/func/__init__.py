"""Transforms of functions, under the names of `torch.func`: derivatives and batches of them, nested to any depth."""

from minigrad.func.jacobians import hessian, jacfwd, jacobian, jacrev
from minigrad.func.linear import linearize
from minigrad.func.mapping import vmap
from minigrad.func.transforms import grad, grad_and_value, hvp, jvp, value_and_grad, vjp

__all__ = [
    "grad", "grad_and_value", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jvp", "linearize", "value_and_grad",
    "vjp", "vmap",
]  # fmt: skip
