"""Recurrent networks: RNN, LSTM and GRU over sequences, and their cells.

A layer multiplies the whole input by its weights at once.  Then it runs a cell over time, which only multiplies the
previous state: see `cells.py`, which also has the step functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minigrad.core.roles import Choice, Number, read_flag
from minigrad.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError, warn
from minigrad.nn import functional as F
from minigrad.nn.modules.cells import GATES, STEPS, State, _Recurrent, over_packed, over_time, states_of
from minigrad.nn.parameter import Parameter
from minigrad.nn.utils.rnn import PackedSequence, as_lengths
from minigrad.ops.creation import empty, zeros
from minigrad.ops.shape.joining import cat, stack
from minigrad.runtime.recording import current_casts
from minigrad.runtime.tensor import Tensor, describe, expect_tensors


class RNNBase(_Recurrent):
    """Implement the layers, directions and states of RNN, LSTM and GRU.

    mode ({"LSTM", "GRU", "RNN_TANH", "RNN_RELU"}): Cell that all layers use.
    num_layers: Number of layers; each layer reads the outputs of the previous one.
    batch_first: Whether input and output are (batch, time, size) instead of (time, batch, size).
    dropout: Probability that an output of a layer, except the last, is set to 0 in training mode.
    bidirectional: Whether each layer also runs backwards in time; the outputs of both directions are concatenated.
    proj_size: If positive, h' is multiplied by an additional weight of shape (proj_size, hidden_size).
    """

    weight_hh_l0: Any
    _shown_unless = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0,
                     "bidirectional": False}  # fmt: skip

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        name = type(self).__name__
        Choice(*STEPS).expect(name, mode=mode)
        for flag, value in (("bias", bias), ("batch_first", batch_first)):
            if not isinstance(value, bool):  # 1 is often a misplaced number of layers
                raise ArgumentTypeError(
                    f"{name}: {flag} must be True or False, got {value!r}; pass {flag}={bool(value)}"
                )
        bidirectional = bidirectional is not None and read_flag(bidirectional, name, "bidirectional")
        sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}
        Number(1, whole=True, advice="pass at least 1 for each size").expect(name, **sizes)
        if isinstance(dropout, bool):
            raise ArgumentError(f"{name}: dropout must be a probability, got {dropout}; pass dropout=0.1, for example")
        Number(0, 1, noun="probability", example=0.1).expect(name, dropout=dropout)
        if proj_size and (mode != "LSTM" or not 0 < proj_size < hidden_size):
            raise ArgumentError(
                f"{name}: proj_size must be 0, or from 1 to {hidden_size - 1} for an LSTM, got {proj_size}; pass "
                "proj_size=0"
            )
        if dropout and num_layers == 1:
            warn(
                f"{name}: dropout={dropout} has no effect, because dropout is applied between layers and num_layers is "
                "1; pass num_layers=2, or omit dropout"
            )
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        rows, width = GATES[mode] * hidden_size, proj_size or hidden_size
        for layer in range(num_layers):
            size = input_size if layer == 0 else width * (1 + bidirectional)
            shapes: list[tuple[str, tuple[int, ...]]] = [("weight_ih", (rows, size)), ("weight_hh", (rows, width))]
            shapes += [("bias_ih", (rows,)), ("bias_hh", (rows,))] * bias
            shapes += [("weight_hr", (proj_size, hidden_size))] * bool(proj_size)
            for suffix in self.suffixes(layer):
                for part, shape in shapes:
                    setattr(self, part + suffix, Parameter(empty(*shape, device=device, dtype=dtype)))
        self.reset_parameters()

    def suffixes(self, layer: int) -> list[str]:
        """Return the suffix of the names of a layer's parameters, for each direction."""
        return [f"_l{layer}", f"_l{layer}_reverse"][: 1 + self.bidirectional]

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters of each layer and direction."""
        return [
            [p for name, p in self.named_parameters() if name.partition("_l")[2] == suffix[2:]]
            for layer in range(self.num_layers)
            for suffix in self.suffixes(layer)
        ]

    def flatten_parameters(self) -> None:
        """Do nothing: PyTorch needs this method for cuDNN, and scripts for PyTorch call it."""

    # ---- forward

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Return the outputs of the last layer at all times, and the last state of every layer and direction.

        input (Tensor or PackedSequence): Shape (time, batch, input_size), (batch, time, input_size) with `batch_first`,
        or (time, input_size).
        hx (Tensor or tuple of Tensor, optional): Initial state (num_layers * directions, batch, hidden_size), or a pair
        (h, c) of such states for an LSTM; with `proj_size`, the last dim of h has this length. Zeros if None.

        Returns:
            outputs : Tensor or PackedSequence
                Outputs of the last layer, with the leading dims of `input` and the last dim directions * hidden_size,
                or directions * proj_size with `proj_size`.
            state : Tensor or tuple of Tensor
                Last states, in the shapes of `hx`.

        Raises ShapeError if the shape of `input` or `hx` is not one of those above.
        Raises DTypeError if the dtype of `input` is not that of the parameters, outside of autocast.
        Raises ArgumentError if `hx` of an LSTM is not a pair of tensors, or `hx` of another network is not a tensor.
        """
        packed = isinstance(input, PackedSequence)
        x = input.data if packed else input
        expect_tensors(type(self).__name__, x)
        if x.ndim not in ((2,) if packed else (2, 3)) or x.shape[-1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__}: the last dim of input must have the length input_size={self.input_size}, got "
                f"{describe(x)}; reshape the input, or change input_size"
            )
        if not packed and not x.shape[1 if self.batch_first and x.ndim == 3 else 0]:
            raise ShapeError(
                f"{type(self).__name__}: the sequence must have a length of at least 1, got {describe(x)}; do not "
                "call it with an empty sequence"
            )
        if x.dtype is not self.weight_hh_l0.dtype and current_casts() is None:
            raise DTypeError(
                f"{type(self).__name__}: input must have the dtype of the parameters, {self.weight_hh_l0.dtype}, got "
                f"{describe(x)}; convert the input with .to(), or the module"
            )
        batched = packed or x.ndim == 3
        sizes = as_lengths(input.batch_sizes) if packed else None
        if not packed:
            x = x.unsqueeze(1) if not batched else x.transpose(0, 1) if self.batch_first else x
        batch = sizes[0] if sizes is not None else x.shape[1]
        states = self.first_states(hx, x, batch, batched, input if packed else None)
        outputs, last = self.layers(x, states, sizes)
        ends: list[Any] = [stack([state[k] for state in last]) for k in range(len(last[0]))]
        if packed:
            outputs = PackedSequence(outputs, *input[1:])
            order = input.unsorted_indices
            ends = ends if order is None else [end.index_select(1, order) for end in ends]
        elif not batched:
            outputs, ends = outputs.squeeze(1), [end.squeeze(1) for end in ends]
        elif self.batch_first:
            outputs = outputs.transpose(0, 1)
        return outputs, tuple(ends) if self.mode == "LSTM" else ends[0]

    def first_states(self, hx: Any, x: Tensor, batch: int, batched: bool, packed: Any) -> list[State]:
        """Return the initial state of each layer and direction; raise ShapeError if `hx` has another shape."""
        count = self.num_layers * (1 + self.bidirectional)
        widths = [self.proj_size or self.hidden_size, self.hidden_size][: 1 + (self.mode == "LSTM")]
        if hx is None:
            starts = [zeros(count, batch, width, dtype=x.dtype, device=x.device) for width in widths]
        else:
            parts = states_of(type(self).__name__, self.mode, hx)
            shapes = [(count, batch, width) if batched else (count, width) for width in widths]
            if [tuple(h.shape) for h in parts] != shapes:
                raise ShapeError(
                    f"{type(self).__name__}: hx must have the shape {' and '.join(map(str, shapes))}, got "
                    f"{', '.join(map(describe, parts))}; pass None for zeros"
                )
            starts = list(parts) if batched else [h.unsqueeze(1) for h in parts]
            if packed is not None and packed.sorted_indices is not None:
                starts = [h.index_select(1, packed.sorted_indices) for h in starts]
        return [tuple([h[k] for h in starts]) for k in range(count)]

    def layers(self, x: Any, states: Sequence[State], sizes: list[int] | None) -> tuple[Any, list[State]]:
        """Return the outputs of the last layer, and the last states of all layers."""
        last: list[State] = []
        for layer in range(self.num_layers):
            if layer and self.dropout:
                x = F.dropout(x, self.dropout, self.training)
            results = []
            for direction, suffix in enumerate(self.suffixes(layer)):
                weights = {name: getattr(self, name + suffix, None) for name in
                           ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")}  # fmt: skip
                call = (STEPS[self.mode], weights, x, states[len(last)], bool(direction))
                y, state = over_time(*call) if sizes is None else over_packed(*call, sizes)
                results.append(y)
                last.append(state)
            x = results[0] if len(results) == 1 else cat(results, -1)
        return x, last


class RNN(RNNBase):
    """Compute a recurrent network: h' = f(W_ih x + b_ih + W_hh h + b_hh), where f is tanh or relu.

    The vector x is the input at one time, h is the previous state, and h' is the next state, which is also the output.

    nonlinearity ({"tanh", "relu"}): Function that is applied to the sum.
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        Choice("tanh", "relu").expect("RNN", nonlinearity=nonlinearity)
        self.nonlinearity = nonlinearity
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, 0, device, dtype,
        )  # fmt: skip


class LSTM(RNNBase):
    """Compute a long short-term memory network (LSTM): c' = f c + i g, h' = o tanh(c').

    The gates are i = sigmoid(W_ii x + b_ii + W_hi h + b_hi), f = sigmoid(W_if x + b_if + W_hf h + b_hf),
    g = tanh(W_ig x + b_ig + W_hg h + b_hg) and o = sigmoid(W_io x + b_io + W_ho h + b_ho). c' and h' are the next
    states, and h' is also the output. The parameter `weight_ih` contains W_ii, W_if, W_ig and W_io, one below the
    other, and the parameter `weight_hh` contains W_hi, W_hf, W_hg and W_ho.

    Source: Hochreiter and Schmidhuber, "Long short-term memory" (1997); Gers et al., "Learning to forget" (2000).

    >>> outputs, (h, c) = mg.nn.LSTM(3, 5, num_layers=2)(mg.zeros(7, 4, 3))
    >>> outputs.shape, h.shape
    ((7, 4, 5), (2, 4, 5))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device,
            dtype,
        )  # fmt: skip


class GRU(RNNBase):
    """Compute a network of gated recurrent units (GRU): h' = (1 - z) n + z h.

    The gates are r = sigmoid(W_ir x + b_ir + W_hr h + b_hr), z = sigmoid(W_iz x + b_iz + W_hz h + b_hz) and
    n = tanh(W_in x + b_in + r (W_hn h + b_hn)). h' is the next state and also the output. The parameter `weight_ih`
    contains W_ir, W_iz and W_in, one below the other, and the parameter `weight_hh` contains W_hr, W_hz and W_hn.

    Source: Cho et al., "Learning phrase representations using RNN encoder-decoder" (2014). As in PyTorch, and unlike in
    the paper, r multiplies W_hn h + b_hn instead of h.
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )
