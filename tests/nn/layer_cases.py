"""Layers and losses with arguments and inputs, all from closed formulas, so that numbers can be stored.

`measure(nn, case, ...)` runs one case with a library, minigrad's modules or PyTorch's, and returns its output and all
gradients as arrays.  `python -m tests.nn.layer_cases` writes `layer_numbers.json` with an installed PyTorch: of each
array one weighted sum.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_overloads

import numpy as np

TABLE = Path(__file__).with_name("layer_numbers.json")


@dataclass(frozen=True)
class Case:
    """A class of `nn`, the arguments of its constructor, and the inputs of its call: kinds with shapes."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[tuple[Any, ...], ...] = (("real", (2, 3)),)
    random: bool = False  # in training
    join: Callable[[list[Any]], tuple[Any, ...]] | None = None  # from the inputs to the arguments of the call

    def __str__(self) -> str:
        shown = [*map(str, self.args), *[f"{k}={v}" for k, v in self.kwargs.items()]]
        return f"{self.name}({', '.join(shown)})".replace(" ", "")


def case(
    name: str, *args: Any, on: Any = ("real", (2, 3)), random: bool = False, join: Any = None, **kwargs: Any
) -> Case:
    """A case; `on` is one input or a tuple of them."""
    inputs = (on,) if isinstance(on[0], str) else on
    return Case(name, args, kwargs, inputs, random, join)


def wave(shape: tuple[int, ...], k: int = 0) -> np.ndarray:
    """Numbers between -1.5 and 1.5 in no visible order, none of them near 0 or equal to another."""
    i = np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape)
    x = 1.5 * np.sin(2.39996 * (i + 1) + 4.1 * k)
    return x + 0.05 * np.sign(x)


def made(kind: str, shape: tuple[int, ...], *rest: Any, k: int = 0) -> np.ndarray:
    """An input: "real", "share" (between 0 and 1) and "log" (before log_softmax) get gradients, the others do not."""
    i = np.arange(int(np.prod(shape))).reshape(shape)
    match kind:
        case "real" | "fixed" | "log":
            return wave(shape, k)
        case "share" | "fixed share":
            return 0.5 + wave(shape, k) / 4
        case "variance":
            return np.abs(wave(shape, k)) + 0.1
        case "sign":
            return np.where((i * 7 + k) % 3 == 0, 1.0, -1.0)
        case "bits":
            return (i % 2).astype(np.float64)
        case "count":
            return ((i * 5 + k) % 4).astype(np.float64)
        case "class":
            return (i * 7 + 3 + k) % rest[0]
        case "exact":
            return np.array(rest[0]).reshape(shape)
    raise ValueError(kind)


TRACKED = {"real", "share", "log"}


def row(nn: Any, values: np.ndarray, dtype: str) -> Any:
    """A tensor of a library."""
    if nn.__name__.startswith("torch"):
        import torch

        return torch.tensor(values, dtype=getattr(torch, dtype) if values.dtype.kind == "f" else None)
    import minigrad as mg

    return mg.tensor(values, dtype=dtype if values.dtype.kind == "f" else None, device="reference")


def build(nn: Any, each: Case, dtype: str) -> Any:
    """The module of a library, with parameters and buffers from formulas."""
    kwargs = {k: row(nn, np.asarray(v), dtype) if isinstance(v, np.ndarray) else v for k, v in each.kwargs.items()}
    inner = [getattr(nn, kind)(*args) for kind, *args in [kwargs.pop("layer")]] if "layer" in kwargs else []
    module = getattr(nn, each.name)(*inner, *each.args, **kwargs)
    module = module.to("cpu" if nn.__name__.startswith("torch") else "reference")
    module = module.to(getattr(__import__(nn.__name__.partition(".")[0]), dtype))
    state = module.state_dict()
    for k, (name, x) in enumerate(state.items()):
        if not name.endswith("num_batches_tracked") and "weight" not in each.kwargs and "pos_weight" not in each.kwargs:
            values = wave(tuple(x.shape), k + 5) * 0.6
            state[name] = row(nn, np.abs(values) + 0.2 if name.endswith("var") else values, dtype)
    module.load_state_dict(state)
    return module


def measure(nn: Any, each: Case, dtype: str, train: bool) -> dict[str, np.ndarray]:
    """Outputs, gradients of inputs and parameters, and buffers after one call, by name."""
    module = build(nn, each, dtype).train(train)
    leaves, inputs = [], []
    for k, (kind, shape, *rest) in enumerate(each.inputs):
        x = row(nn, made(kind, shape, *rest, k=k), dtype)
        leaves.append(x.requires_grad_() if kind in TRACKED else x)
        inputs.append(nn.functional.log_softmax(x, -1) if kind == "log" else x)
    outputs = listed(module(*(inputs if each.join is None else each.join(inputs))))
    arrays = {"output" if k == 0 else f"output {k}": plain(y) for k, y in enumerate(outputs)}
    tracked = [(k, y) for k, y in enumerate(outputs) if y.requires_grad]
    if tracked:
        sum((y * row(nn, np.cos(k + np.arange(y.numel())).reshape(tuple(y.shape)), dtype)).sum()
            for k, y in tracked).backward()  # fmt: skip
        found = {f"input {k}": x.grad for k, x in enumerate(leaves) if x.requires_grad}
        found |= {name: p.grad for name, p in module.named_parameters()}
        arrays |= {f"gradient of {name}": plain(g) for name, g in found.items() if g is not None}
    arrays |= {name: plain(b) for name, b in module.named_buffers() if train}
    return arrays


def listed(result: Any) -> list[Any]:
    """The tensors of a result, those of tuples in tuples too; None is left out."""
    if isinstance(result, (list, tuple)):
        return [x for part in result for x in listed(part)]
    return [] if result is None else [result]


def plain(x: Any) -> np.ndarray:
    """An array."""
    return np.asarray(x.detach().numpy(), dtype=np.float64)


def sums(arrays: dict[str, np.ndarray]) -> list[float]:
    """One weighted sum of each array, which a wrong element, sign or order changes."""
    return [float(f"{(a.ravel() * np.sin(1.0 + np.arange(a.size))).sum():.12g}") for a in arrays.values()]


IMAGE, LINE, VOLUME = ("real", (2, 4, 5, 6)), ("real", (2, 4, 7)), ("real", (1, 4, 3, 4, 3))
PAIR = (("real", (4, 3)), ("fixed", (4, 3)))
CLASSES = (("real", (4, 3)), ("class", (4,), 3))
MODES = ("zeros", "reflect", "replicate", "circular")


def convolutions() -> Iterator[Case]:
    """Convolutions and their transposes."""
    for name, on in (("Conv1d", LINE), ("Conv2d", IMAGE), ("Conv3d", VOLUME)):
        yield case(name, 4, 2, 3, on=on, padding="same")
        yield case(name, 4, 6, 2, stride=2, padding=1, groups=2, on=on)
    for mode in MODES[1:]:
        yield case("Conv2d", 4, 2, (3, 2), padding=(1, 0), padding_mode=mode, dilation=(1, 2), bias=False, on=IMAGE)
        yield case("Conv1d", 4, 2, 4, padding="same", padding_mode=mode, on=LINE)
    yield case("Conv2d", 4, 2, 3, padding="valid", on=("real", (4, 5, 6)))
    for name, on in (("ConvTranspose1d", LINE), ("ConvTranspose2d", IMAGE), ("ConvTranspose3d", VOLUME)):
        yield case(name, 4, 2, 3, on=on)
        yield case(name, 4, 2, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=2, bias=False, on=on)


def pools() -> Iterator[Case]:
    """Pools."""
    for d, on in ((1, LINE), (2, IMAGE), (3, VOLUME)):
        yield case(f"MaxPool{d}d", 3, stride=2, padding=1, on=on)
        yield case(f"MaxPool{d}d", 2, ceil_mode=True, return_indices=True, on=on)
        yield case(f"AvgPool{d}d", 3, stride=1, padding=1, count_include_pad=False, on=on)
        yield case(f"AvgPool{d}d", 2, on=on)
        yield case(f"LPPool{d}d", 2.0, 2, on=on)
        yield case(f"AdaptiveAvgPool{d}d", 2, on=on)
        yield case(f"AdaptiveMaxPool{d}d", 2, on=on)
    yield case("AvgPool2d", 2, divisor_override=3, on=IMAGE)
    yield case("AdaptiveAvgPool2d", (None, 3), on=IMAGE)
    drawn = np.array([[0.1, 0.9], [0.4, 0.6]])
    yield case("FractionalMaxPool2d", 2, 3, _random_samples=drawn[None], on=("real", (1, 2, 5, 6)))
    yield case("FractionalMaxPool2d", (2, 1), output_ratio=(0.6, 0.5), return_indices=True, _random_samples=drawn[None],
               on=("real", (2, 5, 6)))  # fmt: skip
    yield case("FractionalMaxPool3d", 2, (2, 3, 1), _random_samples=np.array([[[0.3, 0.8, 0.5]]]),
               on=("real", (1, 1, 4, 5, 3)))  # fmt: skip
    yield case("MaxUnpool1d", 2, on=(("real", (1, 2, 3)), ("exact", (1, 2, 3), [1, 2, 4, 0, 3, 5])))
    yield case("MaxUnpool2d", 2, on=(("real", (1, 1, 2, 2)), ("exact", (1, 1, 2, 2), [0, 3, 9, 14])))
    yield case("MaxUnpool3d", 2, on=(("real", (1, 1, 1, 1, 2)), ("exact", (1, 1, 1, 1, 2), [1, 14])))


def shapes() -> Iterator[Case]:
    """Linear maps, padding, rearrangements, upsampling."""
    yield case("Identity", 3, a=4)
    yield case("Linear", 3, 5)
    yield case("Linear", 3, 5, bias=False, on=("real", (2, 2, 3)))
    yield case("Bilinear", 3, 2, 4, on=(("real", (2, 3)), ("real", (2, 2))))
    yield case("Flatten", on=IMAGE)
    yield case("Flatten", 0, 1, on=IMAGE)
    yield case("Unflatten", 1, (2, 2), on=LINE)
    for d, on in ((1, LINE), (2, IMAGE), (3, VOLUME)):
        pads = tuple(range(1, 2 * d + 1)) if d < 3 else (1, 2, 1, 0, 1, 1)
        yield case(f"ConstantPad{d}d", pads, 0.5, on=on)
        yield case(f"ZeroPad{d}d", 2, on=on)
        for mode in ("Reflection", "Replication", "Circular"):
            yield case(f"{mode}Pad{d}d", (2, 1) if d == 1 else 1, on=on)
    yield case("PixelShuffle", 2, on=("real", (1, 4, 2, 3)))
    yield case("PixelUnshuffle", 2, on=("real", (1, 2, 4, 2)))
    yield case("ChannelShuffle", 2, on=("real", (1, 4, 2, 2)))
    yield case("Unfold", 2, padding=1, stride=2, on=("real", (1, 2, 4, 3)))
    yield case("Fold", (4, 3), 2, stride=(2, 1), on=("real", (1, 8, 4)))
    yield case("Upsample", scale_factor=2, on=("real", (1, 2, 3, 2)))
    yield case("Upsample", size=(4, 5), mode="bilinear", align_corners=True, on=("real", (1, 2, 3, 2)))
    yield case("Upsample", scale_factor=1.5, mode="linear", on=LINE)
    yield case("UpsamplingNearest2d", scale_factor=2, on=("real", (1, 2, 3, 2)))
    yield case("UpsamplingBilinear2d", size=(5, 4), on=("real", (1, 2, 3, 2)))


def norms() -> Iterator[Case]:
    """Normalizations, dropout, tables."""
    for d, on in ((1, LINE), (2, IMAGE), (3, VOLUME)):
        yield case(f"BatchNorm{d}d", 4, on=on)
        yield case(f"InstanceNorm{d}d", 4, on=on)
    yield case("BatchNorm1d", 3, momentum=None, eps=1e-3, on=("real", (5, 3)))
    yield case("BatchNorm1d", 3, affine=False, on=("real", (5, 3)))
    yield case("BatchNorm1d", 3, track_running_stats=False, on=("real", (5, 3)))
    yield case("BatchNorm2d", 4, bias=False, on=IMAGE)
    yield case("InstanceNorm1d", 4, affine=True, track_running_stats=True, on=LINE)
    yield case("InstanceNorm2d", 4, affine=True, bias=False, on=("real", (4, 3, 2)))
    yield case("LayerNorm", (5, 6), on=IMAGE)
    yield case("LayerNorm", 3, bias=False)
    yield case("LayerNorm", 3, elementwise_affine=False, eps=0.1)
    yield case("RMSNorm", 3)
    yield case("RMSNorm", (2, 3), eps=0.1, elementwise_affine=False)
    yield case("GroupNorm", 2, 4, on=IMAGE)
    yield case("GroupNorm", 1, 4, affine=False, on=LINE)
    yield case("GroupNorm", 2, 4, bias=False, on=LINE)
    yield case("SyncBatchNorm", 4, on=LINE)
    yield case("SyncBatchNorm", 4, momentum=None, affine=False, on=IMAGE)
    yield case("LocalResponseNorm", 3, alpha=0.5, k=2.0, on=LINE)
    for name in ("Dropout", "Dropout1d", "AlphaDropout", "FeatureAlphaDropout"):
        yield case(name, 0.3, on=LINE, random=True)
    yield case("Dropout2d", on=IMAGE, random=True)
    yield case("Dropout3d", on=VOLUME, random=True)
    index = ("exact", (2, 3), [1, 4, 4, 0, 2, 1])
    yield case("Embedding", 5, 3, on=index)
    yield case("Embedding", 5, 3, padding_idx=-1, scale_grad_by_freq=True, on=index)
    yield case("Embedding", 5, 3, max_norm=0.5, norm_type=1.0, on=index)
    for mode in ("mean", "sum", "max"):
        yield case("EmbeddingBag", 5, 3, mode=mode, on=index)
    yield case("EmbeddingBag", 5, 3, padding_idx=1, include_last_offset=True,
               on=(("exact", (4,), [1, 4, 2, 0]), ("exact", (3,), [0, 2, 4])))  # fmt: skip


def activations() -> Iterator[Case]:
    """Activations."""
    for name in ("ReLU", "ReLU6", "Sigmoid", "Hardsigmoid", "Tanh", "SiLU", "Mish", "Hardswish", "ELU", "CELU", "SELU",
                 "GELU", "Hardtanh", "Hardshrink", "LeakyReLU", "LogSigmoid", "Softplus", "Softshrink", "PReLU",
                 "Softsign", "Tanhshrink"):  # fmt: skip
        yield case(name)
    yield case("Threshold", 0.2, -3.0)
    yield case("RReLU", random=True)
    yield case("Hardtanh", -0.5, 0.7)
    yield case("ELU", 0.5)
    yield case("CELU", alpha=0.5)
    yield case("LeakyReLU", 0.3)
    yield case("Softplus", 2.0, 1.0)
    yield case("Hardshrink", 0.7)
    yield case("Softshrink", lambd=0.7)
    yield case("PReLU", 4, 0.1, on=LINE)
    yield case("GELU", approximate="tanh")
    yield case("GLU", on=("real", (2, 4)))
    yield case("GLU", 0, on=("real", (2, 4)))
    for name in ("Softmax", "Softmin", "LogSoftmax"):
        yield case(name, dim=1, on=LINE)
        yield case(name, 0)
    yield case("Softmax2d", on=IMAGE)
    yield case("CosineSimilarity", on=(("real", (4, 3)), ("real", (4, 3))))
    yield case("PairwiseDistance", 1.0, keepdim=True, on=(("real", (4, 3)), ("real", (4, 3))))


def losses() -> Iterator[Case]:
    """Losses."""
    weight = np.array([0.5, 1.0, 2.0])
    for reduction in ("mean", "sum", "none"):
        for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss"):
            yield case(name, reduction=reduction, on=PAIR)
        yield case("NLLLoss", reduction=reduction, on=(("log", (4, 3)), ("class", (4,), 3)))
        yield case("CrossEntropyLoss", reduction=reduction, on=CLASSES)
        yield case("BCELoss", reduction=reduction, on=(("share", (4, 3)), ("fixed share", (4, 3))))
        yield case("BCEWithLogitsLoss", reduction=reduction, on=(("real", (4, 3)), ("fixed share", (4, 3))))
        yield case("KLDivLoss", reduction=reduction, on=(("log", (4, 3)), ("fixed share", (4, 3))))
    yield case("KLDivLoss", reduction="batchmean", log_target=True, on=(("log", (4, 3)), ("log", (4, 3))))
    yield case("SmoothL1Loss", beta=0.3, on=PAIR)
    yield case("HuberLoss", delta=0.3, on=PAIR)
    yield case("NLLLoss", weight=weight, ignore_index=1, on=(("log", (4, 3)), ("class", (4,), 3)))
    yield case("CrossEntropyLoss", weight=weight, label_smoothing=0.1, on=CLASSES)
    yield case("CrossEntropyLoss", ignore_index=2, on=(("real", (2, 3, 2)), ("class", (2, 2), 3)))
    yield case("CrossEntropyLoss", on=(("real", (4, 3)), ("fixed share", (4, 3))))
    yield case("LinearCrossEntropyLoss", 2, 3, bias=True, on=(("real", (4, 2)), ("class", (4,), 3)))
    yield case("LinearCrossEntropyLoss", 2, 3, out_features=(2,), on=(("real", (4, 2)), ("class", (4, 2), 3)))
    yield case("BCELoss", weight=weight, on=(("share", (4, 3)), ("bits", (4, 3))))
    yield case("BCEWithLogitsLoss", pos_weight=weight, on=(("real", (4, 3)), ("bits", (4, 3))))
    yield case("PoissonNLLLoss", on=(("real", (4, 3)), ("count", (4, 3))))
    yield case("PoissonNLLLoss", log_input=False, full=True, on=(("share", (4, 3)), ("count", (4, 3))))
    yield case("GaussianNLLLoss", full=True, on=(*PAIR, ("variance", (4, 3))))
    yield case("HingeEmbeddingLoss", margin=0.7, on=(("real", (4, 3)), ("sign", (4, 3))))
    yield case("SoftMarginLoss", on=(("real", (4, 3)), ("sign", (4, 3))))
    yield case("MarginRankingLoss", 0.4, on=(("real", (6,)), ("real", (6,)), ("sign", (6,))))
    yield case("CosineEmbeddingLoss", 0.2, on=(("real", (4, 3)), ("real", (4, 3)), ("sign", (4,))))
    yield case("MultiMarginLoss", 2, 0.6, weight=weight, on=CLASSES)
    yield case("MultiLabelMarginLoss", on=(("real", (2, 4)), ("exact", (2, 4), [3, 0, -1, 1, 2, -1, 0, 0])))
    yield case("MultiLabelSoftMarginLoss", weight=weight, on=(("real", (4, 3)), ("bits", (4, 3))))
    triple = (("real", (4, 3)), ("real", (4, 3)), ("real", (4, 3)))
    yield case("TripletMarginLoss", 0.5, swap=True, on=triple)
    yield case("TripletMarginWithDistanceLoss", margin=2.0, on=triple)
    yield case("AdaptiveLogSoftmaxWithLoss", 4, 9, [3, 5], 2.0, True,
               on=(("real", (5, 4)), ("exact", (5,), [0, 8, 4, 2, 6])))  # fmt: skip
    yield case("AdaptiveLogSoftmaxWithLoss", 4, 9, (2, 7), on=(("real", (4,)), ("exact", (), [3])))
    lengths = (("exact", (2,), [6, 5]), ("exact", (2,), [3, 2]))
    targets = ("exact", (2, 3), [1, 2, 2, 3, 1, 0])
    yield case("CTCLoss", on=(("log", (6, 2, 4)), targets, *lengths))
    yield case("CTCLoss", 1, "sum", on=(("log", (6, 2, 4)), ("exact", (5,), [2, 3, 0, 3, 2]), *lengths))


def pair_of_states(inputs: list[Any]) -> tuple[Any, ...]:
    """The arguments of an LSTM: its input, and h and c as a tuple."""
    return inputs[0], tuple(inputs[1:])


def recurrent() -> Iterator[Case]:
    """Recurrent layers over sequences, and their cells."""
    series = ("real", (4, 2, 3))  # time, batch, size
    for name in ("RNN", "LSTM", "GRU"):
        join = pair_of_states if name == "LSTM" else None
        states = 2 if name == "LSTM" else 1
        yield case(name, 3, 2, on=series)
        yield case(name, 3, 2, 2, bidirectional=True, on=(series, *[("real", (4, 2, 2))] * states), join=join)
        yield case(name, 3, 2, bias=False, batch_first=True, on=("real", (2, 4, 3)))
        yield case(name, 3, 2, 2, on=(("real", (5, 3)), *[("real", (2, 2))] * states), join=join)
        yield case(f"{name}Cell", 3, 2)
        yield case(f"{name}Cell", 3, 2, bias=False, on=(("real", (2, 3)), *[("real", (2, 2))] * states), join=join)
        yield case(f"{name}Cell", 3, 2, True, on=(("real", (3,)), *[("real", (2,))] * states), join=join)
    yield case("RNN", 3, 2, nonlinearity="relu", on=series)
    yield case("RNNCell", 3, 2, nonlinearity="relu")
    yield case("LSTM", 3, 4, 2, proj_size=2, bidirectional=True, on=series)
    yield case("GRU", 3, 2, 2, dropout=0.4, on=series, random=True)


def attentions() -> Iterator[Case]:
    """Attention, and the layers and stacks of a transformer."""
    queries, memory = ("real", (3, 2, 4)), ("real", (5, 2, 4))  # length, batch, size
    padding = ("exact", (2, 5), [[False] * 5, [False, False, True, False, True]])
    yield case("MultiheadAttention", 4, 2, on=(queries, memory, memory))
    yield case("MultiheadAttention", 4, 2, bias=False, kdim=3, vdim=2, batch_first=True,
               on=(("real", (2, 3, 4)), ("real", (2, 5, 3)), ("real", (2, 5, 2))))  # fmt: skip
    yield case("MultiheadAttention", 4, 1, add_bias_kv=True, add_zero_attn=True, on=(queries, memory, memory, padding))
    yield case("MultiheadAttention", 4, 4, dropout=0.4, on=(("real", (3, 4)),) * 3, random=True)
    layer = {"dropout": 0.0, "dim_feedforward": 5}
    yield case("TransformerEncoderLayer", 4, 2, **layer, on=queries)
    yield case("TransformerEncoderLayer", 4, 2, **layer, norm_first=True, activation="gelu", bias=False, on=queries)
    yield case("TransformerDecoderLayer", 4, 2, **layer, on=(queries, memory))
    yield case("TransformerDecoderLayer", 4, 2, **layer, batch_first=True, norm_first=True, layer_norm_eps=0.1,
               on=(("real", (2, 3, 4)), ("real", (2, 5, 4))))  # fmt: skip
    yield case("TransformerEncoder", on=queries, layer=("TransformerEncoderLayer", 4, 2, 5, 0.0), num_layers=2)
    yield case(
        "TransformerDecoder", on=(queries, memory), layer=("TransformerDecoderLayer", 4, 2, 5, 0.0), num_layers=2
    )
    yield case("Transformer", 4, 2, 1, 2, **layer, on=(memory, queries))
    yield case("Transformer", 4, 1, 1, 1, 5, batch_first=True, on=(memory, memory), random=True)


CASES = [*convolutions(), *pools(), *shapes(), *norms(), *activations(), *losses(), *recurrent(), *attentions()]


def keys() -> Iterator[tuple[str, Case, bool]]:
    """Every case in evaluation, and those that depend on the mode in training, with the key of its numbers."""
    for each in CASES:
        for train in (False, *([True] if "Norm" in each.name else [])):
            yield f"{each} {'train' if train else 'eval'}", each, train


def signature(kind: Any) -> list[list[str]]:
    """The parameters of a class: names, kinds and defaults; those that take anything are left out.

    PyTorch's recurrent layers take anything, and have their parameters in overloads.
    """
    function = kind.__init__ if kind.__module__.startswith("torch") else kind
    parameters = inspect.signature(next(iter(get_overloads(function)), function)).parameters
    return [
        [p.name, p.kind.name, "" if p.default is p.empty else getattr(p.default, "__name__", repr(p.default))]
        for p in parameters.values()
        if p.name != "self" and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]


def write() -> None:
    """Store PyTorch's numbers and signatures."""
    import torch

    import minigrad as mg

    numbers = {key: sums(measure(torch.nn, each, "float64", train)) for key, each, train in keys()}
    names = [name for name in sorted({*mg.nn.modules.public(), "SyncBatchNorm"}) if hasattr(torch.nn, name)]
    signatures = {name: signature(getattr(torch.nn, name)) for name in names}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in numbers.items()]
    more = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in signatures.items()]
    text = '{"numbers": {\n' + ",\n".join(lines) + '},\n"signatures": {\n' + ",\n".join(more) + "}}\n"
    TABLE.write_text(text, encoding="utf-8")
    print(f"{TABLE}: {len(numbers)} cases, {len(signatures)} signatures")


def stored() -> Any:
    """The numbers and the signatures of the file."""
    return json.loads(TABLE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    write()
