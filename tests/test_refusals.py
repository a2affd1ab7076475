"""Calls that PyTorch refuses are refused, although an answer could be computed: it would hide a mistake.

The calls were found by changing one argument of each of PyTorch's own samples (OpInfo), and by its `error_inputs`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from cases import over

import minigrad as mg
from minigrad.errors import ArgumentError, ShapeError

F, nn = mg.nn.functional, mg.nn


def ones(*shape: int) -> mg.Tensor:
    return mg.ones(*shape, device="reference")


def pivots(*rows: int) -> mg.Tensor:
    return mg.tensor(rows, dtype=mg.int32, device="reference")


FLAGS: dict[str, Callable[[Any], Any]] = {
    "ceil_mode": lambda value: F.avg_pool2d(ones(1, 4, 4), 2, ceil_mode=value),
    "return_indices": lambda value: F.max_pool2d(ones(1, 4, 4), 2, return_indices=value),
    "align_corners": lambda value: F.interpolate(ones(1, 1, 4), size=2, mode="linear", align_corners=value),
    "unbiased": lambda value: ones(3).var(unbiased=value),
    "size_average": lambda value: F.mse_loss(ones(2), ones(2), size_average=value),
    "requires_grad": lambda value: mg.zeros(2, requires_grad=value, device="reference"),
    "batch_first": lambda value: nn.LSTM(2, 3, batch_first=value, device="reference"),
    "bias": lambda value: nn.GRU(2, 3, bias=value, device="reference"),
    "tensor: requires_grad": lambda value: mg.tensor([1.0], requires_grad=value, device="reference"),
    "new_tensor: requires_grad": lambda value: ones(2).new_tensor([1.0], requires_grad=value),
    "requires_grad_: requires_grad": lambda value: ones(2).requires_grad_(value),
    "Parameter: requires_grad": lambda value: nn.Parameter(ones(2), value),
    "hann_window: periodic": lambda value: mg.hann_window(4, value, device="reference"),
    "hamming_window: periodic": lambda value: mg.hamming_window(4, value, device="reference"),
    "increasing": lambda value: mg.vander(ones(2), increasing=value),
    "sort: stable": lambda value: ones(2).sort(stable=value),
    "argsort: stable": lambda value: ones(2).argsort(stable=value),
    "topk: sorted": lambda value: ones(2).topk(1, sorted=value),
    "to: non_blocking": lambda value: ones(2).to(mg.float64, non_blocking=value),
    "to: copy": lambda value: ones(2).to(mg.float64, copy=value),
    "copy_: non_blocking": lambda value: ones(2).copy_(ones(2), non_blocking=value),
    "backward: retain_graph": lambda value: mg.Var(ones(2)).sum().backward(retain_graph=value),
    "backward: create_graph": lambda value: mg.Var(ones(2)).sum().backward(create_graph=value),
    "set_grad_enabled: mode": lambda value: mg.set_grad_enabled(value),
}


@over("name", FLAGS)
@pytest.mark.parametrize("value", ["False", 2])
def test_a_flag_is_no_text_and_no_other_number(name: str, value: Any) -> None:
    with pytest.raises(ArgumentError, match=f"{name}.* must be True or False, got {value!r}") as caught:
        FLAGS[name](value)
    assert isinstance(caught.value, TypeError)


def test_an_attribute_that_is_a_flag_is_no_text() -> None:
    x = ones(2)
    with pytest.raises(ArgumentError, match="must be True or False, got 'False'"):
        x.requires_grad = "False"  # type: ignore[assignment]
    assert not x.requires_grad and mg.is_grad_enabled()


def test_flags_that_pytorch_reads_in_python_may_be_none() -> None:
    x = ones(1, 1, 4, 4)
    assert not mg.zeros(2, requires_grad=None, device="reference").requires_grad
    assert not mg.zeros_like(x, requires_grad=None).requires_grad
    for kind in (nn.RNN, nn.LSTM, nn.GRU):
        layer = kind(2, 3, bidirectional=None, device="reference")
        assert layer.bidirectional is False and layer(ones(1, 1, 2))[0].shape == (1, 1, 3)
    for function in (F.dropout, F.dropout2d, F.alpha_dropout, F.feature_alpha_dropout):
        assert function(x, 0.5, True, inplace=None) is not x and x.tolist() == ones(1, 1, 4, 4).tolist()
    assert F.max_pool2d(x, 2, return_indices=None).shape == (1, 1, 2, 2)
    assert F.adaptive_max_pool2d(x, 2, return_indices=None).shape == (1, 1, 2, 2)
    assert F.interpolate(x, size=2, mode="bilinear", antialias=None).tolist() == [[[[1.0, 1.0], [1.0, 1.0]]]]
    assert F.gumbel_softmax(x, hard=None).shape == x.shape
    assert F.gaussian_nll_loss(x, x, x, full=None).item() == 0.0
    with pytest.raises(ArgumentError, match=r"keepdim.* must be True or False, got None"):
        x.sum(0, keepdim=None)


@over(
    ("call", "error", "words"),
    [
        (lambda: mg.linalg.lu_solve(ones(3, 3), pivots(1, 2), ones(3, 2)), ShapeError, "results of lu_factor"),
        (lambda: mg.linalg.lu_solve(ones(3, 3), pivots(1, 2, 3), ones(4, 2)), ShapeError, "right-hand sides"),
        (lambda: mg.linalg.lu_solve(ones(3, 3), pivots(1, 2, 3), ones(3, 4), left=False), ShapeError, "right-hand"),
        (lambda: F.bilinear(ones(3), ones(4), ones(5, 3, 4), ones(1)), ShapeError, r"\(out\)"),
        (
            lambda: F.soft_margin_loss(ones(5, 1), ones(5, 5)),
            ShapeError,
            r"shape \(5, 5\), that to which target",
        ),
        (lambda: F.margin_ranking_loss(ones(3, 1), ones(3), ones(3)), ShapeError, "the same number of dims"),
        (lambda: F.cross_entropy(ones(2, 3), ones(2, 3), ignore_index=1), ArgumentError, "must be negative"),
        (lambda: F.softshrink(ones(2), -0.5), ArgumentError, "lambd must not be negative"),
        (lambda: F.cosine_similarity(ones(2), ones(2), 0, -1.0), ArgumentError, "eps must not be negative"),
        (
            lambda: F.batch_norm(ones(3, 2), None, None, training=True, eps=-1.0),
            ArgumentError,
            "eps must not be negative",
        ),
        (lambda: nn.Hardtanh(0, 0), ArgumentError, "min_val must be less than max_val"),
        (lambda: F.hardtanh(ones(2), 1, -1), ArgumentError, "min_val must be at most max_val, got 1 and -1"),
        (lambda: F.hardtanh(ones(2), 1, -1, inplace=True), ArgumentError, "min_val must be at most max_val"),
        (lambda: F.hardtanh(ones(2), 2), ArgumentError, "min_val must be at most max_val, got 2 and 1.0"),
        (lambda: nn.RNN(2, 3, 2, dropout=True), ArgumentError, "dropout must be a probability, got True"),
        (lambda: nn.LSTM(2, 3, 2, dropout=False), ArgumentError, "dropout must be a probability, got False"),
        (lambda: nn.RNN(0, 3), ArgumentError, "expected positive sizes"),
    ],
)
def test_arguments_that_fit_by_accident_are_refused(call: Callable[[], Any], error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_one_number_is_written_into_elements_that_share_memory() -> None:
    rows, index = mg.zeros(3, device="reference"), mg.tensor([0, 2], device="reference")
    assert rows.expand(2, 3).index_fill_(1, index, 5.0).tolist() == [[5.0, 0.0, 5.0]] * 2
    assert rows.expand(2, 3).index_fill_(-1, index[:1], 7.0).tolist() == [[7.0, 0.0, 5.0]] * 2
    mask = mg.tensor([[False, True, False], [False, False, True]], device="reference")
    assert rows.expand(2, 3).index_put_((mask,), rows.new_tensor(1.0)).tolist() == [[7.0, 1.0, 1.0]] * 2
    for accumulate, values in ((True, rows[:1]), (False, ones(2, 3))):
        with pytest.raises(mg.StorageError, match=r"index_put_: .*share memory"):
            rows.expand(2, 3).index_put_((index[:1].expand(2),), values, accumulate)
    assert rows.tolist() == [7.0, 1.0, 1.0]


WRITES: dict[str, Callable[..., Any]] = {
    "dtype of values": lambda x, index: x.index_put_((index,), mg.tensor(7.5, mg.float64, "reference")),
    "int values": lambda x, index: x.index_put_((index,), mg.tensor(7, device="reference")),
    "mask as indices": lambda x, index: x.index_fill_(0, index == 0, 7.0),
    "no index": lambda x, index: x.index_put_((None,), x.new_ones(())),
    "vector as value": lambda x, index: x.index_fill_(0, index, ones(1)),
    "index out of range": lambda x, index: x.index_fill_(0, index + 9, 7.0),
    "number as values": lambda x, index: x.index_put_((index,), 7.0),
}  # fmt: skip


@over("name", WRITES)
def test_elements_that_share_memory_have_the_checks_of_others(name: str) -> None:
    index, row = mg.tensor([0, 2], device="reference"), mg.zeros(4, device="reference")
    messages = []
    for x in (row.expand(3, 4).clone(), row.expand(3, 4)):
        with pytest.raises((mg.MinigradError, IndexError)) as caught:
            WRITES[name](x, index)
        messages.append((caught.type, str(caught.value)))
    assert messages[0] == messages[1] and row.tolist() == [0.0] * 4


@pytest.mark.parametrize("shape", [(1, 4), (4,), (3, 1)])
def test_multilabel_soft_margin_loss_broadcasts_both_operands(shape: tuple[int, ...]) -> None:
    loss, small, large = F.multilabel_soft_margin_loss, ones(*shape), ones(3, 4)
    assert loss(large, small).item() == loss(small, large).item() == loss(large, large).item()
    weighted = loss(small * 2.0, large * 0.5, weight=ones(4) * 3.0)
    assert weighted.item() == loss(large * 2.0, large * 0.5, weight=ones(4) * 3.0).item()


def test_a_sum_of_no_exponentials_has_the_logarithm_minus_infinity() -> None:
    x = mg.Var(mg.zeros(2, 0, device="reference"))
    y = x.logsumexp(1, keepdim=True)
    assert y.tolist() == [[-mg.inf], [-mg.inf]] and y.sum().backward()[x].shape == (2, 0)


def test_an_argument_of_a_wrong_type_is_also_a_type_error() -> None:
    for call in (lambda: ones(2).sum(1.5), lambda: ones(2).chunk("a"), lambda: mg.linspace(0, 1, 2.0)):
        with pytest.raises(TypeError, match="must be an int"):
            call()
