"""Small storages that a plan keeps for its next results: taken only if nothing else can reach their memory."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.autodiff.owning import KEPT, kept
from minigrad.core.allocator import CpuAllocator
from minigrad.core.device import CPU
from minigrad.core.dtype import float32
from minigrad.core.recycling import MOST, SMALL, release, unused
from minigrad.core.storage import ConstantStorage, Storage


@pytest.fixture
def allocator() -> CpuAllocator:
    return CpuAllocator()


def maker(allocator: CpuAllocator, numel: int = 8) -> Callable[[], Any]:
    """A function that has made one storage, after which it keeps those that it makes."""
    make = Storage.maker(numel, float32, CPU, allocator)
    assert make().keeper is None
    return make


def test_a_storage_that_nothing_refers_to_is_the_next_result(allocator: CpuAllocator) -> None:
    make = maker(allocator)
    first = make()
    place, number = first.data_ptr(), id(first)
    first.version, first.tracked = 7, True
    del first
    again = make()
    assert (id(again), again.data_ptr(), again.version, again.tracked) == (number, place, 0, False)


def test_a_loop_that_still_has_its_last_result_alternates(allocator: CpuAllocator) -> None:
    make = maker(allocator)
    seen = set()
    y = make()
    for _ in range(10):
        y = make()
        seen.add(y.data_ptr())
    assert len(seen) == 2 and allocator.stats().misses == 2 and len(allocator.pairs) == 1


def test_a_plan_keeps_the_last_two(allocator: CpuAllocator) -> None:
    make = maker(allocator)
    assert [made.keeper is None for made in [make() for _ in range(4)]] == [True, True, False, False]


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "the storage": lambda storage: storage,
    "a list": lambda storage: [storage],
    "the buffer": lambda storage: storage.buffer,
    "a NumPy view": lambda storage: storage.buffer[:3],
    "a memoryview": lambda storage: memoryview(storage.buffer),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_memory_that_something_can_reach_is_not_taken(name: str, allocator: CpuAllocator) -> None:
    make = maker(allocator)
    storage = make()
    holder, place = HOLDERS[name](storage), storage.data_ptr()
    del storage
    others = [make() for _ in range(5)]
    assert place not in [other.data_ptr() for other in others] and holder is not None


def test_a_weak_reference_never_sees_another_result(allocator: CpuAllocator) -> None:
    make = maker(allocator)
    alive = weakref.ref(make())
    others = [make() for _ in range(5)]
    assert alive() is None and len(others) == 5


def test_a_storage_of_another_class_is_not_taken(allocator: CpuAllocator) -> None:
    make = maker(allocator)
    storage = make()
    storage.__class__ = ConstantStorage
    del storage
    assert all(type(made) is Storage for made in [make() for _ in range(3)])


def test_large_storages_return_to_the_allocator_at_once(allocator: CpuAllocator) -> None:
    storage = maker(allocator, SMALL // 4 + 1)()
    alive = weakref.ref(storage)
    assert storage.keeper is None
    del storage
    assert alive() is None and allocator.stats().live == 0


def test_counters_are_those_of_an_allocator_that_takes_back_at_once(allocator: CpuAllocator) -> None:
    make = maker(allocator)
    a, b = make(), make()
    assert (allocator.stats().live, allocator.stats().allocated_bytes) == (2, 128)
    del a
    stats = allocator.stats()
    assert (stats.live, stats.allocations, stats.frees, stats.allocated_bytes, stats.cached_bytes) == (1, 3, 2, 64, 64)
    a = make()
    stats = allocator.stats()
    assert (stats.live, stats.allocations, stats.frees, stats.hits, stats.misses) == (2, 4, 2, 2, 2)
    del a, b
    allocator.empty_cache()
    stats = allocator.stats()
    assert (stats.live, stats.allocated_bytes, stats.cached_bytes, stats.frees) == (0, 0, 0, 4)


def test_the_peak_is_exact_where_that_is_asked_for(allocator: CpuAllocator) -> None:
    makes = [maker(allocator, numel) for numel in (8, 100)]
    for make in makes:
        make()
    assert allocator.stats().peak_bytes == 64 + 448  # the first one is kept while the second one is made
    with allocator.exact():
        allocator.reset_peak()
        for make in makes:
            make()
        assert allocator.stats().peak_bytes == 448
        with allocator.exact():
            pass
        assert makes[0]().keeper is None, "the outer block is still open"
    assert makes[0]().keeper is not None


def test_nothing_is_kept_without_a_cache() -> None:
    allocator = CpuAllocator(cache_limit=0)
    assert maker(allocator)().keeper is None
    allocator.cache_limit = 1 << 20
    make = maker(allocator)
    assert make().keeper is not None
    allocator.cache_limit = 0
    stats = allocator.stats()
    assert make().keeper is None and (stats.cached_bytes, stats.live) == (0, 0)


def test_new_memory_is_filled_when_it_is_taken_again(allocator: CpuAllocator) -> None:
    make = maker(allocator)
    made = make()
    made.buffer[:] = 3.0
    del made
    allocator.fill = "junk"
    assert np.isnan(make().buffer).all()


def test_a_storage_of_a_discarded_plan_knows_that_nobody_keeps_it(allocator: CpuAllocator) -> None:
    make = maker(allocator)
    storage = make()
    count = storage.use_count()
    assert (count, storage.keeper() is not None) == (1, True)
    del make
    gc.collect()
    count = storage.use_count()
    assert (count, storage.keeper) == (1, None)


def test_plans_of_many_shapes_keep_little(allocator: CpuAllocator) -> None:
    makes = [maker(allocator, SMALL // 4) for _ in range(MOST // SMALL // 2 + 10)]
    assert not allocator.pairs and allocator.stats().cached_bytes == SMALL, "one call of each"
    for make in makes:
        held = [make(), make()]
        assert held[1].keeper is not None or make is not makes[-1]
    del held
    assert allocator.stats().cached_bytes <= MOST + SMALL
    assert sum(made.nbytes for made in unused(allocator.present())) <= 20 * SMALL


def test_what_is_released_dies_with_its_last_tensor(allocator: CpuAllocator) -> None:
    make = maker(allocator)
    storage = make()
    release(storage)
    alive = weakref.ref(storage)
    count = storage.use_count()
    assert (count, storage.keeper) == (1, None)
    del storage
    assert alive() is None
    release(Storage.of(1.0))


@pytest.mark.parametrize("views", [0, 1, 2])
def test_the_plan_is_no_holder_of_a_gradient(views: int) -> None:
    x: Any = mg.Var([1.0, 2.0], device="reference")
    for _ in range(3):
        (x * x).sum().backward()
    others = [x.grad.view(2) for _ in range(views)]
    assert (kept(x, "_grad") == KEPT) == (views == 0)
    before, place = x.grad, x.grad.data_ptr()
    (x * x).sum().backward()
    assert x.grad.tolist() == [8.0, 16.0]
    assert views == 0 or before.data_ptr() == place
    del others


def test_counters_can_be_read_while_other_threads_make_plans(allocator: CpuAllocator) -> None:
    makes = [maker(allocator)]
    makes[0]()

    def another(*event: Any) -> None:
        """Do at each call what another thread might do there."""
        makes.append(maker(allocator))
        makes[-1]()

    for read in (allocator.stats, allocator.release_pairs):
        sys.setprofile(another)
        try:
            read()
        finally:
            sys.setprofile(None)
    assert len(makes) > 4


def test_the_pair_of_a_discarded_plan_is_forgotten(allocator: CpuAllocator) -> None:
    make = maker(allocator)
    make()
    assert len(allocator.pairs) == len(allocator.present()) == 1
    del make
    gc.collect()
    assert not allocator.pairs


def test_values_of_a_graph_survive_other_calls_of_the_plan() -> None:
    x = mg.Var([0.5, 2.0], device="reference")
    y = x.exp()
    z = (y * y).sum()
    del y
    for _ in range(5):
        x.detach().exp(), x.detach() * x.detach()
    assert mg.grad(z, x).tolist() == pytest.approx((2.0 * np.exp([1.0, 4.0])).tolist(), rel=1e-6)


def test_threads_never_share_a_storage(allocator: CpuAllocator) -> None:
    make, wrong = maker(allocator), list[int]()

    def run(number: int) -> None:
        held: list[Any] = []
        for k in range(4000):
            made = make()
            made.buffer[:] = number
            held = [*held[-(k % 4) :], made] if k % 4 else [made]
            if any((each.buffer != number).any() for each in held):
                wrong.append(number)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong
    del threads
    gc.collect()
    assert allocator.stats().live == 0
