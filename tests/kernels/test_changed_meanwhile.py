"""Kernels whose operand was looked at in an earlier launch and written to since, as another thread may do with memory
that is shared with NumPy: they touch nothing outside of their result."""

import numpy as np
import pytest
from asking import Asking
from strided import arrange, blank, contents

from minigrad.backends.registry import backend_of
from minigrad.config import override
from minigrad.core.device import as_device
from minigrad.core.dtype import bool_, f32, i64
from minigrad.core.layout import Layout
from minigrad.core.op import Spec
from minigrad.ops.nn.softmax import LOG_SOFTMAX, SOFTMAX

backend = Asking(backend_of(as_device("cpu")))


@pytest.mark.parametrize("threshold", [0, 1 << 40], ids=["parallel", "serial"])
def test_a_mask_that_holds_more_than_was_counted_writes_no_further_than_that(threshold):
    mask = np.zeros(40_000, np.bool_)
    mask[[3, 39_000]] = True
    with override(parallel_threshold=threshold):
        count, write = backend.nonzero(Spec(Layout.contiguous(mask.shape), bool_))
        total, parts = count(mask)
        mask[:] = True
        memory = np.full(50_000, -7)
        write(mask, parts, memory[:total])
    assert total == 2 and (memory[total:] == -7).all()


@pytest.mark.parametrize("threshold", [0, 1 << 40], ids=["parallel", "serial"])
def test_a_mask_that_holds_less_than_was_counted_gives_places_that_are_there(threshold):
    mask = np.ones(40_000, np.bool_)
    with override(parallel_threshold=threshold):
        count, write = backend.nonzero(Spec(Layout.contiguous(mask.shape), bool_))
        total, parts = count(mask)
        mask[5:] = False
        found = np.full(total, 1 << 60)
        write(mask, parts, found)
    assert total == 40_000 and found[:5].tolist() == [0, 1, 2, 3, 4] and (found[5:] == 0).all()


@pytest.mark.parametrize("wrong", [20, -20, 1 << 40, np.iinfo(np.int64).min])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_a_class_that_is_no_longer_there_counts_as_ignored(reduction, wrong):
    x, target = arrange(np.zeros((2, 3), np.float32)), arrange(np.array([0, wrong]), i64)
    g = arrange(np.ones(2 if reduction == "none" else (), np.float32))
    loss = blank(g[1].shape, f32)
    backend.pick(LOG_SOFTMAX, loss[1], x[1], target[1], -100, reduction)(x[0], target[0], loss[0])
    assert contents(*loss).sum() == pytest.approx(np.log(3))
    memory = np.full(64, 7, np.float32)
    slope = Spec(Layout.contiguous((2, 3), 24), f32)
    run = backend.pick_backward(SOFTMAX, slope, g[1], x[1], target[1], -100, reduction)
    run(g[0], x[0], target[0], memory)
    assert (np.delete(memory, range(24, 30)) == 7).all() and (memory[27:30] == 0).all()
