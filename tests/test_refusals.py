"""Calls that PyTorch refuses are refused, although an answer could be computed: it would hide a mistake.

The calls were found by changing one argument of each of PyTorch's own samples (OpInfo), and by its `error_inputs`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, GradientError, IndexOutOfRange, ShapeError

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
        (lambda: nn.RNN(0, 3), ArgumentError, "input_size must be positive"),
        (lambda: mg.linalg.lu_solve(mg.eye(2), pivots(0, 1), mg.eye(2)), IndexOutOfRange, "index 2 is out of range"),
        (lambda: mg.lu_unpack(mg.eye(2), pivots(1, 3)), IndexOutOfRange, "index 2 is out of range"),
        (lambda: mg.linalg.lu_solve(ones(1, 1), pivots(1).long(), ones(1, 1)), DTypeError, "dtype int32"),
        (lambda: mg.linalg.matrix_exp(ones(2, 2).int()), DTypeError, "matrix_exp"),
        (lambda: mg.linalg.norm(ones(3), "fro"), ArgumentError, "ord.* must be a number"),
        (lambda: mg.linalg.norm(ones(3, 3), "nuc", 0), ArgumentError, "ord.* must be a number"),
        (lambda: mg.einsum(". ..", ones(2)), ArgumentError, "must contain only letters"),
        (lambda: mg.vander(ones(2, 2)), ShapeError, "vander"),
        (lambda: mg.vander(ones(2), N=-1), ArgumentError, "N must not be negative"),
        (lambda: mg.hann_window(-1), ArgumentError, "window_length must not be negative"),
        (lambda: mg.complex(ones(2), ones(2).double()), DTypeError, "complex.*dtype"),
        (lambda: mg.polar(ones(2).double(), ones(2)), DTypeError, "polar.*dtype"),
        (lambda: mg.meshgrid(ones(2), ones(2).long()), DTypeError, "meshgrid.*dtype"),
        (lambda: mg.add(ones(2), ones(2), alpha=True), ArgumentError, "alpha must be a number"),
        (lambda: mg.rsub(ones(2), ones(2), alpha=True), ArgumentError, "alpha must be a number"),
        (lambda: mg.addr(ones(2, 2), ones(2), ones(2), beta=True), ArgumentError, "addr: beta must be"),
        (lambda: mg.addr(ones(2, 2).int(), ones(2).int(), ones(2).int(), alpha=2.0), ArgumentError, "addr: alpha must"),
        (lambda: F.dropout2d(ones(3)), ShapeError, "at least 2 dims"),
        (lambda: F.adaptive_max_pool2d(ones(1, 0, 4, 4), 2), ShapeError, "inner dim"),
        (lambda: F.max_unpool1d(ones(1, 0, 2), ones(1, 0, 2).long(), 2), ShapeError, "inner dim"),
        (
            lambda: F.embedding_bag(pivots(0), ones(1, 2), pivots(0), mode="max", scale_grad_by_freq=True),
            ArgumentError,
            "mode with scale_grad_by_freq must be",
        ),
        (lambda: "a" in ones(2), ArgumentError, "in: expected a number or a tensor"),
        (lambda: ones(2).map2_(mg.Var([1.0, 2.0]), ones(2), max), GradientError, "do not require gradients"),
        (lambda: mg.DoubleTensor(ones(2)), DTypeError, "expected a tensor or a storage of float64"),
        (lambda: type("Own", (mg.FloatTensor,), {}), ArgumentError, "cannot be a base class"),
    ],
)
def test_arguments_that_fit_by_accident_are_refused(call: Callable[[], Any], error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        call()


EXACT: dict[str, Callable[..., Any]] = {
    "nonzero": lambda x, out: mg.nonzero(x, out=out(2, 1)),
    "argmax": lambda x, out: mg.argmax(x, 0, out=out()),
    "any": lambda x, out: mg.any(x, 0, out=out()),
    "isin": lambda x, out: mg.isin(x, x, out=out(2)),
    "logcumsumexp": lambda x, out: mg.logcumsumexp(x, 0, out=out(2)),
    "sort": lambda x, out: mg.sort(x, out=(out(2), out(2))),
}


@over("name", EXACT)
def test_positions_and_booleans_are_not_cast_to_the_dtype_of_out(name: str) -> None:
    x = ones(2)
    with pytest.raises(DTypeError, match=f"{name} does not convert its result"):
        EXACT[name](x, lambda *shape: mg.empty(*shape, dtype=mg.float64, device="reference"))
    assert mg.argmax(x, 0, out=mg.ones((), dtype=mg.int64, device="reference")).item() == 0


def test_calls_that_pytorch_allows_have_a_result() -> None:
    numbers, index = mg.tensor([[1, 2], [3, 4]], device="reference"), mg.tensor([1], device="reference")
    assert numbers.index_add(0, index, numbers[:1], alpha=2.0).tolist() == [[1, 2], [5, 8]]
    assert mg.addmm(numbers, numbers, numbers, beta=2.0, alpha=1.0).tolist() == [[9, 14], [21, 30]]
    assert mg.addr(ones(1, 1).bool(), ones(1).bool(), ones(1).bool(), beta=True, alpha=True).item() is True
    empty = mg.tensor([], device="reference")
    assert mg.cat([empty, empty], 1).shape == (0,) and mg.cat([empty, ones(2, 3)], 1).shape == (2, 3)
    windows = mg.arange(4.0, device="reference")
    assert windows.unfold(0, 2, 1)[1:].fill_(7.0).shape == (2, 2) and windows.tolist() == [0.0, 7.0, 7.0, 7.0]
    assert F.embedding_bag(pivots(0), ones(1, 2), pivots()).shape == (0, 2)
    assert F.max_pool1d_with_indices(mg.arange(4.0, device="reference").view(1, 4), 2)[1].tolist() == [[1, 3]]
    z = mg.zeros(1, dtype=mg.complex64, device="reference")
    z.real = z + (2.0 + 3.0j)
    assert z.tolist() == [2.0 + 0j]
    points = mg.tensor([0.0, 1e-9], dtype=mg.float64, device="reference")
    slope = mg.gradient(mg.tensor([1.0, 1.5], device="reference"), spacing=[points])[0]
    assert slope.dtype is mg.float64 and slope[0].item() == pytest.approx(5e8)


def test_the_hash_of_a_tensor_is_the_exclusive_or_of_its_bits() -> None:
    rows = mg.tensor([[1, 2], [7, 4], [-1, 1]], device="reference")
    assert rows.hash_tensor(0).tolist() == [2**64 - 1 - (1 ^ 7), 2 ^ 4 ^ 1] and mg.hash_tensor(rows).dtype is mg.uint64
    assert mg.hash_tensor(rows, 1, keepdim=True).tolist() == [[3], [3], [2**64 - 2]]
    bits = int(np.array(1.5).view(np.uint64)) ^ int(np.array(-2.0).view(np.uint64))
    assert mg.hash_tensor(mg.tensor([1.5, -2.0], dtype=mg.float16, device="reference")).item() == bits
    with pytest.raises(ShapeError, match="must have an element along"):
        mg.hash_tensor(ones(0, 2), 0)


def test_dtype_and_out_must_agree() -> None:
    def wide(*shape: int) -> mg.Tensor:
        return mg.empty(*shape, dtype=mg.float64, device="reference")

    for call in (
        lambda: ones(2).sum(0, dtype=mg.float32, out=wide()),
        lambda: mg.cumsum(ones(2), 0, dtype=mg.float32, out=wide(2)),
        lambda: mg.norm(ones(2), 2, dtype=mg.float32, out=wide()),
        lambda: mg.zeros(2, dtype=mg.float32, out=wide(2)),
        lambda: mg.arange(2, dtype=mg.float32, out=wide(2)),
    ):
        with pytest.raises(DTypeError, match=r"dtype is float32, and out is float64\(.*\); omit dtype"):
            call()
    assert mg.sum(ones(2), 0, dtype=mg.float64, out=wide()).item() == 2.0


def test_lu_is_the_name_of_lu_factor_in_older_scripts() -> None:
    matrix = mg.tensor([[0.0, 2.0], [1.0, 1.0]], device="reference")
    LU, where = mg.lu(matrix)
    assert LU.tolist() == [[1.0, 1.0], [0.0, 2.0]] and where.tolist() == [2, 2]
    assert matrix.lu(get_infos=True)[2].item() == 0


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
