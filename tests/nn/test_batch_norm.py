"""Batch normalization: what training writes into the running statistics, and who may not be written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, DTypeError, GradientError, ShapeError, StorageError
from minigrad.func import grad, jvp, linearize, vmap

F = mg.nn.functional
X = np.arange(12.0).reshape(4, 3) ** 2 / 10.0


def tensor(data: Any, dtype: str = "float64") -> mg.Tensor:
    return mg.tensor(data, dtype=dtype, device="reference")


def statistics(channels: int = 3, dtype: str = "float64") -> tuple[mg.Tensor, mg.Tensor]:
    return tensor(np.zeros(channels), dtype), tensor(np.ones(channels), dtype)


def test_training_moves_the_running_statistics_by_the_momentum() -> None:
    mean, var = statistics()
    F.batch_norm(tensor(X), mean, var, training=True, momentum=0.25)
    np.testing.assert_allclose(mean.numpy(), X.mean(0) / 4)
    np.testing.assert_allclose(var.numpy(), 0.75 + X.var(0, ddof=1) / 4)
    assert (mean.storage.version, var.storage.version) == (1, 1)
    F.batch_norm(tensor(X), mean, var)
    assert (mean.storage.version, var.storage.version) == (1, 1), "evaluation writes nothing"


def test_without_a_momentum_the_running_statistics_are_means_and_an_empty_batch_changes_nothing() -> None:
    norm = mg.nn.BatchNorm1d(3, momentum=None, device="reference", dtype="float64")
    batches = [X * (k + 1) / 7.0 for k in range(3)]
    for batch in batches:
        norm(tensor(batch))
    before = [x.numpy().copy() for x in (norm.running_mean, norm.running_var)]
    norm(tensor(np.zeros((0, 3))))
    assert all(map(np.array_equal, before, (norm.running_mean.numpy(), norm.running_var.numpy())))
    assert norm.num_batches_tracked.item() == 4
    np.testing.assert_allclose(norm.running_mean.numpy(), np.mean([x.mean(0) for x in batches], 0), rtol=1e-14)
    np.testing.assert_allclose(norm.running_var.numpy(), np.mean([x.var(0, ddof=1) for x in batches], 0), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_goes_with_statistics_in_float32(dtype: str) -> None:
    mean, var = statistics(dtype="float32")
    y = F.batch_norm(tensor(X, dtype), mean, var, training=True)
    assert y.dtype.name == dtype and mean.dtype.name == "float32"
    np.testing.assert_allclose(y.to("float32").numpy(), (X - X.mean(0)) / X.std(0), atol=0.03)


def test_an_empty_batch_changes_nothing_and_has_gradients_of_zero() -> None:
    mean, var = statistics()
    w = mg.Var(np.ones(3), device="reference")
    y = F.batch_norm(tensor(np.zeros((0, 3))), mean, var, w, training=True)
    assert y.shape == (0, 3) and y.backward()[w].tolist() == [0.0, 0.0, 0.0]
    assert mean.tolist() == [0.0, 0.0, 0.0] and var.tolist() == [1.0, 1.0, 1.0]


def test_a_backward_that_needs_the_old_statistics_raises() -> None:
    mean, var = statistics()
    w = mg.Var(np.ones(3), device="reference")
    loss = (mean * w).sum()
    F.batch_norm(tensor(X), mean, var, training=True)
    with pytest.raises(StorageError, match=r"saved its operand 'input'.* was changed in place since"):
        loss.backward()


def test_a_batch_of_values_is_not_written_into_one_tensor() -> None:
    mean, var = statistics()
    many = tensor(np.stack([X, X + 1.0]))
    with pytest.raises(GradientError, match=r"batch_norm: running_mean, float64\(3,\), must differ for each sample"):
        vmap(lambda x: F.batch_norm(x, mean, var, training=True))(many)
    assert (mean.storage.version, var.storage.version) == (0, 0)

    def own(x: Any) -> Any:
        center, spread = x[0] * 0.0, x[0] * 0.0 + 1.0
        F.batch_norm(x, center, spread, training=True, momentum=1.0)
        return center

    np.testing.assert_allclose(vmap(own)(many).numpy(), [X.mean(0), X.mean(0) + 1.0])


def test_transforms_of_one_run_write_once() -> None:
    mean, var = statistics()
    x = tensor(X)

    def f(x: Any) -> Any:
        return F.batch_norm(x, mean, var, training=True).square().sum()

    for k, run in enumerate((lambda: grad(f)(x), lambda: jvp(f, (x,), (x,)), lambda: linearize(f, x)[1](x))):
        run()
        assert mean.storage.version == k + 1


def test_a_checkpoint_that_runs_again_writes_once() -> None:
    mean, var = statistics()
    x = mg.Var(X, device="reference")
    y = mg.checkpoint(lambda x: F.batch_norm(x, mean, var, training=True), x).pow(3).sum()
    before = mean.tolist()
    g = y.backward()[x]
    assert mean.tolist() == before and mean.storage.version == 1
    wanted = F.batch_norm(x, None, None, training=True).pow(3).sum().backward()[x]
    np.testing.assert_allclose(g.numpy(), wanted.numpy())


def test_what_may_not_be_written_is_refused_before_anything_is() -> None:
    x = tensor(X)
    for mean, error, words in (
        (mg.Var(np.zeros(3), device="reference"), GradientError, "cannot write into a Var"),
        (tensor([0.0]).expand(3), StorageError, "whose elements share memory"),
    ):
        var = tensor(np.ones(3))
        with pytest.raises(error, match=f"batch_norm: {words}|batch_norm: .*{words}"):
            F.batch_norm(x, mean, var, training=True)
        assert var.storage.version == 0
    both = tensor(np.ones(3))
    with pytest.raises(StorageError, match=r"batch_norm: an operand that is written must not share memory"):
        F.batch_norm(x, both, both, training=True)


def test_operands_that_do_not_fit_are_named() -> None:
    x, (mean, var) = tensor(X), statistics()
    with pytest.raises(ArgumentError, match="required without training, got neither"):
        F.batch_norm(x, None, None)
    with pytest.raises(ShapeError, match=r"more than 1 value per channel in training, got float64\(1, 3\)"):
        F.batch_norm(x[:1], mean, var, training=True)
    with pytest.raises(ShapeError, match=r"weight must have shape \(3,\), one element per channel"):
        F.batch_norm(x, mean, var, tensor([1.0]))
    with pytest.raises(DTypeError, match=r"running_mean must have the dtype of input .*, got float32"):
        F.batch_norm(x, mean.to("float32"), var.to("float32"))
    with pytest.raises(ArgumentError, match="eps in training must be positive, got 0"):
        F.batch_norm(x, mean, var, training=True, eps=0)
