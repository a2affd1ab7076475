"""Pruning: a mask sets elements of a parameter to zero, under the names of `torch.nn.utils.prune`.

Pruning a parameter `weight` renames it to `weight_orig` and adds the mask as the buffer `weight_mask`.  A property
`weight` then has the value `weight_orig * weight_mask`, as in parametrizations.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from minigrad.core.conditions import Like, Ndim
from minigrad.core.roles import Choice, Number
from minigrad.core.shape import normalize_dim
from minigrad.errors import ArgumentError, DTypeError
from minigrad.nn.utils.parametrize import PRUNED, computed, pruned, uncomputed
from minigrad.ops.creation import ones_like
from minigrad.ops.linalg.matrices import vector_norm
from minigrad.ops.random import rand_like
from minigrad.ops.shape.joining import cat
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor


class BasePruningMethod(ABC):
    """Choose the elements of a parameter that are set to zero.

    A subclass implements `compute_mask`, and sets `PRUNING_TYPE` to the elements among which it chooses: "unstructured"
    (all that are not yet zero), "structured" (all, in slices along a dim) or "global" (all).
    """

    PRUNING_TYPE = "unstructured"
    _tensor_name: str

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask for a tensor of importance scores; elements that `default_mask` sets to zero stay zero."""

    def apply_mask(self, module: Any) -> Tensor:
        """Return the product of the original parameter and its mask."""
        mask = getattr(module, f"{self._tensor_name}_mask")
        original = getattr(module, f"{self._tensor_name}_orig")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Any:
        """Prune a parameter of a module with a new object of this class, and return this object.

        module: Module with the parameter.
        name: Name of the parameter. If it is pruned already, the new mask is combined with the present one.
        importance_scores: Scores in the shape of the parameter, by which elements are chosen; by default the parameter
        itself.
        args and kwargs: Arguments of the class.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        before = pruned(module).get(name)
        scores = expect_scores(cls.__name__, importance_scores, original)
        if before is None:
            default = ones_like(original.detach())
        else:
            default = getattr(module, f"{name}_mask").detach().clone()
            if not isinstance(method, CustomFromMask):
                method = PruningContainer(before, method)
                method._tensor_name = name
        mask = method.compute_mask(scores.detach(), default)  # an error leaves the module as it is
        if before is None:
            if name not in module._parameters:
                raise ArgumentError(
                    f"{cls.__name__}: {type(module).__name__} has no parameter {name!r}, only "
                    f"{', '.join(module._parameters) or 'none'}; pass one of these names"
                )
            delattr(module, name)
            module.register_parameter(f"{name}_orig", original)
            module.register_buffer(f"{name}_mask", mask)
            computed(module, name)
        else:
            setattr(module, f"{name}_mask", mask)
        module.__dict__[PRUNED] = {**pruned(module), name: method}
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Return a pruned copy of a tensor, which belongs to no module."""
        scores = expect_scores(type(self).__name__, importance_scores, t)
        mask = self.compute_mask(scores, ones_like(t) if default_mask is None else default_mask)
        return t * mask.to(t.dtype)

    def remove(self, module: Any) -> None:
        """Make the pruned values the parameter, and remove the mask; pruning is not undone."""
        name = self._tensor_name
        original = getattr(module, f"{name}_orig")
        with no_grad():
            original.copy_(self.apply_mask(module))
        module.__dict__[PRUNED] = {key: value for key, value in pruned(module).items() if key != name}
        uncomputed(module, name)
        for ending in ("orig", "mask"):
            delattr(module, f"{name}_{ending}")
        module.register_parameter(name, original)


class PruningContainer(BasePruningMethod):
    """Several pruning methods of one parameter, which are applied one after another.

    args (BasePruningMethod): The methods, in order.
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        methods = [m for each in args for m in (each if isinstance(each, PruningContainer | list | tuple) else [each])]
        if methods:
            self._tensor_name = methods[0]._tensor_name if hasattr(methods[0], "_tensor_name") else ""
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method for the same parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise DTypeError(
                f"PruningContainer: expected a BasePruningMethod, got {type(method).__name__}; pass "
                "prune.L1Unstructured(0.5), for example"
            )
        name = getattr(self, "_tensor_name", None)
        if method is not None and name and getattr(method, "_tensor_name", name) != name:
            raise ArgumentError(
                f"PruningContainer: each method must be for the parameter {name!r}, got one for "
                f"{method._tensor_name!r}; use another container"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the present mask combined with the mask of the last method, which chooses among what is left."""
        method = self._pruning_methods[-1]
        kinds = Choice("unstructured", "structured", "global", advice="set one of them")
        kinds.expect(type(method).__name__, PRUNING_TYPE=method.PRUNING_TYPE)
        kept, default_mask = default_mask != 0, default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "structured":
            # Only slices that are not zero already are left to choose from.
            dim = method.dim % t.ndim
            left = kept.any([d for d in range(t.ndim) if d != dim]).nonzero().flatten()
            part = method.compute_mask(t.index_select(dim, left), default_mask.index_select(dim, left))
            return default_mask.index_copy(dim, left, part)
        if method.PRUNING_TYPE == "global":
            return method.compute_mask(t, default_mask)
        mask = default_mask.clone()
        mask[kept] = method.compute_mask(t[kept], default_mask[kept])
        return mask


class Identity(BasePruningMethod):
    """Prune nothing, but add a mask of ones."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the present mask."""
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prune elements at random.

    amount: Number of elements, or their fraction in [0, 1].
    """

    def __init__(self, amount: float) -> None:
        self.amount = expect_amount(type(self).__name__, amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the present mask without as many elements as `amount` says."""
        return dropped_lowest(default_mask, self.scores(t), self.amount, type(self).__name__)

    def scores(self, t: Tensor) -> Tensor:
        """Return a score for each element; those with the lowest are pruned."""
        return rand_like(t)


class L1Unstructured(RandomUnstructured):
    """Prune the elements with the smallest absolute values."""

    def scores(self, t: Tensor) -> Tensor:
        """Return the absolute values."""
        return t.abs()


class LnStructured(BasePruningMethod):
    """Prune the slices along a dim that have the smallest norms.

    amount: Number of slices, or their fraction in [0, 1].
    n (int, float, inf, -inf or "fro"): Order of the norm; "fro" is 2.
    dim: Dim along which the slices are counted.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        self.amount, self.n, self.dim = expect_amount(type(self).__name__, amount), n, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the present mask without as many slices as `amount` says."""
        Ndim(least=2, advice="use unstructured pruning").expect(type(self).__name__, parameter=t)
        dim = normalize_dim(self.dim, t.ndim, type(self).__name__, t)
        slices = t.movedim(dim, 0).flatten(1)
        keep = dropped_lowest(ones_like(slices[:, 0]), self.scores(slices), self.amount, type(self).__name__)
        return default_mask * keep.reshape([-1 if d == dim else 1 for d in range(t.ndim)]).to(default_mask.dtype)

    def scores(self, slices: Tensor) -> Tensor:
        """Return the norm of each row."""
        return vector_norm(slices, 2 if self.n == "fro" else self.n, 1)


class RandomStructured(LnStructured):
    """Prune slices along a dim at random."""

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount, 2, dim)

    def scores(self, slices: Tensor) -> Tensor:
        """Return a random number for each row."""
        return rand_like(slices[:, 0])


class CustomFromMask(BasePruningMethod):
    """Prune the elements where a mask is 0.

    mask: Mask in the shape of the parameter.
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the product of both masks."""
        advice = "pass one element for each"
        Like("shape", "the parameter", advice).expect("CustomFromMask", default_mask, mask=self.mask)
        return default_mask * self.mask.to(default_mask.dtype)


def expect_amount(name: str, amount: Any) -> Any:
    """Return an amount; raise ArgumentError unless it is a number of elements or a fraction."""
    fraction, count = Number(0.0, 1.0, noun="fraction", example=0.5), Number(0, whole=True, example=0.5)
    return (fraction if isinstance(amount, float) else count).read(amount, name, "amount", ())


def expect_scores(name: str, scores: Tensor | None, t: Tensor) -> Tensor:
    """Return the importance scores of a tensor, by default the tensor itself; raise ShapeError unless they fit."""
    advice = "pass one score for each element"
    Like("shape", "the parameter", advice).expect(name, t, importance_scores=scores)
    return t if scores is None else scores


def dropped_lowest(mask: Tensor, scores: Tensor, amount: Any, name: str) -> Tensor:
    """Return a mask in which the elements with the lowest scores are 0, as many as `amount` says."""
    total = scores.numel()
    count = round(amount * total) if isinstance(amount, float) else amount
    if count > total:
        raise ArgumentError(f"{name}: amount must be at most {total}, the number of elements, got {count}; pass less")
    if not count:
        return mask.clone()
    lowest = scores.flatten().topk(count, largest=False).indices
    flat = mask.flatten().clone()
    flat[lowest] = 0
    return flat.reshape(mask.shape)


# ---- functions -------------------------------------------------------------------------------------------------------


def identity(module: Any, name: str) -> Any:
    """Add a mask of ones to a parameter, and return the module; see `Identity`."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prune elements of a parameter at random, and return the module; see `RandomUnstructured`."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Tensor | None = None) -> Any:
    """Prune the elements of a parameter with the smallest absolute values, and return the module.

    module: Module with the parameter.
    name: Name of the parameter.
    amount: Number of elements, or their fraction in [0, 1].
    importance_scores: Scores that take the place of the parameter's values.

    >>> layer = mg.nn.utils.prune.l1_unstructured(mg.nn.Linear(4, 2), "weight", amount=0.5)
    >>> int(layer.weight_mask.sum()), sorted(layer.state_dict())
    (4, ['bias', 'weight_mask', 'weight_orig'])
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prune slices of a parameter at random, and return the module; see `RandomStructured`."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Any:
    """Prune the slices of a parameter with the smallest norms, and return the module; see `LnStructured`."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune the elements of a parameter where a mask is 0, and return the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]], pruning_method: Any, importance_scores: dict[Any, Tensor] | None = None,
    **kwargs: Any,
) -> None:  # fmt: skip
    """Prune several parameters together: elements are chosen among those of all parameters.

    parameters (iterable of (Module, str)): Modules and names of their parameters.
    pruning_method (type): Subclass of `BasePruningMethod` with PRUNING_TYPE "unstructured".
    importance_scores (dict): Scores that take the place of a parameter's values, by the pair of module and name.
    kwargs: Arguments of `pruning_method`, such as `amount`.
    """
    pairs = list(parameters)
    kind = Choice("unstructured", advice="pass prune.L1Unstructured, for example")
    kind.expect("global_unstructured", PRUNING_TYPE=pruning_method.PRUNING_TYPE)
    others = importance_scores or {}
    scores = [others.get(pair, getattr(*pair)).detach() for pair in pairs]
    masks = [getattr(module, f"{name}_mask", ones_like(getattr(module, name).detach())) for module, name in pairs]
    container = PruningContainer(pruning_method(**kwargs))
    mask = container.compute_mask(cat([s.flatten() for s in scores]), cat([m.flatten() for m in masks]))
    start = 0
    for (module, name), each in zip(pairs, scores, strict=True):
        custom_from_mask(module, name, mask[start : start + each.numel()].reshape(each.shape))
        start += each.numel()


def remove(module: Any, name: str) -> Any:
    """Make the pruned values of a parameter permanent, and return the module.

    Raises ArgumentError if the parameter is not pruned.
    """
    method = pruned(module).get(name)
    if method is None:
        raise ArgumentError(f"remove: the parameter {name!r} of {type(module).__name__} is not pruned; prune it first")
    method.remove(module)
    return module


def is_pruned(module: Any) -> bool:
    """Return whether a parameter of the module, or of a module below it, is pruned."""
    return any(pruned(each) for each in module.modules())
