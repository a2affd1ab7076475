"""GradScaler: a loss is scaled so that gradients of float16 do not vanish, and gradients are scaled back before a step.

A step with a gradient that is not finite is left out, and the scale shrinks; after many good ones it grows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from minigrad.core.dtype import float16, float32
from minigrad.errors import ArgumentError, GradientError, warn
from minigrad.optim import lists
from minigrad.optim.optimizer import Optimizer
from minigrad.runtime.tensor import Tensor, describe

READY, UNSCALED, STEPPED = "ready", "unscaled", "stepped"


class GradScaler:
    """Scale losses up and gradients down, by a factor that adapts to overflows.

    Parameters
    ----------
    device : str, default "cuda"
        The kind of device; without CUDA a scaler for it does nothing, with a warning.
    init_scale : float, default 2**16
        The first scale.
    growth_factor : float, default 2.0
        Multiplies the scale after `growth_interval` steps in a row without infinite gradients; above 1.
    backoff_factor : float, default 0.5
        Multiplies the scale after an infinite gradient; below 1.
    growth_interval : int, default 2000
        See `growth_factor`.
    enabled : bool, default True
        With False `scale` returns its argument, and `step` is the optimizer's.

    Raises
    ------
    ArgumentError
        If a factor is on the wrong side of 1.

    Examples
    --------
    >>> w = mg.Var([1.0])
    >>> optimizer, scaler = mg.optim.SGD([w], lr=0.5), mg.amp.GradScaler("cpu", init_scale=8.0)
    >>> _ = scaler.scale((w * w).sum()).backward()
    >>> w.grad.tolist()
    [16.0]
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> w.tolist(), scaler.get_scale()
    ([0.0], 8.0)
    """

    def __init__(
        self, device: str = "cuda", init_scale: float = 2.0**16, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        self._device, self._enabled = device, enabled
        if enabled and device == "cuda" and not cuda_is_available():
            warn("GradScaler: there is no CUDA device, so the scaler does nothing; pass device='cpu'")
            self._enabled = False
        if growth_factor <= 1.0:
            raise ArgumentError(f"GradScaler: expected growth_factor above 1, got {growth_factor}")
        if backoff_factor >= 1.0:
            raise ArgumentError(f"GradScaler: expected backoff_factor below 1, got {backoff_factor}")
        self._scale, self._growth_tracker = float(init_scale), 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._stages: dict[int, str] = {}
        # By the id of an optimizer: whether it had an infinite gradient since the last update.
        self._infinite: dict[int, bool] = {}

    def scale(self, outputs: Any) -> Any:
        """Return outputs times the scale: a tensor, or tensors in lists, tuples or other iterables."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)([self.scale(each) for each in outputs])
        if isinstance(outputs, Iterable) and not isinstance(outputs, str):
            return map(self.scale, outputs)
        raise ArgumentError(f"GradScaler.scale: expected a tensor or an iterable of tensors, got {describe(outputs)}")

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, by one launch; once between two updates.

        Raises
        ------
        GradientError
            If it was called already, or a gradient is of float16.
        """
        if not self._enabled:
            return
        stage = self._stages.get(id(optimizer), READY)
        if stage is UNSCALED:
            raise GradientError("unscale_: already called for this optimizer since the last update(); call it once")
        if stage is STEPPED:
            raise GradientError("unscale_: called after step(); call update() first")
        params = [p for group in optimizer.param_groups for p in group["params"]]
        gradients = [p.grad.detach() for p in params if p.grad is not None]
        for g in gradients:
            if g.dtype is float16:
                raise GradientError(
                    f"unscale_: expected gradients of float32, got {describe(g)}; keep parameters in float32"
                )
        self._infinite[id(optimizer)] = not all(map(is_finite, by_device(gradients)))
        lists.scale_(gradients, 1.0 / self._scale)
        self._stages[id(optimizer)] = UNSCALED

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Unscale unless that was done, and take the optimizer's step unless a gradient is not finite.

        Returns
        -------
        object
            The value of the optimizer's step; None for one that was left out.

        Raises
        ------
        GradientError
            If it was called already since the last update.
        ArgumentError
            If a closure is passed.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or args:
            raise ArgumentError("GradScaler.step: a closure is not supported; call step without one")
        stage = self._stages.get(id(optimizer), READY)
        if stage is STEPPED:
            raise GradientError("step: already called for this optimizer since the last update(); call update() first")
        if stage is READY:
            self.unscale_(optimizer)
        result = None if self._infinite[id(optimizer)] else optimizer.step(*args, **kwargs)
        self._stages[id(optimizer)] = STEPPED
        return result

    def update(self, new_scale: Any = None) -> None:
        """Choose the scale of the next iteration, from the gradients since the last update, or set it.

        Raises
        ------
        GradientError
            If no step was taken since the last update, and no scale is given.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._infinite:
            raise GradientError("update: no step was taken since the last update(); call scaler.step(optimizer) first")
        elif any(self._infinite.values()):
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                grown = self._scale * self._growth_factor
                self._scale, self._growth_tracker = grown if grown <= float(float32.highest) else self._scale, 0
        self._stages.clear()
        self._infinite.clear()

    def get_scale(self) -> float:
        """Return the scale; 1 of a scaler that is not enabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """Return the factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the factor by which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return how many good steps in a row let the scale grow."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set how many good steps in a row let the scale grow."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Return whether the scaler does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the state, with PyTorch's keys; an empty dict of a scaler that is not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of `state_dict`, of this library or of PyTorch.

        Raises
        ------
        ArgumentError
            If the dict is empty, as that of a scaler that is not enabled.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise ArgumentError(
                "load_state_dict: expected the state of an enabled scaler, got an empty dict; pass enabled=False"
            )
        self._scale, self._growth_tracker = float(state_dict["scale"]), int(state_dict["_growth_tracker"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]


def cuda_is_available() -> bool:
    """Return whether there is a CUDA device; `minigrad.cuda` is imported only for a scaler of one."""
    from minigrad.cuda import is_available

    return is_available()


def by_device(tensors: list[Any]) -> list[list[Any]]:
    """Group tensors by their device and dtype."""
    groups: dict[Any, list[Any]] = {}
    for x in tensors:
        groups.setdefault((x.device, x.dtype), []).append(x)
    return list(groups.values())


def is_finite(tensors: list[Any]) -> bool:
    """Return whether all elements of tensors of one device and dtype are finite."""
    return math.isfinite(lists.total_norm(tensors, math.inf).item())
