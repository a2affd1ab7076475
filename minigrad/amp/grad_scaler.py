"""GradScaler: a loss is scaled up so that float16 gradients do not underflow; they are scaled down before a step.

A step with a gradient that is not finite is skipped, and the scale shrinks; after many finite steps it grows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from minigrad.backends.registry import cuda_is_available
from minigrad.core.dtype import float16, float32
from minigrad.errors import ArgumentError, GradientError, warn
from minigrad.optim import lists
from minigrad.optim.optimizer import Optimizer
from minigrad.runtime.tensor import Tensor, describe

READY, UNSCALED, STEPPED = "ready", "unscaled", "stepped"


class GradScaler:
    """Multiply losses by a scale and divide gradients by the scale, so that float16 gradients do not underflow.

    The scale shrinks after a step whose gradients overflow, and grows after many steps with finite gradients.

    device: Kind of device. If it is "cuda" and there is no CUDA device, the scaler warns and does nothing.
    init_scale: Initial scale.
    growth_factor: Factor, above 1, by which the scale grows after `growth_interval` consecutive steps with finite
    gradients.
    backoff_factor: Factor, below 1, by which the scale shrinks after a step with a gradient that is not finite.
    growth_interval: Number of consecutive finite steps after which the scale grows.
    enabled: Whether the scaler is active. If False, `scale` returns its argument, and `step` is the optimizer's step.

    Raises ArgumentError if `growth_factor` is at most 1, or `backoff_factor` is at least 1.

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
            warn("GradScaler: no CUDA device can be used, so the scaler does nothing; pass device='cpu'")
            self._enabled = False
        if growth_factor <= 1.0:
            raise ArgumentError(
                f"GradScaler: expected growth_factor above 1, got {growth_factor}; pass growth_factor=2.0"
            )
        if backoff_factor >= 1.0:
            raise ArgumentError(
                f"GradScaler: expected backoff_factor below 1, got {backoff_factor}; pass backoff_factor=0.5"
            )
        self._scale, self._growth_tracker = float(init_scale), 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        self._stages: dict[int, str] = {}
        # Maps the id of an optimizer to whether it had a gradient that is not finite since the last update.
        self._infinite: dict[int, bool] = {}

    def scale(self, outputs: Any) -> Any:
        """Return outputs times the scale; they are a tensor, or tensors in an iterable such as a list or tuple."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, (list, tuple)):
            return type(outputs)([self.scale(each) for each in outputs])
        if isinstance(outputs, Iterable) and not isinstance(outputs, str):
            return map(self.scale, outputs)
        raise ArgumentError(
            f"GradScaler.scale: outputs must be a tensor or an iterable of tensors, got {describe(outputs)}; pass the "
            "loss, for example"
        )

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, at most once between two calls of `update`.

        Raises GradientError if `unscale_` was already called since the last `update`, or if a gradient is float16.
        """
        if not self._enabled:
            return
        stage = self._stages.get(id(optimizer), READY)
        if stage is UNSCALED:
            raise GradientError(
                "GradScaler.unscale_: the gradients of this optimizer have been unscaled already since the last "
                "update(); call unscale_() only once per step"
            )
        if stage is STEPPED:
            raise GradientError(
                "GradScaler.unscale_: unscale_() must be called before step(), but step() was called first; call "
                "update() after this step, and unscale_() before the next step"
            )
        params = [p for group in optimizer.param_groups for p in group["params"]]
        gradients = [p.grad.detach() for p in params if p.grad is not None]
        for g in gradients:
            if g.dtype is float16:
                raise GradientError(
                    f"GradScaler.unscale_: expected float32 gradients, got {describe(g)}; keep the parameters of the "
                    "optimizer in float32"
                )
        self._infinite[id(optimizer)] = not all(map(is_finite, by_device(gradients)))
        lists.scale_(gradients, 1.0 / self._scale)
        self._stages[id(optimizer)] = UNSCALED

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients if necessary, and call `optimizer.step` if they are finite.

        Returns (object): The result of `optimizer.step`, or None for a skipped step.

        Raises GradientError if `step` was already called since the last `update`.
        Raises ArgumentError if a closure is passed.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or args:
            raise ArgumentError(
                "GradScaler.step: a closure is not supported; call scaler.step(optimizer) without a closure"
            )
        stage = self._stages.get(id(optimizer), READY)
        if stage is STEPPED:
            raise GradientError(
                "GradScaler.step: step() has been called already for this optimizer since the last update(); call "
                "update() after each step"
            )
        if stage is READY:
            self.unscale_(optimizer)
        result = None if self._infinite[id(optimizer)] else optimizer.step(*args, **kwargs)
        self._stages[id(optimizer)] = STEPPED
        return result

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale to the gradients since the last update, or set it to `new_scale`.

        Raises GradientError if no step was taken since the last update and `new_scale` is None.
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._infinite:
            raise GradientError(
                "GradScaler.update: expected a step since the last update(), but none was taken; call "
                "scaler.step(optimizer) before scaler.update()"
            )
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
        """Return the scale, which is 1 for a scaler that is not enabled."""
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
        """Return the number of consecutive finite steps after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of consecutive finite steps after which the scale grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Return whether the scaler is active."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the state with PyTorch's keys, or an empty dict for a scaler that is not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval, "_growth_tracker": self._growth_tracker,
        }  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a result of `state_dict`, from minigrad or PyTorch.

        Raises ArgumentError if the dict is empty, which is the state of a scaler that is not enabled.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise ArgumentError(
                "GradScaler.load_state_dict: expected the state of an enabled scaler, got an empty dict, the state of "
                "a disabled scaler; create this scaler with enabled=False"
            )
        self._scale, self._growth_tracker = float(state_dict["scale"]), int(state_dict["_growth_tracker"])
        self._growth_factor, self._backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]


def by_device(tensors: list[Any]) -> list[list[Any]]:
    """Group tensors by their device and dtype."""
    groups: dict[Any, list[Any]] = {}
    for x in tensors:
        groups.setdefault((x.device, x.dtype), []).append(x)
    return list(groups.values())


def is_finite(tensors: list[Any]) -> bool:
    """Return whether all elements are finite; the tensors share a device and dtype."""
    return math.isfinite(lists.total_norm(tensors, math.inf).item())
