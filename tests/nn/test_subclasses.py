"""Layers that users derive from ours: constructors, defaults and parts are those that PyTorch's classes have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg


def wave(lib: Any, *shape: int) -> Any:
    return lib.tensor(np.sin(1.3 * np.arange(int(np.prod(shape)))).reshape(shape), dtype=lib.float64)


def filled(module: Any, lib: Any) -> Any:
    with lib.no_grad():
        for k, p in enumerate(module.double().parameters()):
            p.copy_(wave(lib, *p.shape) * (k + 1) / 3)
    return module


def test_a_loss_with_an_init_of_its_own(lib: Any) -> None:
    class Focal(lib.nn.CrossEntropyLoss):  # type: ignore[misc, name-defined]
        def __init__(self, gamma: float = 2.0, **kwargs: Any) -> None:
            super().__init__(reduction="none", **kwargs)
            self.gamma = gamma

        def forward(self, x: Any, target: Any) -> Any:
            loss = super().forward(x, target)
            return ((1 - (-loss).exp()) ** self.gamma * loss).mean()

    x, target = wave(lib, 3, 4), lib.tensor([0, 1, 2])
    assert Focal(label_smoothing=0.1)(x, target).item() == pytest.approx(0.924156, abs=1e-5)
    assert Focal().gamma == 2.0 and Focal().ignore_index == -100 and Focal().reduction == "none"


def test_a_loss_without_an_init_has_the_defaults_of_its_base(lib: Any) -> None:
    class Loss(lib.nn.CrossEntropyLoss):  # type: ignore[misc, name-defined]
        pass

    weighted = Loss(weight=lib.tensor([1.0, 2.0], dtype=lib.float64))
    assert list(weighted.state_dict()) == ["weight"] and Loss().label_smoothing == 0.0
    assert weighted(wave(lib, 2, 2), lib.tensor([0, 1])).item() == pytest.approx(1.406114, abs=1e-5)


def test_the_bases_of_losses_store_their_arguments(lib: Any) -> None:
    losses = lib.nn.modules.loss

    class Mine(losses._WeightedLoss):  # type: ignore[misc, name-defined]
        def __init__(self, weight: Any = None, reduction: str = "mean", smoothing: float = 0.1) -> None:
            super().__init__(weight=weight, reduction=reduction)
            self.smoothing = smoothing

        def forward(self, x: Any) -> Any:
            return (x * self.weight).sum() if self.reduction == "sum" else x

    class Plain(losses._Loss):  # type: ignore[misc, name-defined]
        def __init__(self, reduction: str = "mean") -> None:
            super().__init__(None, None, reduction)

        def forward(self, x: Any) -> Any:
            return x.mean()

    made = Mine(lib.ones(2), "sum")
    assert made(lib.ones(2)).item() == 2.0 and list(made.state_dict()) == ["weight"] and Mine().weight is None
    assert Plain("none").reduction == "none" and Plain()(lib.ones(3)).item() == 1.0
    assert isinstance(lib.nn.NLLLoss(), losses._WeightedLoss) and isinstance(lib.nn.L1Loss(), losses._Loss)
    assert not isinstance(lib.nn.BCEWithLogitsLoss(), losses._WeightedLoss)


def test_activations_pools_and_others_are_derived_from(lib: Any) -> None:
    class Capped(lib.nn.ReLU):  # type: ignore[misc, name-defined]
        def __init__(self, cap: float) -> None:
            super().__init__(inplace=False)
            self.cap = cap

        def forward(self, x: Any) -> Any:
            return super().forward(x).clamp(max=self.cap)

    class Leaky(lib.nn.LeakyReLU):  # type: ignore[misc, name-defined]
        pass

    class Pool(lib.nn.MaxPool2d):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(kernel_size=3, stride=2, padding=1)

    class Warm(lib.nn.Softmax):  # type: ignore[misc, name-defined]
        def __init__(self, temperature: float) -> None:
            super().__init__(dim=-1)
            self.temperature = temperature

        def forward(self, x: Any) -> Any:
            return super().forward(x / self.temperature)

    class Twice(lib.nn.Upsample):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(scale_factor=2)

    x = lib.tensor([-1.0, 2.0])
    assert Capped(1.0)(x).tolist() == [0.0, 1.0] and Leaky(0.5)(x).tolist() == [-0.5, 2.0]
    assert Leaky()(x).tolist() == pytest.approx([-0.01, 2.0]) and repr(Leaky(0.5)) == "Leaky(negative_slope=0.5)"
    assert Pool()(lib.ones(1, 1, 5, 5)).shape == (1, 1, 3, 3) and Pool().dilation == 1
    assert Warm(2.0)(x * 0).tolist() == [0.5, 0.5] and Twice()(lib.ones(1, 1, 2, 2)).shape == (1, 1, 4, 4)


def test_the_signature_is_that_of_the_init_of_the_subclass() -> None:
    import inspect

    class Pool(mg.nn.MaxPool2d):
        def __init__(self, size: int, more: bool = False) -> None:
            super().__init__(size)

    class Same(mg.nn.MaxPool2d):
        pass

    assert list(inspect.signature(Pool).parameters) == ["size", "more"]
    assert inspect.signature(Same) == inspect.signature(mg.nn.MaxPool2d)


def test_blocks_of_a_transformer_layer_are_called_and_overridden(lib: Any) -> None:
    class Scaled(lib.nn.TransformerEncoderLayer):  # type: ignore[misc, name-defined]
        def _ff_block(self, x: Any) -> Any:
            return super()._ff_block(x) * 2

    class Crossed(lib.nn.TransformerDecoderLayer):  # type: ignore[misc, name-defined]
        def _mha_block(self, x: Any, mem: Any, *masks: Any, **more: Any) -> Any:
            return super()._mha_block(x, mem.flip(0), *masks, **more)

    class Own(lib.nn.TransformerEncoderLayer):  # type: ignore[misc, name-defined]
        def forward(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Any:
            x = self.norm1(src + self._sa_block(src, src_mask, src_key_padding_mask))
            return self.norm2(x + self._ff_block(x))

    x = wave(lib, 3, 1, 4)
    plain = filled(lib.nn.TransformerEncoderLayer(4, 2, 8, 0.0), lib)
    own, scaled = filled(Own(4, 2, 8, 0.0), lib), filled(Scaled(4, 2, 8, 0.0), lib)
    crossed = filled(Crossed(4, 2, 8, 0.0, norm_first=True), lib)
    np.testing.assert_allclose(own(x).detach().numpy(), plain(x).detach().numpy(), atol=1e-12)
    sums = [
        float((y.detach() * wave(lib, 3, 1, 4)).sum()) for y in (plain(x), scaled(x), crossed(x, wave(lib, 5, 1, 4)))
    ]
    assert sums == pytest.approx(SUMS, abs=1e-6)


SUMS = [1.3587188754, 1.2039604637, -259.8435609792]


def test_gradients_of_a_backward_hook_are_none_or_zeros_as_in_pytorch(lib: Any) -> None:
    class Two(lib.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, a: Any, b: Any, c: Any = None) -> Any:
            return a * b, a + 1

    seen: list[Any] = []
    module = Two()
    module.register_full_backward_hook(lambda m, into, out: seen.append((into, out)))
    a = lib.tensor([2.0]).requires_grad_()
    module(a, lib.tensor([3]))[0].sum().backward()
    ((first, second), (used, unused)) = seen[0]
    assert first.tolist() == [3.0] and second.tolist() == [0] and not second.dtype.is_floating_point
    assert used.tolist() == [1.0] and unused is None and a.grad.tolist() == [3.0]


def test_files_of_layers_have_pytorchs_names_too() -> None:
    from importlib import import_module

    files = {"container": "ParameterList", "rnn": "LSTM", "sparse": "Embedding", "flatten": "Flatten",
             "instancenorm": "InstanceNorm2d", "pixelshuffle": "PixelShuffle", "fold": "Unfold"}  # fmt: skip
    for name, layer in files.items():
        assert getattr(import_module(f"minigrad.nn.modules.{name}"), layer) is getattr(mg.nn, layer)
        assert getattr(mg.nn.modules, name).__name__ == f"minigrad.nn.modules.{name}"
    assert mg.nn.modules.utils._ntuple(2)(3) == mg.nn.modules.utils._pair(3) == (3, 3)


def test_an_init_passes_its_arguments_on_if_the_class_asks_for_it(lib: Any) -> None:
    class Sized:
        def __init__(self, size: int = 0) -> None:
            self.size = size

    class Layer(lib.nn.Module, Sized):
        call_super_init = True

        def __init__(self) -> None:
            super().__init__(size=5)
            self.inner = lib.nn.Linear(2, 1)

    assert Layer().size == 5 and len(list(Layer().parameters())) == 2
