"""Function transforms under the names of `torch.func` and `functorch`: derivatives and batches, which can be nested."""

from typing import TYPE_CHECKING, NoReturn

from minigrad.declare.advice import absent
from minigrad.declare.manual import document_all
from minigrad.declare.names import listed
from minigrad.func.jacobians import hessian, jacfwd, jacobian, jacrev
from minigrad.func.loops import associative_scan, cond, map, scan, while_loop
from minigrad.func.mapping import chunk_vmap, vmap
from minigrad.func.modules import (
    FunctionalModule,
    FunctionalModuleWithBuffers,
    combine_state_for_ensemble,
    functional_call,
    make_functional,
    make_functional_with_buffers,
    replace_all_batch_norm_modules_,
    stack_module_state,
)
from minigrad.func.transforms import grad, grad_and_value, hvp, jvp, linearize, value_and_grad, vjp
from minigrad.func.trees import tree_map

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "associative_scan", "chunk_vmap", "combine_state_for_ensemble",
    "cond", "functional_call", "grad", "grad_and_value", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jvp",
    "linearize", "make_functional", "make_functional_with_buffers", "map", "replace_all_batch_norm_modules_", "scan",
    "stack_module_state", "tree_map", "value_and_grad", "vjp", "vmap", "while_loop",
]  # fmt: skip
__dir__ = listed(__all__)
document_all(globals())

if not TYPE_CHECKING:  # a type checker would otherwise accept every attribute of this module

    def __getattr__(name: str) -> NoReturn:
        """Raise the error that suggests a replacement for names of torch.func or jax."""
        raise absent(__name__, name)
