"""The choice of the tests of a file, from its text."""

from __future__ import annotations

from pathlib import Path

from tests.suites.scope import few, outside, sources

TEXT = """
from torch.utils.data import _utils, get_worker_info

def helper(x):
    return x.to_sparse()

def made():
    return torch._ops.operator("sum")

own_sum = made()

class OwnTensor(torch.Tensor):
    def __torch_function__(self):
        pass

class TestOps:
    def test_add(self, device):    # to_sparse() is not called here
        self.check(device)

    def test_jit(self):
        torch.jit.script(f)

    def test_private(self):
        assert x._version == self._count

    def test_inner(self):
        self.helper(x)

    def test_private_argument(self):
        f(
            x,
            _fast=True,
        )

    def test_own_tensor(self):
        assert OwnTensor(1) == 1

    def test_own_operator(self):
        assert own_sum(x) == 0

    def test_private_module(self):
        assert _utils.collate

    def check(self, device):
        self._count = x._saved_self
"""


def test_features_and_private_names_decide_what_is_outside(tmp_path: Path) -> None:
    (tmp_path / "test_ops.py").write_text(TEXT, encoding="utf-8")
    texts, known = sources(tmp_path / "test_ops.py"), dict[str, bool]()
    assert not outside("test_add_cpu_int64", texts, known)
    names = "private inner_cpu private_argument private_module own_operator own_tensor abs__foreach_abs_cpu_float32"
    for name in names.split():
        assert outside(f"test_{name}", texts, known), name
    assert outside("test_add_cpu_complex32", texts, known) and outside("test_jit", texts, known)


def test_one_test_of_each_kind_of_dtype_is_chosen() -> None:
    dtypes = ("bool", "int32", "int64", "float16", "float32", "float64", "bfloat16", "complex128", "uint8", "uint16")
    names = [f"test_add_cpu_{dtype}" for dtype in dtypes] + ["test_mul_cpu", "test_f_cpu_float64", "test_plain"]
    assert {name.removeprefix("test_add_cpu_") for name in few(names)} == {
        "bool", "int64", "float32", "complex128", "uint8", "test_mul_cpu", "test_f_cpu_float64", "test_plain",
    } | {"uint16"}  # fmt: skip
