"""`Module`: a network, or a part of one, as an object with parameters, buffers and children.

A layer consists of its parameters and one call of a function of `mg.nn.functional`.  The base classes of `Module` are
in separate files: attributes in `members.py`, hooks in `hooks.py`, the state by name in `states.py`, conversions in
`moving.py`.  The op of a layer sees the weight and not the layer, so its message for an input of another size advises
to change the weight; `located` replaces it by one with the layer's own parameter and its name in each containing
module.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any, Self

from minigrad.autodiff.grads import gradients_to_zero
from minigrad.errors import ArgumentError, DeclarationError, IndexOutOfRange, MinigradError, ShapeError, absent_method
from minigrad.nn.modules import global_hooks
from minigrad.nn.modules.members import BUFFERS, CHILDREN, PARAMETERS, PLAIN, Shown
from minigrad.nn.modules.moving import Movable
from minigrad.runtime.changes import changes
from minigrad.runtime.tensor import Tensor, describe

Named = Iterator[tuple[str, Any]]


class CallSignature:
    """Signatures for `inspect.signature`: of the constructor for a class, and of the function it calls for a module."""

    def __get__(self, module: Any, cls: Any) -> inspect.Signature:
        return cls._constructor() if module is None else signature(getattr(module, "_function", module.forward))


class Module(Shown, Movable):
    """Define the base class of all layers and networks.

    A subclass creates its parameters and child modules in `__init__` and computes its result in `forward`. Parameters,
    buffers and modules that are assigned to attributes are registered.

    `mg.nn.modules.changes.count` counts the changes of all modules: it rises with every new parameter, buffer, child or
    hook and with every change of the mode. Code that depends on the structure of a module, such as a compiled step, can
    compare this count instead of the structure.

    >>> class Net(mg.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = mg.nn.Linear(2, 1)
    ...     def forward(self, x):
    ...         return self.layer(x).relu()
    >>> net = Net()
    >>> [name for name, _ in net.named_parameters()], net(mg.zeros(3, 2)).shape
    (['layer.weight', 'layer.bias'], (3, 1))
    """

    __signature__ = CallSignature()
    # For each input with a size that the constructor received: the index of the input, the parameter, and the dim.
    _sizes: tuple[tuple[int, str, int], ...] = ()

    # Whether `__init__` passes its arguments to the next base class, in a class with other bases than `Module`.
    call_super_init: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self.call_super_init:
            super().__init__(*args, **kwargs)
        elif args or kwargs:
            raise DeclarationError(
                f"{type(self).__name__}: this class accepts no arguments, got "
                f"{', '.join([*map(repr, args), *kwargs])}; define __init__ with these parameters"
            )

    @classmethod
    def _constructor(cls) -> inspect.Signature:
        """Return the signature of the class: that of `__init__` without `self`."""
        own = signature(cls.__init__)
        return own.replace(parameters=list(own.parameters.values())[1:])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; a subclass must implement this method."""
        raise absent_method(self, "a module that is called", "forward(self, input)")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._hooks is None:
                return self.forward(*args, **kwargs)
            return self._hooks.call(self, args, kwargs)
        except (ShapeError, IndexOutOfRange) as error:
            error_of_layer = located(self, args, error)
            if error_of_layer is error:
                raise
            raise error_of_layer from None

    # ---- traversal

    def named_modules(self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True) -> Named:
        """Yield pairs of name and module, for this module and all modules below it.

        memo (set of Module): Modules to skip. Each module that is yielded is added to this set.
        prefix: Name of this module.
        remove_duplicate: Whether a module that has several names is yielded once.
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        d = self.__dict__
        for name in tuple(d[CHILDREN]):
            if d[name] is not None:
                yield from d[name].named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def _named_members(self, kind: str, prefix: str, recurse: bool, remove_duplicate: bool) -> Named:
        seen: set[int] = set()
        modules = self.named_modules(None, prefix, remove_duplicate) if recurse else ((prefix, self),)
        for path, module in modules:
            d = module.__dict__
            if kind is PARAMETERS and d.get(PLAIN):
                module._check_plain()
            for name in tuple(d[kind]):
                x = d[name]
                if x is not None and id(x) not in seen:
                    if remove_duplicate:
                        seen.add(id(x))
                    yield (f"{path}.{name}" if path else name), x

    def named_parameters(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Named:
        """Yield pairs of name and parameter.

        prefix: Prefix of each name; a dot is added.
        recurse: Whether to include the parameters of the modules below this one.
        remove_duplicate: Whether a parameter that has several names is yielded once.
        """
        return self._named_members(PARAMETERS, prefix, recurse, remove_duplicate)

    def named_buffers(self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True) -> Named:
        """Yield pairs of name and buffer; the arguments are the same as for `named_parameters`."""
        return self._named_members(BUFFERS, prefix, recurse, remove_duplicate)

    def named_children(self) -> Named:
        """Yield pairs of name and module for the direct children."""
        d = self.__dict__
        seen: set[int] = set()
        for name in tuple(d[CHILDREN]):
            if d[name] is not None and id(d[name]) not in seen:
                seen.add(id(d[name]))
                yield name, d[name]

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """Yield each parameter once, with `recurse` also the parameters of the modules below this one."""
        return (x for _, x in self.named_parameters(recurse=recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield each buffer once, with `recurse` also the buffers of the modules below this one."""
        return (x for _, x in self.named_buffers(recurse=recurse))

    def children(self) -> Iterator[Any]:
        """Yield the direct children."""
        return (module for _, module in self.named_children())

    def modules(self) -> Iterator[Any]:
        """Yield this module and all modules below it."""
        return (module for _, module in self.named_modules())

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call a function with each module, children first, and return this module."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    # ---- by name

    def get_submodule(self, target: str) -> Any:
        """Return the module with a name such as "encoder.layers.0"; "" is this module.

        Raises AttributeError if there is no such module.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if name not in (children := module._modules):  # also that of a jitted module
                raise AttributeError(
                    f"get_submodule: target must be a path of module names, but {module.__class__.__name__} has no "
                    f"module {name!r}, only {', '.join(children) or 'none'}; pass 'layers.0', for example"
                )
            module = children[name]
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Replace or add the module with a name such as "encoder.layers.0"; with `strict` it must exist.

        Raises AttributeError if a part of the name does not exist.
        Raises ArgumentError if the name is empty.
        """
        prefix, _, name = target.rpartition(".")
        if not name:
            raise ArgumentError(f"set_submodule: target must name a module, got {target!r}; pass 'layer', for example")
        owner = self.get_submodule(prefix)
        if strict:
            owner.get_submodule(name)
        setattr(owner, name, module)

    def _get_member(self, kind: str, target: str, noun: str) -> Any:
        prefix, _, name = target.rpartition(".")
        module = self.get_submodule(prefix)
        members = module._parameters if kind is PARAMETERS else module._buffers
        if name not in members:
            raise AttributeError(
                f"get_{noun}: {module.__class__.__name__} has no {noun} {name!r}, only "
                f"{', '.join(members) or 'none'}; list the names with named_{noun}s()"
            )
        return members[name]

    def get_parameter(self, target: str) -> Any:
        """Return the parameter with a name such as "layers.0.weight"; raise AttributeError if it does not exist."""
        return self._get_member(PARAMETERS, target, "parameter")

    def get_buffer(self, target: str) -> Any:
        """Return the buffer with a name such as "norm.running_mean"; raise AttributeError if it does not exist."""
        return self._get_member(BUFFERS, target, "buffer")

    # ---- modes and gradients

    def train(self, mode: bool = True) -> Self:
        """Set the mode of this module and all modules below it; dropout and batch normalization depend on the mode.

        mode: True for training, False for evaluation.

        Returns (Module): The module itself.
        """
        if not isinstance(mode, bool):
            raise DeclarationError(f"train: mode must be True or False, got {mode!r}; call train() or eval()")
        for module in self.modules():
            if module.training is not mode:
                module.__dict__["training"] = mode
                changes.count += 1
        return self

    def eval(self) -> Self:
        """Select evaluation mode, like `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Make all parameters trainable, or freeze them with False; return the module."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        changes.count += 1
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Remove the gradients of all parameters, or set them to zero with `set_to_none=False`."""
        reached = [p for p in self.parameters() if p._grad is not None]  # a frozen one may also have a gradient
        if set_to_none:
            for p in reached:
                p._grad = None
        else:
            for g in gradients_to_zero(reached):
                g.zero_()


global_hooks.install(Module)
globals().update(global_hooks.REGISTER)  # names of this module in PyTorch


def located(module: Any, args: tuple[Any, ...], error: MinigradError) -> MinigradError:
    """Return the error for an exception that was raised in a call of a module."""
    inner = error.__dict__.get("layer")
    if inner is None:
        own = str(error).startswith(f"{type(module).__name__}:")
        error = (None if own else misfit(module, args)) or error
    else:
        for name in [name for name, child in module.named_children() if child is inner]:
            error.add_note(f"raised in {name!r} of {type(module).__name__}")
    error.__dict__["layer"] = module
    return error


def misfit(module: Any, args: tuple[Any, ...]) -> MinigradError | None:
    """Return an error for the first input with another size than a parameter of the constructor, or None.

    A subclass with another `forward` may expect other inputs, so the cause is left to the op's own error.
    """
    owner: Any = next(kind for kind in type(module).__mro__ if "_sizes" in vars(kind))
    if type(module).forward is not owner.forward:
        return None
    for k, parameter, dim in module._sizes:
        x, want = args[k] if k < len(args) else None, getattr(module, parameter)
        if isinstance(x, Tensor) and has_rank(module, x) and size_of(x, want, dim) != want:
            where = f"dim {dim}" if isinstance(want, int) else "the last dims"
            name = list(signature(module.forward).parameters)[k]
            return ShapeError(
                f"{type(module).__name__}: {name} must have the size {want} in {where} ({parameter}={want}), got "
                f"{describe(x)}; change {parameter}, or the layer before",
                op=type(module).__name__,
            )
    return None


def has_rank(module: Any, x: Tensor) -> bool:
    """Return whether the number of dims suits a convolution, whose op otherwise reports it; True for other layers."""
    dims = getattr(module, "_dims", None)
    return not isinstance(dims, int) or x.ndim - dims in (1, 2)


def size_of(x: Tensor, want: Any, dim: int) -> Any:
    """Return the size of a tensor that a layer compares with `want`: an int or the last sizes; None without the dim."""
    if not isinstance(want, int):
        return x.shape[max(0, x.ndim - len(want)) :]
    return x.shape[dim] if -x.ndim <= dim < x.ndim else None
