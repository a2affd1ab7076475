"""Arguments of layers: those that do not fit, older names, and methods that only some layers have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError

nn = mg.nn
HERE = {"device": "reference", "dtype": mg.float64}


def zeros(*shape: int) -> Any:
    return mg.zeros(*shape, **HERE)


def attend(*memory: Any, **masks: Any) -> Any:
    """Attention of 3 queries to 5 keys, in a batch of 2."""
    key = memory[0] if memory else zeros(5, 2, 4)
    return nn.MultiheadAttention(4, 2, **HERE)(zeros(3, 2, 4), key, key, **masks)


def labels(*classes: int) -> Any:
    return mg.tensor(classes, device="reference")


ADAPTIVE = nn.AdaptiveLogSoftmaxWithLoss(4, 9, [3], **HERE)


@over(
    ("call", "error", "message"),
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ArgumentError, r"multiples of groups, got 3, 4 and 2"),
        (lambda: nn.Conv2d(2, 4, 3, padding="some"), ArgumentError, r"'same' or 'valid', got 'some'"),
        (lambda: nn.Conv1d(2, 4, 3, 2, padding="same"), ArgumentError, r"padding='same' requires stride=1, got 2"),
        (
            lambda: nn.Conv1d(2, 4, 3, padding_mode="wrap"),
            ArgumentError,
            r"padding_mode must be 'zeros', .*, got 'wrap'",
        ),
        (lambda: nn.ConvTranspose1d(2, 4, 3, padding_mode="circular"), ArgumentError, r"must be 'zeros'"),
        (lambda: nn.BatchNorm2d(2, **HERE)(zeros(2, 2, 3)), ShapeError, r"BatchNorm2d: input must have 4 dims"),
        (lambda: nn.InstanceNorm1d(2, **HERE)(zeros(2)), ShapeError, r"must have 2 or 3 dims"),
        (lambda: nn.GroupNorm(3, 4), ArgumentError, r"multiple of num_groups, got 4 and 3"),
        (lambda: nn.FractionalMaxPool2d(2), ArgumentError, r"output_size and output_ratio is required, got neither"),
        (
            lambda: nn.FractionalMaxPool3d(2, 3, 0.5),
            ArgumentError,
            r"output_size and output_ratio is required, got both",
        ),
        (lambda: nn.FractionalMaxPool2d(2, output_ratio=1.5), ArgumentError, r"2 floats between 0 and 1, got 1.5"),
        (
            lambda: nn.FractionalMaxPool2d(2, 3)(zeros(1, 3, 3)),
            ShapeError,
            r"\(3, 3\) windows of kernel_size \(2, 2\) must fit",
        ),
        (
            lambda: mg.nn.functional.fractional_max_pool2d(zeros(2, 3, 4, 4), 2, 2, _random_samples=zeros(2, 2, 2)),
            ShapeError,
            r"_random_samples must be float64\(2, 3, 2\)",
        ),
        (
            lambda: mg.nn.functional.fractional_max_pool2d(zeros(3, 4, 4), 2, 2, _random_samples=zeros(2, 2, 2)),
            ShapeError,
            r"_random_samples must be float64\(1, 3, 2\)",
        ),
        (
            lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 9, []),
            ArgumentError,
            r"from 1 to 8, which is n_classes - 1, got \[\]",
        ),
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 9, [3, 9]), ArgumentError, r"from 1 to 8, which is n_classes - 1"),
        (lambda: ADAPTIVE(zeros(2, 4), zeros(3)), ShapeError, r"expected input \(N, 4\) and target \(N,\)"),
        (
            lambda: ADAPTIVE(zeros(1, 4), labels(9)),
            IndexOutOfRange,
            r"target must contain classes from 0 to 8, got 9 to 9",
        ),
        (lambda: nn.SyncBatchNorm(2, **HERE)(zeros(2)), ShapeError, r"input must have at least 2 dims, \(N, C, ...\)"),
        (lambda: nn.Dropout(1.5), ArgumentError, r"p must be a number from 0 to 1, got 1.5"),
        (
            lambda: nn.Embedding(4, 2, padding_idx=4),
            ArgumentError,
            r"padding_idx must be a row index from -4 to 3, got 4",
        ),
        (lambda: nn.Embedding.from_pretrained(zeros(4)), ShapeError, r"must have 2 dims"),
        (lambda: nn.Embedding(4, 2, _weight=zeros(2, 4)), ShapeError, r"_weight must have the shape \(4, 2\)"),
        (lambda: nn.Softmax2d()(zeros(2, 2)), ShapeError, r"input must have 3 or 4 dims"),
        (lambda: nn.Unflatten("C", (2, 2)), ArgumentError, r"tensors have no named dims"),
        (lambda: nn.Sequential(nn.ReLU()) * 0, ArgumentError, r"repetitions must be positive, got 0"),
        (lambda: nn.LSTM(2, 3, **HERE)([[1.0, 2.0]]), DTypeError, r"LSTM: expected a tensor, got list"),
        (lambda: nn.GRUCell(2, 3, **HERE)(None), DTypeError, r"GRUCell: expected a tensor, got NoneType"),
        (
            lambda: nn.GRU(2, 3, **HERE)(zeros(4, 2), (zeros(1, 3),)),
            DTypeError,
            r"GRU: hx: expected a tensor, got tuple",
        ),
        (
            lambda: nn.LSTM(2, 3, **HERE)(zeros(4, 2), zeros(2, 1, 3)),
            ArgumentError,
            r"hx must be a tuple of two tensor",
        ),
        (
            lambda: nn.LSTM(2, 3, **HERE)(zeros(4, 2), (None, None)),
            DTypeError,
            r"LSTM: hx: expected a tensor, got None",
        ),
        (lambda: nn.LSTMCell(2, 3, **HERE)(zeros(2), (zeros(3),) * 3), ArgumentError, r"h and c, got 3 values"),
        (lambda: nn.LSTMCell(2, 3, **HERE)(zeros(2), zeros(2, 3)), ArgumentError, r"h and c, got float64\(2, 3\)"),
        (lambda: attend(zeros(5, 1, 4)), ShapeError, r"the same batch size, got .*float64\(5, 1, 4\)"),
        (lambda: attend(None), DTypeError, r"MultiheadAttention: expected a tensor, got None"),
        (lambda: attend(zeros(5, 2, 3)), ShapeError, r"\(4, 4, 4\) elements in the last dim, got"),
        (
            lambda: attend(attn_mask=zeros(3, 5).to(mg.int64)),
            DTypeError,
            r"attn_mask must be a tensor of bools or floats, got int",
        ),
        (
            lambda: attend(key_padding_mask=zeros(2, 5).to(mg.uint8)),
            DTypeError,
            r"key_padding_mask must be .* got uint8\(2, 5\)",
        ),
        (lambda: nn.Threshold(0.1), TypeError, r"Threshold: missing a required argument: 'value'"),
    ],
)
def test_arguments_that_do_not_fit(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_transposed_convolution_takes_the_size_of_its_output() -> None:
    layer = nn.ConvTranspose2d(2, 1, 3, stride=2, padding=1, **HERE)
    x = zeros(1, 2, 4, 4)
    assert layer(x).shape == (1, 1, 7, 7) and layer(x, output_size=(8, 7)).shape == (1, 1, 8, 7)
    assert layer(x, (1, 1, 8, 8)).shape == (1, 1, 8, 8)
    with pytest.raises(ArgumentError, match=r"output_size must be from \[7, 7\] to \[8, 8\], got \(9, 8\)"):
        layer(x, (9, 8))


@pytest.mark.parametrize(
    ("arguments", "reduction"),
    [({"reduce": False}, "none"), ({"size_average": False}, "sum"), ({"size_average": True}, "mean")],
)
def test_older_names_of_the_reduction(arguments: dict[str, bool], reduction: str) -> None:
    with pytest.warns(UserWarning, match=f"write reduction='{reduction}'"):
        assert nn.MSELoss(**arguments).reduction == reduction
    with pytest.warns(UserWarning, match="reduction"):
        assert nn.NLLLoss(None, False).reduction == "sum"


def test_weights_of_losses_are_buffers() -> None:
    loss = nn.BCEWithLogitsLoss(pos_weight=mg.ones(2, device="reference"))
    assert list(loss.state_dict()) == ["pos_weight"] and loss.double().pos_weight.dtype == mg.float64
    assert list(nn.CrossEntropyLoss().state_dict()) == []


def test_a_table_with_given_rows() -> None:
    rows = mg.tensor(np.arange(6.0).reshape(3, 2), device="reference")
    table = nn.Embedding.from_pretrained(rows, padding_idx=1)
    assert table(mg.tensor([2, 1], device="reference")).tolist() == [[4.0, 5.0], [2.0, 3.0]]
    assert (
        not table.weight.requires_grad and list(table.state_dict()) == ["weight"] and len(list(table.parameters())) == 1
    )
    bag = nn.EmbeddingBag.from_pretrained(rows, freeze=False, mode="sum")
    assert bag(mg.tensor([[0, 2]], device="reference")).tolist() == [[4.0, 6.0]] and bag.weight.requires_grad


def test_running_statistics_are_reset() -> None:
    norm = nn.BatchNorm1d(2, **HERE)
    norm(mg.tensor([[1.0, 2.0], [3.0, 5.0]], **HERE))
    assert norm.num_batches_tracked.item() == 1 and norm.running_mean.tolist() != [0.0, 0.0]
    norm.reset_running_stats()
    assert norm.num_batches_tracked.item() == 0 and norm.running_mean.tolist() == [0.0, 0.0]


def test_fields_of_a_layer_may_change() -> None:
    layer = nn.LeakyReLU(0.1)
    layer.negative_slope = 0.5
    assert (
        layer(mg.tensor([-2.0], device="reference")).tolist() == [-1.0]
        and repr(layer) == "LeakyReLU(negative_slope=0.5)"
    )
    assert nn.Hardtanh(min_value=-2.0).min_val == -2.0
    x = mg.tensor([-2.0, 1.0], device="reference")
    assert nn.ReLU(inplace=True)(x) is x and x.tolist() == [0.0, 1.0]


def test_an_indexed_pool_is_undone() -> None:
    x = mg.tensor(np.sin(np.arange(16.0)).reshape(1, 1, 4, 4), device="reference")
    y, positions = nn.MaxPool2d(2, return_indices=True)(x)
    back = nn.MaxUnpool2d(2)(y, positions)
    assert back.shape == x.shape and np.count_nonzero(back.numpy()) == 4
    assert nn.MaxUnpool2d(2)(y, positions, output_size=(5, 5)).shape == (1, 1, 5, 5)


def test_convolutions_may_change_their_weight() -> None:
    class Centered(nn.Conv1d):
        """A convolution whose windows sum to 0."""

        def forward(self, input: Any) -> Any:
            return self._conv_forward(input, self.weight - self.weight.mean((1, 2), keepdim=True), self.bias)

    layer = Centered(1, 2, 3, bias=False, **HERE)
    np.testing.assert_allclose(layer(mg.ones(1, 1, 5, **HERE)).detach().numpy(), np.zeros((1, 2, 3)), atol=1e-15)


def test_an_adaptive_softmax_is_a_distribution_and_predicts_its_largest_class() -> None:
    x = mg.tensor(np.sin(np.arange(24.0)).reshape(6, 4) * 9, **HERE)
    table = ADAPTIVE.log_prob(x)
    assert table.exp().sum(1).tolist() == pytest.approx([1.0] * 6)
    assert ADAPTIVE.predict(x).tolist() == table.argmax(1).tolist()
    output, loss = ADAPTIVE(x, labels(0, 2, 3, 8, 5, 1))
    assert output.tolist() == pytest.approx([table[k, c].item() for k, c in enumerate((0, 2, 3, 8, 5, 1))])
    assert loss.item() == pytest.approx(-output.mean().item())


def test_windows_that_are_drawn_cover_the_ends_and_repeat_by_the_seed() -> None:
    x = mg.arange(63.0, device="reference").reshape(1, 7, 9)
    pool = nn.FractionalMaxPool2d(2, output_size=(3, 5), return_indices=True)
    mg.manual_seed(3)
    first, where = pool(x)
    mg.manual_seed(3)
    assert pool(x)[0].tolist() == first.tolist() == where.double().tolist()
    assert first.shape == (1, 3, 5) and first[0, -1, -1].item() == 62
    assert nn.FractionalMaxPool3d(1, output_ratio=0.5)(mg.ones(1, 2, 4, 6, 8, device="reference")).shape == (
        1,
        2,
        2,
        3,
        4,
    )


def test_batch_normalizations_of_a_network_are_converted_with_their_state() -> None:
    net = nn.Sequential(
        nn.BatchNorm1d(2, eps=0.1, **HERE), nn.Sequential(nn.BatchNorm2d(3, bias=False)), nn.InstanceNorm1d(2)
    )
    weight = net[0].weight
    net.eval()
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert converted is net and [type(m).__name__ for m in (net[0], net[1][0], net[2])] == [
        "SyncBatchNorm", "SyncBatchNorm", "InstanceNorm1d"]  # fmt: skip
    assert net[0].weight is weight and net[0].eps == 0.1 and not net[0].training and net[1][0].bias is None
    assert isinstance(nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm3d(2)), nn.SyncBatchNorm)


def test_random_samples_for_more_images_are_not_used() -> None:
    x, samples = mg.arange(96.0, device="reference").reshape(2, 6, 8), mg.rand(3, 2, 2, device="reference")
    pool = mg.nn.functional.fractional_max_pool2d
    assert (
        pool(x, 2, 3, _random_samples=samples).tolist() == pool(x[None], 2, 3, _random_samples=samples[:1])[0].tolist()
    )
