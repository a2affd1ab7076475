"""PyTorch's old names and spellings, which scripts use: each does as PyTorch, or says that it has no effect."""

from __future__ import annotations

import copy
import math
import pickle
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import Variable
from minigrad.errors import ArgumentError, DeviceError, DTypeError, GradientError


def test_old_constructors_take_lengths_or_data() -> None:
    assert mg.FloatTensor(3, 2).shape == (3, 2) and mg.Tensor(2, 3, 4, 5).shape == (2, 3, 4, 5)
    assert mg.Tensor().shape == (0,) and mg.Tensor(5).dtype is mg.float32
    assert mg.LongTensor([1, 2]).dtype is mg.int64 and mg.LongTensor(range(3)).tolist() == [0, 1, 2]
    assert mg.FloatTensor(np.arange(4.0).reshape(2, 2)).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert mg.FloatTensor([np.ones(2), np.zeros(2)]).tolist() == [[1.0, 1.0], [0.0, 0.0]]
    shape = mg.ones(3, 2).shape
    assert mg.Tensor(shape).shape == mg.LongTensor(shape).shape == mg.ones(1).new(shape).shape == (3, 2)
    assert mg.Tensor(mg.ones(()).shape).shape == () and mg.Tensor().shape == (0,)
    x = mg.ones(2)
    assert mg.Tensor(x).tolist() == [1.0, 1.0] and mg.Tensor(x).data_ptr() == x.data_ptr()
    assert x.new(3, 2).shape == (3, 2) and x.double().new([1, 2]).dtype is mg.float64
    assert x.new(mg.zeros(4, 5).size()).shape == mg.Tensor(mg.zeros(4, 5).shape).shape == (4, 5)
    assert mg.LongTensor(mg.tensor(1.0).shape).shape == () and mg.Tensor((4, 5)).tolist() == [4.0, 5.0]
    with pytest.raises(ArgumentError, match="expected ints as the lengths of the dims, or one list of values"):
        mg.FloatTensor([1.0], [2.0])


def test_an_old_constructor_is_a_dtype_and_a_type() -> None:
    x = mg.ones(2)
    assert isinstance(x, mg.FloatTensor) and not isinstance(x, mg.LongTensor) and not isinstance(1.0, mg.FloatTensor)
    assert not isinstance(x, mg.cuda.FloatTensor)
    assert x.type(mg.LongTensor).dtype is mg.int64 and x.type("torch.DoubleTensor").dtype is mg.float64
    with pytest.raises(DTypeError, match="must be one of FloatTensor"):
        x.type("torch.ComplexTensor")


def test_a_variable_shares_values_and_is_a_leaf() -> None:
    x = mg.ones(2)
    v = Variable(x, requires_grad=True)
    assert v.requires_grad and v.is_leaf and v.data_ptr() == x.data_ptr() and not x.requires_grad
    assert isinstance(x, Variable) and not isinstance(1.0, Variable)
    assert not Variable(v * 2.0).requires_grad
    with pytest.warns(UserWarning, match="volatile has no effect"):
        Variable(x, volatile=True)
    with pytest.warns(UserWarning, match="volatile has no effect"):
        x.volatile = False


def test_data_is_written_in_place() -> None:
    w = mg.tensor([1.0, 2.0], requires_grad=True)
    w.data -= 0.5
    w.data *= mg.tensor([2.0, 1.0])
    assert w.tolist() == [1.0, 1.5] and w.requires_grad and w.is_leaf


def test_default_dtypes_under_their_old_names() -> None:
    before = mg.get_default_dtype()
    try:
        mg.set_default_tensor_type(mg.DoubleTensor)
        assert mg.get_default_dtype() is mg.float64 and mg.Tensor([1]).dtype is mg.float64
        mg.set_default_dtype(mg.float32)
        assert mg.zeros(1).dtype is mg.float32
    finally:
        mg.set_default_dtype(before)


def test_the_default_device_under_its_old_name() -> None:
    before = mg.get_default_device()
    try:
        mg.set_default_device("reference")
        assert mg.get_default_device() is mg.default_device() is mg.zeros(1).device
        mg.set_default_device(None)
        assert str(mg.get_default_device()) == "cpu"
    finally:
        mg.set_default_device(before)


def test_constants_and_second_names() -> None:
    assert (mg.pi, mg.e, mg.inf) == (math.pi, math.e, math.inf) and math.isnan(mg.nan)
    x = mg.tensor([1.0, -2.0])
    assert mg.concat([x, x]).tolist() == mg.concatenate((x, x)).tolist() == [1.0, -2.0, 1.0, -2.0]
    assert mg.clip(x, 0, 1).tolist() == [1.0, 0.0] and x.ger(x).tolist() == [[1.0, -2.0], [-2.0, 4.0]]
    assert mg.Size([2, 3]) == mg.zeros(2, 3).shape and isinstance(mg.float32, mg.dtype)
    assert x.storage().tolist() == [1.0, -2.0] and mg.linalg.matmul is mg.matmul


def test_questions_about_devices_that_are_not_there() -> None:
    x = mg.ones(1)
    assert (x.is_cuda, x.is_xpu, x.is_mps, x.is_meta, x.is_cpu, x.get_device()) == (False,) * 4 + (True, -1)
    assert mg.device("cpu").type == "cpu" and not mg.backends.mps.is_available()
    mg.backends.cudnn.benchmark = True
    import minigrad.backends.cudnn as cudnn

    assert cudnn.benchmark and not cudnn.is_available() and cudnn.version() is None
    switches = mg.backends.switches
    for library in (switches.cuda, switches.mkl, switches.mkldnn, switches.openmp):
        assert not getattr(library, "is_available", switches.cuda.is_built)()
    with mg.nn.attention.sdpa_kernel([mg.nn.attention.SDPBackend.MATH, mg.nn.attention.SDPBackend.FLASH_ATTENTION]):
        assert mg.nn.functional.scaled_dot_product_attention(*[mg.ones(1, 2)] * 3).tolist() == [[1.0, 1.0]]
    switches.cuda.matmul.allow_tf32 = True
    switches.cuda.enable_flash_sdp(True)
    with cudnn.flags(enabled=False), mg.backends.mkldnn.flags(enabled=False):
        assert mg.backends.openmp is switches.openmp
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        mg.backends.nonsense


def test_seeds_and_mixed_precision_of_cuda_without_a_device() -> None:
    mg.cuda.manual_seed_all(4)
    x = mg.rand(3)
    mg.cuda.manual_seed(4)
    assert mg.rand(3).tolist() == x.tolist()
    with mg.cuda.amp.autocast():
        assert (mg.ones(2, 2) @ mg.ones(2, 2)).dtype is mg.float32


def test_data_parallel_calls_the_module_on_one_device() -> None:
    net = mg.nn.DataParallel(mg.nn.Linear(2, 1))
    x = mg.ones(3, 2)
    assert net(x).tolist() == net.module(x).tolist()
    with pytest.raises(DeviceError, match="must contain one device, got 2"):
        mg.nn.DataParallel(net, device_ids=[0, 1])


def test_old_names_of_initial_values_and_reductions_warn() -> None:
    w = mg.empty(2, 2)
    with pytest.warns(UserWarning, match="write init.constant_"):
        assert mg.nn.init.constant(w, 3.0) is w
    assert w.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    with pytest.warns(UserWarning, match="write reduction='mean'"):
        assert mg.nn.functional.mse_loss(mg.ones(2), mg.zeros(2), reduction="elementwise_mean").item() == 1.0


def test_a_tensor_is_resized_in_place() -> None:
    x = mg.arange(6.0)
    assert x.resize_(2, 2).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert x.resize_(8).shape == (8,) and x[:4].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert x.resize_as_(mg.zeros(2, 4)).shape == (2, 4)
    with pytest.raises(GradientError, match="does not require a gradient"):
        mg.Var([1.0]).resize_(2)


def test_any_sequence_of_numbers_is_data() -> None:
    assert mg.tensor(deque([1.0, 2.0])).tolist() == [1.0, 2.0] and mg.tensor(range(3)).dtype is mg.int64
    assert mg.tensor([np.float32(1), np.array([1])[0]]).tolist() == [1.0, 1.0]


def test_deterministic_algorithms_fill_memory_that_is_not_initialized() -> None:
    try:
        mg.set_deterministic_debug_mode("warn")
        assert mg.get_deterministic_debug_mode() == 1 and mg.is_deterministic_algorithms_warn_only_enabled()
        mg.use_deterministic_algorithms(True)
        assert mg.get_deterministic_debug_mode() == 2 and mg.are_deterministic_algorithms_enabled()
        assert mg.empty(2, dtype=mg.uint8).tolist() == [255, 255] and mg.empty(1, dtype=mg.bool).tolist() == [True]
        assert mg.empty_like(mg.zeros(2)).isnan().all() and mg.empty_strided((2, 1), (1, 2)).isnan().all()
        assert mg.zeros(1).resize_(2).isnan().tolist() == [False, True]
        mg.utils.deterministic.fill_uninitialized_memory = False
        assert not mg.settings.fill_uninitialized
        mg.utils.deterministic.fill_uninitialized_memory = True
        assert mg.settings.fill_uninitialized
    finally:
        mg.set_deterministic_debug_mode(False)
    assert not mg.are_deterministic_algorithms_enabled() and not mg.settings.fill_uninitialized
    with pytest.raises(ArgumentError, match="debug_mode must be 0, 1, 2, 'default', 'warn' or 'error', got 3"):
        mg.set_deterministic_debug_mode(3)
    with pytest.raises(TypeError, match="mode must be True or False, got 1"):
        mg.use_deterministic_algorithms(1)


def test_old_constructors_share_the_memory_of_a_tensor_and_of_a_storage() -> None:
    x = mg.zeros(2)
    for y in (mg.FloatTensor(x), mg.Tensor(x), x.new(x), x.new(x.storage()), mg.FloatTensor(x.untyped_storage())):
        assert y is not x and y.data_ptr() == x.data_ptr() and y.dtype is mg.float32
    with pytest.raises(mg.GradientError, match=r"pass x.detach\(\)"):
        mg.Tensor(mg.Var([1.0]))
    with pytest.raises(DTypeError, match="expected a tensor or a storage of float32"):
        mg.FloatTensor(mg.zeros(4, dtype=mg.uint8).storage())
    v = mg.Var([1.0, 2.0])
    assert (mg.FloatTensor(v) * 3.0).sum().backward()[v].tolist() == [3.0, 3.0]
    assert mg.tensor(mg.tensor([1.5]).untyped_storage().clone(), dtype=mg.float32).tolist() == [1.5]


def test_the_order_of_dims_in_memory() -> None:
    x = mg.empty(2, 3, 5, 7)
    assert x.dim_order() == x.dim_order(ambiguity_check=True) == (0, 1, 2, 3)
    assert x.permute(0, 2, 3, 1).dim_order() == (0, 3, 1, 2)
    assert x.to(memory_format=mg.channels_last).dim_order(ambiguity_check=[mg.channels_last]) == (0, 2, 3, 1)
    with pytest.raises(ArgumentError, match="expected a tensor with one order of its dims"):
        mg.empty(2, 1).dim_order(ambiguity_check=True)
    assert mg.empty(0, 3).data_ptr() == 0


def test_writes_through_the_tensor_of_an_old_constructor_are_recorded() -> None:
    for written in (0, 1):
        x, w = mg.zeros(2), mg.Var([3.0, 4.0])
        both = x, mg.Tensor(x)
        both[written].add_(w)
        assert (both[1 - written] * 2.0).sum().backward()[w].tolist() == [2.0, 2.0]


def test_a_shared_file_has_a_name(tmp_path: Path) -> None:
    mg.tensor([1.0, 2.0]).numpy().tofile(tmp_path / "numbers")
    path = str(tmp_path / "numbers")
    assert mg.from_file(path, True, 2).untyped_storage().filename == path
    assert mg.from_file(path, False, 2).untyped_storage().filename is None and mg.ones(1).storage.filename is None


def test_switches_that_have_no_effect() -> None:
    mg.set_float32_matmul_precision("high")
    with pytest.raises(ArgumentError, match="precision must be 'highest', 'high' or 'medium', got 'low'"):
        mg.set_float32_matmul_precision("low")
    threads = mg.get_num_threads()
    mg.set_num_threads(1000)
    assert threads <= mg.get_num_threads() < 1000
    mg.set_num_threads(threads)
    assert not mg.cuda.is_bf16_supported() or mg.cuda.is_available()
    assert copy.deepcopy(mg.dist) is pickle.loads(pickle.dumps(mg.dist)) is mg.dist


def test_an_object_with_dlpack_alone_is_data_and_rows_are_reversed() -> None:
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]], device="reference")

    class Foreign:
        def __dlpack__(self, **arguments: Any) -> Any:
            return np.arange(3.0).__dlpack__(**arguments)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    assert mg.tensor(Foreign()).tolist() == [0.0, 1.0, 2.0]
    assert reversed(x).tolist() == [[3.0, 4.0], [1.0, 2.0]] and reversed(x[0, 0]).item() == 1.0
    assert x.new(size=(2, 3)).shape == (2, 3) and x.int().type(mg.Tensor).dtype is mg.float32
    assert mg.chain_matmul(x, x, x).tolist() == (x @ x @ x).tolist() and mg.chain_matmul(x).tolist() == x.tolist()


def test_a_resize_orders_the_memory_by_its_format() -> None:
    x = mg.arange(12, device="reference").resize_(1, 2, 2, 3, memory_format=mg.channels_last)
    assert x[0, :, 0].tolist() == [[0, 2, 4], [1, 3, 5]]
    assert mg.arange(12, device="reference").resize_as_(x, memory_format=mg.preserve_format).stride() == x.stride()
    assert x.resize_(x.shape, memory_format=mg.contiguous_format).stride() == x.stride()


@pytest.mark.parametrize("shape", [(1,), (2, 2), (8,)])
def test_a_resize_counts_as_a_write(shape: tuple[int, ...]) -> None:
    w, x = mg.Var([1.0, 2.0, 3.0, 4.0]), mg.tensor([5.0, 6.0, 7.0, 8.0])
    y = (w * x).sum()
    x.resize_(*shape)
    with pytest.raises(mg.StorageError, match=r"saved its operand 'other'.* changed in place"):
        y.backward()


@pytest.mark.parametrize(
    ("view", "size", "wanted"),
    [
        (lambda x: x.t(), (2,), [1.0, 2.0]),
        (lambda x: x[:, 1:], (3,), [2.0, 3.0, 4.0]),
        (lambda x: x[1], (1, 2), [[4.0, 5.0]]),
        (lambda x: x[:, 0], (2, 3), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        (lambda x: x.flip(0), (4,), [4.0, 5.0, 6.0, 1.0]),
        (lambda x: x[0, 0].expand(4), (2,), [1.0, 2.0]),
    ],
)
def test_a_resize_shows_the_memory_in_its_order(
    view: Callable[[mg.Tensor], mg.Tensor], size: tuple[int, ...], wanted: list[Any]
) -> None:
    """The values are those of PyTorch 2.13."""
    x = view(mg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert x.resize_(*size).tolist() == wanted


def test_a_resize_moves_what_the_memory_has_to_larger_memory() -> None:
    x = mg.tensor([[1.0, 2.0], [3.0, 4.0]])
    y = x[1].resize_(3)
    assert y[:2].tolist() == [3.0, 4.0] and y.base is None
    assert y.resize_(1).resize_(2).tolist() == [3.0, 4.0]  # the memory keeps its elements


def test_the_constructor_takes_any_number_of_lengths() -> None:
    assert mg.Tensor(1, 2, 1, 2, 1, 2).shape == (1, 2, 1, 2, 1, 2) and mg.Tensor().shape == (0,)


def test_a_singular_matrix_is_a_lin_alg_error() -> None:
    with pytest.raises(mg.linalg.LinAlgError, match="singular"):
        mg.linalg.inv(mg.zeros(2, 2, device="reference"))


def test_a_storage_of_a_number_of_elements_or_of_numbers() -> None:
    assert mg.Storage(np.int64(3)).size() == 3 and mg.Storage(2).dtype is mg.float32
    assert mg.Storage([1, 2.5]).tolist() == [1.0, 2.5] and mg.FloatTensor(mg.Storage([4.0])).tolist() == [4.0]
