"""Devices are written as words, and each device is one object."""

import copy
import pickle
import threading

import pytest

import minigrad as mg
from minigrad.core.device import CPU, REFERENCE, as_device, default_device, set_default_device
from minigrad.errors import DeviceError


def test_a_device_is_an_instance_of_the_class_that_makes_it():
    assert isinstance(mg.device("cuda", 0), mg.device) and mg.device("cpu") is as_device("cpu")
    assert (
        isinstance("cpu", str | mg.device)
        and isinstance(mg.channels_last, mg.memory_format)
        and pickle.loads(pickle.dumps(CPU)) is CPU
    )


def test_a_device_is_one_object_under_all_its_names():
    assert as_device("cpu") is as_device("cpu:0") is as_device(CPU) is CPU
    assert as_device("cuda") is as_device("cuda:0") and as_device("cuda:1") is not as_device("cuda")
    for device in (CPU, REFERENCE, as_device("cuda:1"), as_device("toy_device:2")):
        assert copy.deepcopy(device) is copy.copy(device) is pickle.loads(pickle.dumps(device)) is device
    assert (as_device("cuda:3").kind, as_device("cuda:3").index) == ("cuda", 3)


def test_an_int_is_the_index_of_a_cuda_device_and_an_index_may_follow_a_kind():
    assert as_device(0) is as_device("cuda", 0) is as_device(type="cuda", index=0) is as_device("cuda")
    assert as_device(1) is as_device("cuda", 1) and as_device("cpu", 0) is CPU
    for arguments in (("cuda:0", 0), ("cuda", -1), ("cuda", True), (0, 0)):
        with pytest.raises(DeviceError, match="with index, expected a kind without an index and an int from 0, got"):
            as_device(*arguments)


def test_the_function_device_is_the_class_of_devices():
    assert isinstance(mg.device("cpu"), mg.device) and not isinstance("cpu", mg.device)
    assert str | mg.device | None  # in the annotation of a parameter


def test_names_say_the_index_where_there_may_be_many():
    assert [str(as_device(name)) for name in ("cpu", "reference", "cuda", "toy", "toy:2")] == [
        "cpu", "reference", "cuda:0", "toy", "toy:2"]  # fmt: skip
    assert repr(CPU) == "mg.device('cpu')"


def test_a_device_cannot_be_changed():
    with pytest.raises(AttributeError, match="cannot be changed"):
        CPU.kind = "gpu"


@pytest.mark.parametrize("text", ["", "CPU", "cuda:", "cuda:-1", "cuda:x", " cpu", -1, 3.0, True, None, ["cpu"]])
def test_what_is_no_device_is_refused(text):
    with pytest.raises(DeviceError) as caught:
        as_device(text)
    assert str(caught.value) == (
        f"device: expected a kind with an optional index, such as 'cpu', 'cuda' or 'cuda:1', or the index of a "
        f"CUDA device, got {text!r}; pass 'cpu', for example"
    )


def test_there_is_one_cpu():
    with pytest.raises(DeviceError, match=r"there is only one cpu device, .* got 'cpu:1'; write 'cpu'"):
        as_device("cpu:1")


def test_the_default_device_can_be_set():
    try:
        set_default_device("reference")
        assert default_device() is REFERENCE
    finally:
        set_default_device("cpu")
    assert default_device() is CPU


def test_a_block_of_a_device_sets_the_default():
    before = default_device()
    with as_device("reference") as device:
        with pytest.raises(DeviceError, match=r"got 'cpu' inside a block of 'reference', .* write `with mg.device"):
            set_default_device("cpu")
        assert default_device() is device is REFERENCE
        with CPU:
            assert default_device() is CPU
        with pytest.raises(ZeroDivisionError), CPU, CPU:
            raise ZeroDivisionError
        assert default_device() is REFERENCE
    assert default_device() is before


def test_a_block_of_a_device_is_of_its_thread():
    found = []
    with REFERENCE:
        thread = threading.Thread(target=lambda: found.append(default_device()))
        thread.start()
        thread.join()
        assert default_device() is REFERENCE
    assert found == [CPU] and default_device() is CPU
