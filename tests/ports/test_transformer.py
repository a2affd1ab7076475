"""The transformer of an example trains with PyTorch as with minigrad: the same source, parameters and batches."""

from __future__ import annotations

import numpy as np
import pytest

from tests.benchmarks.language import trained


@pytest.mark.torch
def test_the_transformer_of_the_example_has_the_losses_and_parameters_of_pytorch() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")
    (ours, theirs), held_out = trained(4)
    assert len(ours.losses) == len(theirs.losses) == 4 and ours.losses[3] < ours.losses[0]
    np.testing.assert_allclose(ours.losses, theirs.losses, rtol=2e-5)
    right = theirs.model.state_dict()
    assert list(ours.model.state_dict()) == list(right)
    for name, value in ours.model.state_dict().items():
        np.testing.assert_allclose(value.numpy(), right[name].numpy(), atol=2e-4, err_msg=name)
    assert ours.bits(held_out[:1]) == pytest.approx(theirs.bits(held_out[:1]), abs=1e-4)
