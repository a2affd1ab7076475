"""Memory of a device: what `mg.cuda` reports, errors when none is left, and transfers to the host."""

import os
import re

import numpy as np
import pytest

import minigrad as mg
from minigrad.backends.cuda import presence
from minigrad.backends.host import pace
from minigrad.errors import DeviceError, GradientError, StorageError

KB = 1024


@pytest.fixture
def small(simulator):
    """The simulator with 64 KB of memory."""
    mg.cuda.empty_cache()
    before, simulator.limit = simulator.limit, 64 * KB
    yield simulator
    simulator.limit = before


def blank(nbytes):
    return mg.empty(nbytes, dtype="uint8", device="cuda")


def test_memory_is_counted_as_it_comes_and_goes(simulator):
    mg.cuda.empty_cache()
    mg.cuda.reset_peak_memory_stats()
    first = mg.cuda.memory_allocated()
    x = blank(8 * KB)
    assert mg.cuda.memory_allocated() == first + 8 * KB
    del x
    now = mg.cuda.memory_stats()
    assert now.allocated_bytes == mg.cuda.memory_allocated() == first
    assert now.peak_bytes == mg.cuda.max_memory_allocated() == first + 8 * KB
    assert now.reserved_bytes == mg.cuda.memory_reserved() == first + 8 * KB and now.cached_bytes == 8 * KB
    assert mg.cuda.mem_get_info() == (now.free_bytes, now.total_bytes)
    mg.cuda.empty_cache()
    mg.cuda.reset_peak_memory_stats()
    assert mg.cuda.memory_reserved() == mg.cuda.max_memory_reserved() == mg.cuda.max_memory_allocated() == first


def test_the_device_may_be_given_by_its_index_and_another_index_is_refused(simulator):
    x = mg.ones(2, device="reference")
    for y in (mg.empty(2, device=0), x.to(0), x.cuda(0), x.new_zeros(2, device=0), mg.empty_like(x, device=0)):
        assert y.device is mg.device(0)
    assert mg.cuda.get_device_name(0) == mg.cuda.get_device_properties(0).name and mg.cuda.current_device() == 0
    assert mg.cuda.memory_allocated(0) == mg.cuda.memory_allocated() and mg.cuda.set_device(0) is None
    for call in (mg.cuda.set_device, mg.cuda.memory_allocated, mg.cuda.synchronize, x.to, x.cuda):
        with pytest.raises(DeviceError, match=r"^cuda:1 cannot be used, because minigrad supports only the first CUDA"):
            call(1)


def test_what_is_given_back_is_used_again(small):
    for _ in range(9):
        blank(40 * KB)
    assert mg.cuda.memory_reserved() < 48 * KB


def test_without_memory_the_cache_is_given_back_and_it_is_tried_once_more(small):
    blank(40 * KB)
    assert mg.cuda.memory_stats().cached_bytes == 40 * KB
    x = blank(48 * KB)
    assert mg.cuda.memory_stats().cached_bytes == 0 and x.numel() == 48 * KB


def test_no_memory_is_an_error_with_what_was_asked_held_and_free(small):
    mg.ones(1, dtype="uint8", device="cuda")  # the number 1 stays
    held = mg.cuda.memory_allocated()
    x = blank(40 * KB)
    with pytest.raises(StorageError) as caught:
        mg.ones(30 * KB, dtype="uint8", device="cuda")
    told = [int(n.replace(",", "")) for n in re.findall(r"([\d,]*\d) ?", str(caught.value).split("memory for")[1])]
    assert told == [30 * KB, held + 40 * KB, 0, 24 * KB - held, 64 * KB]
    assert (caught.value.nbytes, caught.value.held, caught.value.free) == (30 * KB, held + 40 * KB, 24 * KB - held)
    del x
    assert mg.ones(30 * KB, dtype="uint8", device="cuda")[7].item() == 1


def test_only_what_is_seen_goes_to_the_host(cuda, monkeypatch):
    x = mg.arange(20_000, dtype="float64", device="cuda").reshape(100, 200)
    copied = []
    real = cuda.runtime.copy_to_host
    monkeypatch.setattr(
        cuda.runtime, "copy_to_host", lambda *given: copied.append(real(*given)) or copied[-1], raising=True
    )
    assert x[3, 5].item() == 605.0 and x[99].cpu().tolist()[:2] == [19_800.0, 19_801.0]
    assert x[::50, 7].tolist() == [7.0, 10_007.0] and x[::50, 7].flip(0).cpu().tolist() == [10_007.0, 7.0]
    assert x.t()[:2, 0].numpy().tolist() == [0.0, 1.0] and x[:0].tolist() == []
    assert [part.size for part in copied] == [1, 200, 2, 2, 2, 0]


def test_only_what_is_seen_goes_to_the_device(cuda, monkeypatch):
    x = mg.arange(20_000, dtype="float32").reshape(100, 200)
    moved = []
    real = cuda.runtime.copy_to_device
    monkeypatch.setattr(cuda.runtime, "copy_to_device", lambda b, a, w=True: moved.append(a.size) or real(b, a, w))
    assert x[3, 5:7].cuda().tolist() == [605.0, 606.0] and x[::-50, 7].cuda().tolist() == [19_807.0, 9_807.0]
    assert x[0, 0].expand(3, 2).cuda().tolist() == [[0.0, 0.0]] * 3 and x[:0].cuda().shape == (0, 200)
    assert moved == [2, 2, 1, 0]


def test_gradients_come_back_through_copies():
    x = mg.Var([1.0, 2.0, 3.0])
    (x[1:].cuda() * mg.tensor([5.0, 7.0], device="cuda")).cpu().sum().backward()
    assert x.grad.tolist() == [0.0, 5.0, 7.0]


def test_pinned_memory_holds_the_same_values_and_is_known():
    x = mg.tensor([[0, 1, 2], [3, 4, 5]], dtype="bfloat16").t()
    assert not x.is_pinned()
    pinned = x.pin_memory()
    assert pinned.is_pinned() and pinned[1:].is_pinned() and pinned.pin_memory() is pinned
    assert pinned.tolist() == x.tolist() and pinned.dtype is mg.bfloat16 and str(pinned.device) == "cpu"
    assert not pinned.clone().is_pinned() and not pinned.cuda().is_pinned()
    assert pinned.cuda(non_blocking=True).tolist() == x.tolist()
    with pytest.raises(GradientError, match="pin_memory: expected a tensor that does not"):
        mg.Var([1.0]).pin_memory()
    with pytest.raises(DeviceError, match="expected a tensor on the CPU"):
        pinned.cuda().pin_memory()
    with pytest.raises(DeviceError, match="copies without pinned memory"):
        x.pin_memory("reference")


def test_a_copy_waits_unless_it_is_told_not_to(cuda, monkeypatch):
    told = []
    real = cuda.runtime.copy_to_device
    monkeypatch.setattr(cuda.runtime, "copy_to_device", lambda b, a, w=True: told.append(w) or real(b, a, w))
    x = mg.tensor([1.0, 2.0]).pin_memory()
    there = x.to("cuda", non_blocking=True)
    there = there.copy_(x.mul_(2), non_blocking=True)
    assert there.tolist() == x.cuda(non_blocking=True).tolist() == [2.0, 4.0]
    assert x.zero_().copy_(there).tolist() == [2.0, 4.0]
    assert told == [False, False, False] and pace.waits
    x.cuda()
    assert told.pop() is True


def test_a_forked_process_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setattr(presence, "missing_packages", list)
    monkeypatch.setattr(presence, "driver", lambda: presence.Driver(13000, 1, ""))
    monkeypatch.setattr(presence, "started", [os.getpid()])
    presence.require()
    monkeypatch.setattr(presence, "started", [os.getppid()])
    with pytest.raises(DeviceError, match="CUDA had been started when it was forked; start processes by 'spawn'"):
        presence.require()


def test_a_module_that_nobody_asked_for_is_not_imported():
    import subprocess
    import sys

    program = "import minigrad as mg, sys; mg.ones(2).sum(); print([m for m in sys.modules if m.endswith('.cuda')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_who_asks_for_another_device_is_told():
    assert mg.cuda.is_available() and mg.cuda.device_count() >= 1
    assert mg.cuda.get_device_properties().multiprocessors > 0 and mg.cuda.get_device_capability() >= (5, 0)
    assert isinstance(mg.cuda.get_device_name("cuda:0"), str)
    for device in ("cpu", "cuda:1"):
        with pytest.raises(DeviceError, match="supports only the first CUDA device"):
            mg.cuda.memory_stats(device)


def test_elements_before_an_offset_are_not_read_by_wide_loads():
    x = mg.from_numpy(np.arange(64, dtype=np.float32))[3:35].cuda()
    assert (x + x).tolist() == [2.0 * k for k in range(3, 35)]
