"""Losses: shapes, ignored classes, errors, and that the fused forms are the composed ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError

pytestmark = pytest.mark.usefixtures("float64")

F = mg.nn.functional


def test_cross_entropy_of_certain_rows() -> None:
    x = mg.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 200.0]])
    losses = F.cross_entropy(x, mg.tensor([0, 1, 1]), reduction="none").tolist()
    np.testing.assert_allclose(losses, [np.log(2), np.log(2), 0], rtol=1e-6)
    assert F.cross_entropy(x, mg.tensor([0, -100, -100])).item() == pytest.approx(np.log(2))


def test_a_mean_over_ignored_rows_only_is_nan_and_its_sum_0() -> None:
    x, target = mg.randn(2, 3), mg.tensor([-100, -100])
    assert np.isnan(F.cross_entropy(x, target).item())
    assert F.cross_entropy(x, target, reduction="sum").item() == 0.0
    assert np.isnan(F.cross_entropy(mg.zeros(0, 3), mg.zeros(0, dtype="int64")).item())


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("shape", [(7, 5), (40, 130), (3, 5, 4, 2)], ids=str)
def test_fused_and_composed_agree_to_the_second_order(shape: tuple[int, ...], reduction: str) -> None:
    rng = np.random.default_rng(1)
    values = rng.standard_normal(shape)
    target = mg.tensor(rng.integers(0, 5, (shape[0], *shape[2:])))
    ones = mg.ones(shape[1], dtype="float64")  # weights of 1 change nothing but take the composed road
    found = []
    for weight in (None, ones):
        x = mg.Var(values)
        y = F.cross_entropy(x, target, weight, ignore_index=0, reduction=reduction)
        total = (y * y).sum()
        by_kernel = mg.grad(total, x, retain_graph=True)  # a recorded walk takes the definition instead
        g = mg.grad(total, x, create_graph=True)
        h = mg.grad((g * g.detach().sin()).sum(), x)
        found.append([np.array(v.tolist()) for v in (y, by_kernel, g, h)])
    for fused, composed in zip(*found, strict=True):
        np.testing.assert_allclose(fused, composed, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_the_rows_of_a_large_image_are_read_in_runs_that_tasks_cut(reduction: str) -> None:
    rng = np.random.default_rng(2)
    values, classes = rng.standard_normal((3, 60, 4, 70)), rng.integers(0, 4, (3, 60, 70))  # 12,600 rows: two tasks
    x, target = mg.tensor(values).movedim(2, 1), mg.tensor(np.repeat(classes, 2, 1))[:, ::2]
    losses = np.where(classes == 1, 0.0, -np.take_along_axis(values, classes[:, :, None], 2)[:, :, 0])
    expected = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / (classes != 1).sum()}[reduction]
    found = F.nll_loss(x, target, ignore_index=1, reduction=reduction)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("across", [False, True], ids=["along memory", "across memory"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_the_gradient_of_many_rows_is_the_same_for_one_task_and_several(weighted: bool, across: bool) -> None:
    rng = np.random.default_rng(3)
    values, classes = rng.standard_normal((50, 8, 90)), rng.integers(0, 8, (50, 90))  # 36,000 elements: two tasks
    weights = rng.random(8) + 0.5
    x = mg.tensor(values) if across else mg.tensor(values.swapaxes(1, 2).copy()).transpose(1, 2)
    target, weight = mg.tensor(classes), mg.tensor(weights) if weighted else None
    share = np.where(classes == 1, 0.0, weights[classes] if weighted else 1.0)
    hot = np.eye(8)[classes].swapaxes(1, 2) * share[:, None]
    found = []
    for threshold in (0, 1 << 40):
        with mg.override(parallel_threshold=threshold):
            v = mg.Var(x)
            v = v if across else mg.Var(x.transpose(1, 2).contiguous())
            y = F.nll_loss(v if across else v.transpose(1, 2), target, weight, ignore_index=1)
            y.backward()
            found.append(v.grad.numpy() if across else v.grad.numpy().swapaxes(1, 2))
            assert y.item() == pytest.approx(-(values * hot).sum() / share.sum(), rel=1e-12)
    assert found[0].tobytes() == found[1].tobytes()
    np.testing.assert_allclose(found[0], -hot / share.sum(), rtol=1e-12)


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_the_gradient_finds_a_class_that_was_changed_to_one_that_does_not_exist(device: str) -> None:
    gradient = mg.schema["named_gradient"].public
    target, given = mg.tensor([0, 7], device=device), {"shape": (2, 3), "dim": 1, "ignore": -1, "reduction": "sum"}
    for weight in (None, mg.ones(3, device=device)):
        with pytest.raises(IndexOutOfRange, match=r"^nll_loss_backward: class 7 .* classes are 0 to 2, and -1"):
            gradient(mg.ones((), device=device), target, weight, **given)


def test_weights_of_classes_receive_a_gradient_only_if_they_require_it() -> None:
    x, target = mg.Var([[1.0, 2.0], [3.0, 5.0]]), mg.tensor([0, 1])
    loss = F.nll_loss(x, target, mg.tensor([1.0, 3.0]))
    assert loss.op.op.label == "nll_loss" and loss.item() == -4.0
    weight = mg.Var([1.0, 3.0])
    grads = F.nll_loss(x, target, weight).backward()
    assert grads[x].tolist() == [[-0.25, 0.0], [0.0, -0.75]]
    assert grads[weight].tolist() == [0.75, -0.25]  # with L = -(w0 + 5*w1)/(w0 + w1): (-1 - L)/4 and (-5 - L)/4


def test_class_numbers_of_a_dtype_that_cannot_hold_the_ignored_one() -> None:
    x, narrow, wide = mg.randn(2, 200), mg.tensor([3, 156], dtype="uint8"), mg.tensor([3, 156])  # -100 wraps to 156
    for given in ({"weight": mg.ones(200)}, {"label_smoothing": 0.1}):
        assert F.cross_entropy(x, narrow, **given).item() == F.cross_entropy(x, wide, **given).item()
    assert F.nll_loss(x, narrow).item() == F.nll_loss(x, wide).item()
    v = mg.Var(x)
    slope = mg.grad(F.cross_entropy(v, narrow), v, create_graph=True)
    assert mg.grad((slope * slope).sum(), v).shape == (2, 200)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x, t: F.cross_entropy(x, mg.tensor([0, 3])), IndexOutOfRange, r"class 3 of int64\(2,\) .* 0 to 2"),
        (lambda x, t: F.cross_entropy(x, mg.tensor([0, -1])), IndexOutOfRange, r"class -1"),
        (lambda x, t: F.nll_loss(x, mg.tensor([0, 7])), IndexOutOfRange, r"nll_loss: class 7"),
        (lambda x, t: F.cross_entropy(x, t, reduction="max"), ArgumentError, r"must be 'mean', 'sum' or 'none'"),
        (lambda x, t: F.cross_entropy(x, t, label_smoothing=2), ArgumentError, r"label_smoothing must be a number"),
        (lambda x, t: F.cross_entropy(x, t, label_smoothing="a"), ArgumentError, r"must be a number, got str 'a'"),
        (lambda x, t: F.cross_entropy(x, mg.zeros(2)), DTypeError, r"class indices of an integer dtype"),
        (lambda x, t: F.cross_entropy(x, mg.tensor([0])), ShapeError, r"without the class dim 1"),
        (lambda x, t: F.cross_entropy(x, t, mg.ones(2)), ShapeError, r"one element per class"),
        (lambda x, t: F.cross_entropy(t, t), DTypeError, r"must have a floating dtype, got int64\(2,\)"),
    ],
)
def test_wrong_arguments_are_named_before_anything_is_computed(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call(mg.randn(2, 3), mg.tensor([0, 2]))


@pytest.mark.parametrize("classes", [[0, 2], [0.0, 2.0]])
def test_swapped_operands_are_asked_about(classes: Any) -> None:
    scores, target = mg.zeros(2, 3, device="reference"), mg.tensor(classes, device="reference")
    for loss in (F.cross_entropy, F.nll_loss, F.multi_margin_loss, mg.nn.CrossEntropyLoss()):
        with pytest.raises(DTypeError, match=r": are input and target swapped\? .*; pass the scores first$"):
            loss(target, scores)
    whole = mg.zeros(1, 3, dtype="int64", device="reference")
    with pytest.raises(DTypeError, match=r"^multilabel_margin_loss: are input and target swapped\?"):
        F.multilabel_margin_loss(whole, scores[:1])
    with pytest.raises(DTypeError, match=r"^embedding: are input and weight swapped\?"):
        F.embedding(scores, whole)
    with pytest.raises(ShapeError, match=r"^ctc_loss: .* pass log_probs first, because log_probs and targets seem to"):
        F.ctc_loss(whole, mg.zeros(3, 1, 2, device="reference"), whole[0], whole[0])
    with pytest.raises(DTypeError, match=r"target must contain class indices of an integer dtype, .* with \.long\(\)$"):
        F.cross_entropy(scores, mg.zeros(2, device="reference"))


@pytest.mark.parametrize("wrong", [-101, -1, 3, 1 << 40])
@pytest.mark.parametrize(("device", "reduction"), [("cpu", "mean"), ("reference", "mean"), ("reference", "none")])
def test_every_kernel_finds_a_class_that_does_not_exist(device: str, reduction: str, wrong: int) -> None:
    x = mg.zeros(3, 3, 2, device=device)
    values = np.array([[0, 1], [2, -100], [1, 2]])
    for place in np.ndindex(3, 2):
        classes = values.copy()
        classes[place] = wrong
        for target in (mg.tensor(classes, device=device), mg.tensor(classes.T.copy(), device=device).T):
            for loss in (F.cross_entropy, F.nll_loss):
                name = f"{loss.__name__}: (in nll_loss: )?"  # of log_softmax where classes are not neighbours
                sentence = rf"^{name}class {wrong} of int64\(3, 2\) is out of range; classes are 0 to 2, and"
                with pytest.raises(IndexOutOfRange, match=sentence):
                    loss(x, target, reduction=reduction)


def test_a_batch_and_threads_find_a_class_that_does_not_exist() -> None:
    x, target = mg.zeros(4000, 3), np.zeros(4000, np.int64)
    target[3999] = 3
    with pytest.raises(IndexOutOfRange, match="class 3"):
        mg.func.vmap(F.cross_entropy)(x.reshape(2, 2000, 3), mg.tensor(target.reshape(2, 2000)))
    with mg.override(parallel_threshold=0), pytest.raises(IndexOutOfRange, match="class 3"):
        F.cross_entropy(x, mg.tensor(target))


@pytest.mark.parametrize("threshold", [0, 1 << 40], ids=["parallel", "serial"])
def test_a_long_squared_error_is_one_kernel_that_combines_its_pieces(threshold: int) -> None:
    with mg.override(parallel_threshold=threshold):
        x, t = (mg.tensor(np.arange(100_000) % n, dtype="float32") for n in (7, 5))
        loss = mg.nn.functional.mse_loss(x, t, reduction="sum")
        assert loss.item() == ((np.arange(100_000) % 7 - np.arange(100_000) % 5) ** 2).sum()
        plans = mg.schema["mse_loss_sum"].plans.values()
        assert all(len(plan.launch.steps) == 1 for plan in plans if plan.device is x.device)


def test_means_of_halves_count_more_rows_than_float16_holds() -> None:
    n = 66000  # float16 ends at 65504
    x, target = mg.zeros(n, 2, dtype="float16"), mg.zeros(n, dtype="int64")
    weight, ones = mg.ones(2, dtype="float16"), mg.ones(n, 2, dtype="float16")
    losses = {
        "weighted": (lambda x: mg.nn.functional.cross_entropy(x, target, weight), 0.6931),
        "smooth": (lambda x: mg.nn.functional.cross_entropy(x, target, label_smoothing=0.5), 0.6931),
        "logs": (lambda x: mg.nn.functional.nll_loss(x - 1, target), 1.0),
        "batched": (lambda x: mg.func.vmap(lambda x: mg.nn.functional.cross_entropy(x, target))(x[None])[0], 0.6931),
        "squares": (lambda x: mg.nn.functional.mse_loss(x, ones, weight=ones), 1.0),
    }
    for name, (loss, wanted) in losses.items():
        y = loss(x)
        assert y.dtype is mg.float16 and y.item() == pytest.approx(wanted, rel=1e-3), name
        gradient = mg.func.grad(lambda x, loss=loss: loss(x) * 1000.0)(x)
        assert 0 < abs(gradient[0, 0].item()) < 1, name


def test_smoothing_of_halves_adds_up_more_classes_than_float16_holds() -> None:
    x = mg.zeros(1, 20000, dtype="float16")
    y = mg.nn.functional.cross_entropy(x, mg.tensor([3]), label_smoothing=0.1)
    assert y.item() == pytest.approx(9.9035, rel=1e-3)


def test_margin_losses_need_a_class_and_lengths_are_integers() -> None:
    for name, target in (("multi_margin_loss", (2,)), ("multilabel_margin_loss", (2, 0))):
        with pytest.raises(mg.ShapeError, match="input must have at least one class"):
            getattr(F, name)(mg.ones(2, 0, device="reference"), mg.zeros(*target, dtype="int64", device="reference"))
    logs, labels = mg.zeros(3, 1, 2, device="reference"), mg.tensor([[1]], device="reference")
    with pytest.raises(mg.DTypeError, match="input_lengths must have an integer dtype"):
        F.ctc_loss(logs, labels, mg.tensor([3.0], device="reference"), mg.tensor([1], device="reference"))
