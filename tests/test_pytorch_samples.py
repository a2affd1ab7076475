"""PyTorch's own samples: every function in scope gives its values, dtypes and gradients, but for those listed here.

`make test-torch` installs PyTorch and runs this; `python -m tests.pytorch_samples NAME` shows one function.
"""

from __future__ import annotations

import pytest
from pytorch_samples import in_scope, outcomes

# What is known to differ, and why.
KNOWN = {
    "as_strided": "a Var owns its memory, so its views do not reach around it",
    **dict.fromkeys(("cholesky_inverse", "cholesky_solve"), "PyTorch's gradient has a triangle that is not read"),
    "nn.functional.ctc_loss": "the gradient is the derivative, see docs/differences.md",
    **{
        f"nn.functional.max_unpool{d}d": "of two that go to one place PyTorch gives both the gradient"
        for d in (1, 2, 3)
    },
    "as_strided_scatter": "PyTorch gives an element of size 1 that is overwritten a gradient",
    "nn.functional.batch_norm": "PyTorch takes an empty vector without channels",
}

# For complex samples.
KNOWN_COMPLEX = {
    **{name: KNOWN[name] for name in ("as_strided", "as_strided_scatter", "cholesky_inverse", "cholesky_solve")},
    **dict.fromkeys(
        ("cholesky", "linalg.cholesky", "linalg.cholesky_ex"), "the gradient is Hermitian, see docs/differences.md"
    ),
    **dict.fromkeys(
        ("log_softmax", "softmax", "nn.functional.softmin"), "PyTorch drops imaginary parts for a real dtype="
    ),
}


@pytest.mark.torch
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("complex", "known"), [(False, KNOWN), (True, KNOWN_COMPLEX)], ids=["real", "complex"])
def test_functions_agree_with_pytorch_on_its_own_samples(complex: bool, known: dict[str, str]) -> None:
    pytest.importorskip("torch.testing._internal.common_methods_invocations", reason="PyTorch is not installed")
    wrong = {name: text for name, text in outcomes(complex=complex).items() if text}
    assert wrong.keys() == known.keys(), "\n".join(f"{name}: {text}" for name, text in wrong.items())


def test_complex_numbers_and_private_names_are_out_of_scope() -> None:
    outside = ("angle", "view_as_real", "sparse.mm", "_softmax_backward_data", "masked.sum")
    inside = ("linalg.svd", "linalg.eig", "fft.rfft", "__rdiv__", "geqrf")
    assert not any(map(in_scope, outside)) and all(map(in_scope, inside)) and in_scope("angle", True)
