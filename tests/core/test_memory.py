"""Storages and allocators: alignment, reuse, counts, and the moment memory comes back."""

import ctypes
import gc
import itertools
import os
import platform
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from minigrad.core import host_memory
from minigrad.core.allocator import SLACK, Allocator, CpuAllocator, get_allocator, set_allocator
from minigrad.core.device import CPU, as_device
from minigrad.core.dtype import ALL, bfloat16, bool_, float16, float32, float64, int16, uint8
from minigrad.core.host_memory import GAP, LARGE, STEP, WINDOW, aligned, heap_trimmer
from minigrad.core.storage import Storage
from minigrad.errors import ArgumentError, DeviceError, DTypeError, IndexOutOfRange, StorageError


def address(buffer):
    return buffer.ctypes.data


@pytest.mark.parametrize("dtype", ALL)
def test_buffers_are_flat_aligned_and_large_enough(dtype):
    allocator = CpuAllocator()
    for numel in (1, 3, 16, 17, 1000, 100_001):
        buffer = allocator.allocate(numel, dtype)
        assert address(buffer) % 64 == 0 and buffer.nbytes % 64 == 0
        assert buffer.ndim == 1 and buffer.size >= numel and buffer.dtype == dtype.storage and buffer.flags.writeable


def test_no_buffer_begins_less_than_a_vector_step_after_another():
    allocator = CpuAllocator()
    held = [allocator.allocate(numel, float32) for numel in (1, 24, 200) for _ in range(200)]
    held += [Storage.of(*range(24)).buffer for _ in range(200)]
    held.sort(key=address)
    assert min(address(b) - address(a) - a.nbytes for a, b in itertools.pairwise(held)) >= GAP


def test_a_freed_block_is_the_next_one_of_its_size():
    allocator = CpuAllocator()
    first, second = allocator.allocate(100, float32), allocator.allocate(100, float32)
    places = [address(first), address(second)]
    allocator.free(first)
    allocator.free(second)
    del first, second
    again = allocator.allocate(97, float32)
    assert address(again) == places[1]
    older = allocator.allocate(100, float32)
    assert address(older) == places[0]
    third = allocator.allocate(100, float32)
    assert address(third) not in places


def test_dtypes_with_the_same_memory_share_blocks():
    allocator = CpuAllocator()
    buffer = allocator.allocate(10, float16)
    place = address(buffer)
    allocator.free(buffer)
    del buffer
    assert address(allocator.allocate(10, int16)) != place
    assert address(allocator.allocate(10, bfloat16)) == place


def test_counts():
    allocator = CpuAllocator()
    a, b = allocator.allocate(16, float32), allocator.allocate(17, float32)
    allocator.free(a)
    del a
    c = allocator.allocate(16, float32)
    stats = allocator.stats()
    assert (stats.allocated_bytes, stats.cached_bytes, stats.peak_bytes) == (192, 0, 192)
    assert (stats.allocations, stats.frees, stats.hits, stats.misses, stats.live) == (3, 1, 1, 2, 2)
    allocator.free(b)
    assert c.size == 16
    assert allocator.stats().cached_bytes == 128 and allocator.stats().allocated_bytes == 64
    allocator.reset_peak()
    assert allocator.stats().peak_bytes == 64
    allocator.empty_cache()
    assert allocator.stats().cached_bytes == 0


def test_nothing_is_allocated_for_no_elements():
    allocator = CpuAllocator()
    empty = allocator.allocate(0, float32)
    assert empty.size == 0 and allocator.allocate(0, float32) is empty
    assert allocator.allocate(0, float64).dtype == float64.storage
    allocator.free(empty)
    assert allocator.stats().allocations == allocator.stats().frees == 0
    with pytest.raises(ArgumentError, match="allocate: numel must be 0 or more, got -1 for float32"):
        allocator.allocate(-1, float32)


@pytest.mark.parametrize(
    "escape", [lambda b: b[2:5], lambda b: b.view(np.uint8), memoryview, lambda b: b.reshape(4, -1)[1]]
)
def test_a_buffer_that_somebody_still_sees_is_not_reused(escape):
    allocator = CpuAllocator()
    storage = Storage(allocator.allocate(100, float32), float32, CPU, allocator)
    view = np.asarray(escape(storage.buffer)).view(np.uint8)
    view[:] = 7
    place = storage.data_ptr()
    del storage
    assert allocator.stats().cached_bytes == allocator.stats().allocated_bytes == 0
    fresh = allocator.allocate(100, float32)
    fresh[:] = 0
    assert address(fresh) != place and (view == 7).all()


def test_memory_comes_back_at_once_without_the_garbage_collector():
    allocator = CpuAllocator()
    gc.disable()
    try:
        storage = Storage(allocator.allocate(100, float32), float32, CPU, allocator)
        alias, place, gone = storage, storage.data_ptr(), weakref.ref(storage)
        del storage
        assert allocator.stats().live == 1
        del alias
        assert gone() is None and allocator.stats().live == 0
        assert address(allocator.allocate(100, float32)) == place
    finally:
        gc.enable()


def test_a_buffer_is_freed_once_and_only_where_it_came_from():
    allocator = CpuAllocator()
    buffer = allocator.allocate(100, float32)
    allocator.free(buffer)
    for stranger in (buffer, np.zeros(100, np.float32)):
        with pytest.raises(StorageError, match="expected a buffer that this allocator has provided"):
            allocator.free(stranger)
    assert allocator.stats().frees == 1


def test_the_cache_is_bounded_and_the_first_size_goes_first():
    allocator = CpuAllocator(cache_limit=1024)
    for numel in (64, 128, 192):
        allocator.free(allocator.allocate(numel, uint8))
    assert allocator.stats().cached_bytes == 384
    for numel in (448, 320):
        allocator.free(allocator.allocate(numel, uint8))
    assert allocator.stats().cached_bytes <= 1024
    before = allocator.stats().hits
    allocator.free(allocator.allocate(64, uint8))
    assert allocator.stats().hits == before
    allocator.free(allocator.allocate(5000, uint8))
    assert allocator.stats().cached_bytes <= 1024
    allocator.cache_limit = 64
    assert allocator.stats().cached_bytes <= 64
    allocator.empty_cache()
    assert allocator._free == {}


def test_ten_thousand_sizes_leave_a_bounded_cache():
    allocator = CpuAllocator(cache_limit=1 << 20)
    for numel in range(1, 10_000):
        allocator.free(allocator.allocate(numel, float64))
    assert allocator.stats().cached_bytes <= 1 << 20 and len(allocator._free) < 500


def test_large_blocks_of_one_phase_make_room_for_those_of_the_next():
    """All memory stays near what was in use at the peak; small blocks stay, and so do those of the same size."""
    allocator = CpuAllocator()
    small = [allocator.allocate(1000, float32) for _ in range(100)]
    for _ in range(3):
        for nbytes in (5 << 20, 8 << 20, 12 << 20):
            blocks = [allocator.allocate(nbytes, uint8) for _ in range((48 << 20) // nbytes)]
            stats = allocator.stats()
            assert stats.allocated_bytes + stats.cached_bytes <= stats.peak_bytes + SLACK
            while blocks:
                allocator.free(blocks.pop())
        while small:
            allocator.free(small.pop())
    hits = allocator.stats().hits
    small = [allocator.allocate(1000, float32) for _ in range(100)]
    assert allocator.stats().hits == hits + 100
    blocks = [allocator.allocate(12 << 20, uint8) for _ in range(4)]
    assert allocator.stats().hits == hits + 104


@pytest.mark.parametrize("dtype", ALL)
def test_debug_fills_show_in_every_buffer(dtype):
    allocator = CpuAllocator(fill="junk")
    for _ in range(2):
        junk = allocator.allocate(10, dtype)
        if dtype.is_inexact:
            assert np.isnan(junk.view(dtype.numpy).astype(np.complex128)).all()
        else:
            assert (junk.view(np.uint8) == (1 if dtype is bool_ else 0xCD)).all()
        allocator.free(junk)
    allocator.fill = "zero"
    assert not allocator.allocate(10, dtype).any()
    with pytest.raises(ArgumentError, match="fill must be None, 'zero' or 'junk', got 'noise'"):
        allocator.fill = "noise"


def test_threads_never_share_a_block_and_lose_no_count():
    allocator = CpuAllocator(cache_limit=4096)
    rounds, wrong = 5_000, []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(mark):
        for i in range(rounds):
            buffer = allocator.allocate(64 * (1 + i % 5), uint8)
            buffer[0] = mark
            other = allocator.allocate(64, uint8)
            other[0] = 0
            if buffer[0] != mark:
                wrong.append(i)
            allocator.free(other)
            del other
            allocator.free(buffer)
            del buffer

    try:
        threads = [threading.Thread(target=work, args=(mark,)) for mark in range(1, 5)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    finally:
        sys.setswitchinterval(interval)
    stats = allocator.stats()
    assert not wrong
    assert (stats.allocations, stats.frees, stats.live, stats.allocated_bytes) == (8 * rounds, 8 * rounds, 0, 0)
    assert stats.cached_bytes == sum(len(blocks) * (key & -64) for key, blocks in allocator._free.items()) <= 4096


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_allocates_on():
    script = (
        "import os\n"
        "from minigrad.core.allocator import get_allocator\n"
        "from minigrad.core.dtype import float32\n"
        "a = get_allocator('cpu'); b = a.allocate(9, float32); b[0] = 1\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    a.free(b); del b; c = a.allocate(9, float32); c[0] = 2; os._exit(0)\n"
        "assert os.waitpid(pid, 0)[1] == 0 and b[0] == 1\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_storages_that_outlive_the_interpreter_are_silent():
    script = (
        "import sys\n"
        "from minigrad.core.storage import Storage\n"
        "from minigrad.core.allocator import get_allocator\n"
        "from minigrad.core.dtype import float32\n"
        "from minigrad.core.device import CPU\n"
        "a = get_allocator('cpu')\n"
        "class Knot: pass\n"
        "k = Knot(); k.me = k; k.s = Storage(a.allocate(9, float32), float32, CPU, a)\n"
        "sys.kept = Storage(a.allocate(9, float32), float32, CPU, a)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, timeout=60, capture_output=True, text=True)
    assert done.stderr == ""


# Small blocks of many sizes, a living one above them all: the heap of the C library keeps what is below.
RESIDENT = """
import os
from minigrad.core.allocator import CpuAllocator
from minigrad.core.dtype import uint8

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

allocator = CpuAllocator()
blocks = [allocator.allocate(64 * k, uint8) for k in range(1, 1500)]
for block in blocks:
    block.fill(1)
above = allocator.allocate(64, uint8)
while blocks:
    allocator.free(blocks.pop())
del block
held, full = allocator.stats().cached_bytes, resident()
allocator.empty_cache()
print(held, full - resident(), allocator.stats().cached_bytes, above.size)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has malloc_trim")
def test_an_emptied_cache_is_the_systems_again():
    done = subprocess.run([sys.executable, "-c", RESIDENT], check=True, timeout=60, capture_output=True, text=True)
    held, given_back, cached, _ = map(int, done.stdout.split())
    assert held > 60 << 20 and cached == 0
    assert given_back > 0.8 * held


def test_a_cache_is_emptied_where_the_c_library_cannot_trim_its_heap(monkeypatch):
    for missing in (AttributeError, OSError, TypeError):

        def refuse(name, missing=missing):
            raise missing(name)

        monkeypatch.setattr(ctypes, "CDLL", refuse)
        heap_trimmer.cache_clear()
        allocator = CpuAllocator()
        allocator.free(allocator.allocate(100, float32))
        allocator.empty_cache()
        assert allocator.stats().cached_bytes == 0
    heap_trimmer.cache_clear()


class CountingAllocator(Allocator):
    def __init__(self):
        self.out, self.back = 0, 0

    def allocate(self, numel, dtype):
        self.out += 1
        return np.zeros(numel, dtype.storage)

    def free(self, buffer):
        self.back += 1


def test_allocators_are_registered_by_kind():
    with pytest.raises(DeviceError) as caught:
        get_allocator("toy")
    assert (
        str(caught.value) == "get_allocator: no allocator is set for the device kind 'toy'; "
        "register an allocator with set_allocator('toy', allocator)"
    )
    from minigrad.core import allocator as module

    mine = CountingAllocator()
    set_allocator("toy", mine)
    try:
        storage = Storage(get_allocator("toy").allocate(3, float32), float32, as_device("toy"), mine)
        assert (mine.out, mine.back) == (1, 0)
        del storage
        assert (mine.out, mine.back) == (1, 1)
    finally:
        del module._allocators["toy"]
    assert get_allocator("reference") is get_allocator("cpu")


def test_use_count_is_the_number_of_holders():
    storage = Storage.of(1, 2, 3)
    # Counted outside the assert: pytest takes calls in an assert apart, and a bound method is a holder too.
    counts = [storage.use_count()]
    views = [storage, storage]
    counts.append(storage.use_count())
    del views
    counts.append(storage.use_count())
    assert counts == [1, 3, 1]


def test_a_write_is_noted_in_the_version():
    storage = Storage.of(1, 2, 3)
    assert storage.version == 0
    storage.bump()
    assert storage.version == 1


def test_storage_of_numbers():
    assert [Storage.of(1, 2, 3)[i] for i in range(3)] == [1, 2, 3] and Storage.of(1, 2)[-1] == 2
    names = [Storage.of(*numbers).dtype.name for numbers in ((1, 2), (True, False), (1, 2.5), ())]
    assert names == ["int64", "bool", "float32", "float32"]
    half = Storage.of(1.5, -2, dtype="bf16")
    assert (half[0], half[1], half.numel, half.nbytes, half.buffer.dtype) == (1.5, -2.0, 2, 4, np.uint16)
    assert Storage.of(2**53 + 1)[0] == 2**53 + 1
    assert type(Storage.of(True)[0]) is bool and type(Storage.of(1)[0]) is int and type(Storage.of(1.0)[0]) is float
    assert Storage.of(1, dtype="f64").data_ptr() % 64 == 0
    assert repr(Storage.of(1, 2)) == "Storage(2 x int64, device=cpu, version=0)"
    with pytest.raises(DTypeError, match="300 does not fit uint8"):
        Storage.of(300, dtype="u8")


def test_a_storage_over_foreign_memory_writes_through():
    memory = bytearray(8)
    storage = Storage.from_buffer(memory, "f32")
    storage.buffer[1] = 1.0
    assert memory == bytes(6) + b"\x80\x3f" and len(storage) == 2
    with pytest.raises(StorageError, match="expected writable memory, got read-only memory"):
        Storage.from_buffer(bytes(8), "f32")
    with pytest.raises(StorageError, match="expected one contiguous run of float32 elements of 4 bytes, got 6 bytes"):
        Storage.from_buffer(bytearray(6), "f32")


def test_a_mapped_file_is_written_only_if_shared(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(4, dtype=np.float32).tobytes())
    private = Storage.from_file(path, "f32", shared=False)
    private.buffer[0] = 9
    assert (private.numel, private[0], private[3]) == (4, 9.0, 3.0)
    shared = Storage.from_file(path, "f32", 2, shared=True)
    assert (shared.numel, shared[0]) == (2, 0.0)
    shared.buffer[1] = 7
    del shared
    assert np.fromfile(path, np.float32).tolist() == [0, 7, 2, 3]
    with pytest.raises(StorageError, match=r"expected 5 float32 elements of 4 bytes, but .* has 16 bytes"):
        Storage.from_file(path, "f32", 5, shared=False)
    assert Storage.from_file(path, "f32", 5, shared=True)[2:] == [2.0, 3.0, 0.0] and path.stat().st_size == 20
    assert Storage.from_file(tmp_path / "new", "f32", 2, shared=True).untyped()[:3] == [0, 0, 0]


def test_the_size_of_a_storage_includes_its_elements():
    sizes = [sys.getsizeof(Storage.of(*range(n))) for n in (1, 11)]
    assert sizes[1] - sizes[0] == 10 * 8


def test_element_access_is_checked():
    with pytest.raises(IndexOutOfRange) as caught:
        _ = Storage.of(1, 2)[2]
    assert str(caught.value) == "storage: index must be from -2 to 1 for 2 elements, got 2; pass a smaller index"
    with pytest.raises(DeviceError, match="cannot be read one by one"):
        _ = Storage(object(), float32, as_device("toy"))[0]
    with pytest.raises(DeviceError, match="a storage on toy has no address"):
        Storage(object(), float32, as_device("toy")).data_ptr()


def test_large_blocks_of_one_size_do_not_begin_at_one_place_of_a_window():
    allocator = CpuAllocator()
    blocks = [allocator.allocate(1 << 20, float32) for _ in range(8)]
    places = [address(block) % WINDOW for block in blocks]
    assert sorted(places) == [k // 2 * STEP for k in range(8)]
    apart = [(b - a) % WINDOW for a, b in itertools.pairwise(places)]
    assert set(apart) == {STEP}


def test_a_large_block_has_a_gap_before_it_at_every_turn(monkeypatch):
    begins = []

    def mapped(nbytes):
        """Map memory at the beginning of a window, where one turn of four would place a buffer."""
        whole = np.empty(nbytes + WINDOW, np.uint8)
        block = whole[-address(whole) % WINDOW :][:nbytes]
        begins.append(address(block))
        return block.data

    monkeypatch.setattr(host_memory, "_mapped", mapped)
    buffers = [aligned(LARGE, np.dtype(np.uint8)) for _ in range(WINDOW // STEP)]
    assert min(address(buffer) - begin for buffer, begin in zip(buffers, begins, strict=True)) >= GAP
