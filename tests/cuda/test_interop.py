"""Memory of a device in the hands of other libraries and back: zero copy, in the order of streams.

Other libraries are played by small classes that do what the protocols ask of them; in the simulator the memory of a
device is memory of the host, so they can look at it.
"""

import ctypes
import gc
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad.backends import dlpack
from minigrad.core.dtype import ALL, as_dtype
from minigrad.core.layout import Layout
from minigrad.errors import DeviceError, DTypeError, GradientError, ShapeError, StorageError

CUDA = 2


def memory(address, count, kind):
    """An array over an address."""
    return np.frombuffer((ctypes.c_uint8 * (count * np.dtype(kind).itemsize)).from_address(address), kind)


class Producer:
    """A tensor of another library in the device's memory.  asked: the stream that the consumer named."""

    def __init__(self, array, device=(CUDA, 0), versions=True, readonly=False):
        self.array, self.device, self.versions, self.readonly = array, device, versions, readonly
        self.asked = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **asked):
        if not self.versions and "max_version" in asked:
            raise TypeError("__dlpack__ takes no max_version")
        self.asked.append(asked["stream"])
        a = self.array
        layout = Layout.make(a.shape, tuple(s // a.itemsize for s in a.strides), 0)
        return dlpack.capsule_of(
            a, a.ctypes.data, layout, as_dtype(a.dtype), self.device, versioned=self.versions, readonly=self.readonly
        )


class Described:
    """The same by the array protocol."""

    def __init__(self, array, stream=None, **more):
        told = {"shape": array.shape, "typestr": array.dtype.str, "data": (array.ctypes.data, False), "version": 3}
        strides = None if array.flags.c_contiguous else array.strides
        self.array, self.__cuda_array_interface__ = array, told | {"strides": strides, "stream": stream} | more


def aligned(count, shift, kind=np.float32):
    """An array that begins `shift` elements after a multiple of 256."""
    block = np.zeros(count + 512, kind)
    first = -block.ctypes.data % 256 // block.itemsize + shift
    block[first : first + count] = np.arange(count)
    return block[first : first + count]


@pytest.mark.parametrize("versions", [True, False], ids=["version 1", "before"])
@pytest.mark.parametrize("shift", [0, 1, 2, 4, 63])
def test_foreign_memory_of_any_alignment_is_shared(simulator, shift, versions):
    a = aligned(64, shift)
    source = Producer(a, versions=versions)
    x = mg.from_dlpack(source)
    assert str(x.device) == "cuda:0" and x.data_ptr() == a.ctypes.data and source.asked == [1]
    assert (x + x).tolist() == (a + a).tolist()
    x.mul_(3.0)
    assert a.tolist() == [3.0 * k for k in range(64)]
    a[5] = 100.0
    assert x[5].item() == 100.0


VIEWS = [lambda a: a.T, lambda a: a[::2, 1:], lambda a: a[::-1, ::-2], lambda a: a[1:2, 2], lambda a: a[:0]]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("wrap", [Producer, Described])
def test_foreign_memory_of_any_strides_is_shared(simulator, view, wrap):
    a = view(np.arange(20.0).reshape(4, 5))
    x = mg.from_dlpack(wrap(a))
    assert x.tolist() == a.tolist() and x.shape == a.shape
    x += 1.0
    np.testing.assert_array_equal(x.numpy(), a)


def test_what_is_foreign_is_kept_while_it_is_used_and_freed_then(simulator):
    a = np.ones(8, np.float32)
    alive, before = weakref.ref(a), len(dlpack.alive)
    x = mg.from_dlpack(Producer(a))[::2]
    del a
    gc.collect()
    assert alive() is not None and len(dlpack.alive) == before + 1 and x.sum().item() == 4.0
    del x
    gc.collect()
    assert alive() is None and len(dlpack.alive) == before


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_every_dtype_goes_out_and_comes_in(simulator, dtype):
    x = mg.tensor([0, 1, 1, 0], dtype=dtype, device="cuda")
    y = mg.from_dlpack(x[1:3])
    assert y.dtype is dtype and y.data_ptr() == x[1:].data_ptr() and y.tolist() == [1, 1]
    y.zero_()
    assert x.tolist() == [0, 0, 0, 0]


def taken(capsule):
    """What a consumer reads of a capsule."""
    found = dlpack.Foreign(capsule)
    return memory(found.address, found.layout.numel, found.dtype.storage).tolist(), found.layout, found.readonly


def test_a_capsule_shows_elements_where_they_are(simulator):
    x = mg.arange(6, dtype="float32", device="cuda").reshape(2, 3)
    assert x.__dlpack_device__() == (CUDA, 0)
    values, layout, readonly = taken(x[1:].__dlpack__(max_version=(1, 0)))
    assert values == [3.0, 4.0, 5.0] and layout is Layout.make((1, 3), (3, 1), 0) and not readonly
    capsule = x.t().__dlpack__()
    assert dlpack.Foreign(capsule).layout is Layout.make((3, 2), (1, 3), 0)
    with pytest.raises(StorageError, match="the capsule has been used before"):
        dlpack.Foreign(capsule)
    with pytest.raises(ShapeError, match="with the strides"):
        x.flip(0).__dlpack__()
    with pytest.raises(GradientError, match="does not require a gradient"):
        mg.Var([1.0], device="cuda").__dlpack__()
    copied = x.__dlpack__(copy=True)
    assert dlpack.Foreign(copied).address != x.data_ptr()
    assert taken(x.__dlpack__(dl_device=(CUDA, 0)))[0] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert np.from_dlpack(Host(x)).tolist() == x.tolist()
    with pytest.raises(DeviceError, match="dl_device must be the device"):
        x.__dlpack__(dl_device=(1, 0), copy=False)


class Host:
    """A view of a tensor that NumPy takes: one that asks for a copy on the CPU."""

    def __init__(self, x):
        self.x = x

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **asked):
        return self.x.__dlpack__(max_version=asked.get("max_version"), dl_device=(1, 0))


def test_memory_that_a_capsule_shows_lives_as_long_as_it_and_is_freed(simulator):
    mg.ones(100, device="cuda")  # the number 1 stays
    before = mg.cuda.memory_allocated()
    x = mg.ones(100, device="cuda")
    capsule = x.__dlpack__()
    del x
    assert mg.cuda.memory_allocated() > before
    found = dlpack.Foreign(capsule)
    del capsule
    assert memory(found.address, 100, np.float32).tolist() == [1.0] * 100
    del found
    assert mg.cuda.memory_allocated() == before
    mg.ones(100, device="cuda").__dlpack__(max_version=(1, 0))  # dropped without a consumer
    assert mg.cuda.memory_allocated() == before


def test_a_graph_that_may_have_saved_it_shows_read_only_memory(simulator):
    x = mg.Var([1.0, 2.0], device="cuda").exp().detach()
    assert taken(x.__dlpack__(max_version=(1, 0)))[2] and x.__cuda_array_interface__["data"][1] is True
    with pytest.raises(StorageError, match="got read-only memory"):
        mg.from_dlpack(x)


def test_a_consumer_on_another_stream_waits_for_ours(simulator):
    x, s = mg.ones(3, device="cuda"), mg.cuda.Stream()
    theirs = simulator.foreign_stream(77)
    x.__dlpack__(stream=77)
    assert len(theirs.waited) == 1
    x.__dlpack__(stream=-1)
    x.__dlpack__(stream=1)
    x.__dlpack__()
    assert len(theirs.waited) == 1 and not simulator.legacy.waited
    with s:
        x.__dlpack__()
        assert x.__cuda_array_interface__["stream"] == s.cuda_stream
        assert len(simulator.legacy.waited) == 1
        source = Producer(np.ones(2, np.float32))
        mg.from_dlpack(source)
        assert source.asked == [s.cuda_stream]
    with pytest.raises(StorageError, match="stream must not be 0"):
        x.__dlpack__(stream=0)


def test_we_wait_for_the_stream_of_an_array(simulator):
    before = len(simulator.legacy.waited)
    mg.from_dlpack(Described(np.ones(2, np.float32), stream=1))
    mg.from_dlpack(Described(np.ones(2, np.float32)))
    assert len(simulator.legacy.waited) == before
    mg.from_dlpack(Described(np.ones(2, np.float32), stream=99))
    assert len(simulator.legacy.waited) == before + 1


def test_the_array_protocol_tells_of_cuda_tensors_only():
    x = mg.arange(6, dtype="int16", device="cuda").reshape(2, 3)[:, 1:]
    told = x.__cuda_array_interface__
    assert told["shape"] == (2, 2) and told["strides"] == (6, 2) and told["typestr"] == "<i2" and told["stream"] == 1
    assert told["data"] == (x.data_ptr(), False) and told["version"] == 3
    assert not hasattr(mg.ones(2), "__cuda_array_interface__")
    assert not hasattr(mg.ones(2, dtype="bfloat16", device="cuda"), "__cuda_array_interface__")
    with pytest.raises(GradientError, match="does not require a gradient"):
        mg.Var([1.0], device="cuda").__cuda_array_interface__


def test_what_cannot_be_shared_says_why(simulator):
    block = np.zeros(40, np.uint8)
    start = (1 - block.ctypes.data) % 4
    unaligned = block[start : start + 32].view(np.float32)
    for wrong, error, words in [
        (Described(unaligned), StorageError, "must be a multiple of"),
        (Described(np.ones(2), data=(16, True)), StorageError, "read-only"),
        (Described(np.ones(2, ">f8")), DTypeError, "native byte order"),
        (Described(np.ones(2), mask=[True, False]), DTypeError, "without a mask"),
        (Described(np.ones(2), strides=(3,)), StorageError, "must be multiples of 8"),
        (Producer(np.ones(2), device=(8, 0)), DeviceError, "no backend accepts memory of the DLPack device type 8"),
        (Producer(np.ones(2), readonly=True), StorageError, "read-only"),
        ([1.0], DTypeError, "expected an object with the method __dlpack__"),
    ]:
        with pytest.raises(error, match=words):
            mg.from_dlpack(wrong)
    with pytest.raises(DTypeError, match="type code 3 with 64 bits"):
        dlpack.dtype_of(3, 64, 1)
