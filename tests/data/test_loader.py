"""DataLoader in one process: batches, arguments, random numbers, and resuming in the middle of an epoch."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from worker_sets import Drawn, Stream

import minigrad as mg
from minigrad import data
from minigrad.data import DataLoader
from minigrad.errors import ArgumentError, DTypeError
from minigrad.ops.generators import default_generator


def arrays(n: int = 10) -> data.TensorDataset:
    return data.TensorDataset(np.arange(n, dtype=np.float32).reshape(n, 1), np.arange(n))


def facts(batch: Any) -> Any:
    """A batch as numbers that can be compared."""
    if isinstance(batch, mg.Tensor):
        return batch.tolist()
    if isinstance(batch, dict):
        return {name: facts(each) for name, each in batch.items()}
    return [facts(each) for each in batch] if isinstance(batch, (list, tuple)) else batch


# ---- batches --------------------------------------------------------------------------------------------------------


def test_batches_are_gathered_in_order() -> None:
    loader = DataLoader(arrays(), batch_size=4)
    assert [y.tolist() for _, y in loader] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]] and len(loader) == 3
    assert [x.shape for x, _ in loader] == [(4, 1), (4, 1), (2, 1)]
    assert [y.tolist() for _, y in DataLoader(arrays(), 4, drop_last=True)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert [y.tolist() for _, y in DataLoader(arrays(3))] == [[0], [1], [2]]


def test_each_epoch_has_every_sample_once_in_another_order() -> None:
    loader = DataLoader(arrays(), 3, shuffle=True, generator=mg.Generator(0))
    first, second = ([i for _, y in loader for i in y.tolist()] for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(10)) and first != second
    again = DataLoader(arrays(), 3, shuffle=True, generator=mg.Generator(0))
    assert [i for _, y in again for i in y.tolist()] == first


def test_arrays_tensors_and_lists_are_datasets() -> None:
    for dataset in (np.arange(5), mg.from_numpy(np.arange(5)), [0, 1, 2, 3, 4], range(5)):
        assert [batch.tolist() for batch in DataLoader(dataset, 2)] == [[0, 1], [2, 3], [4]]


def test_without_a_batch_size_samples_come_one_by_one() -> None:
    assert [(x.tolist(), y.tolist()) for x, y in DataLoader(arrays(2), None)] == [([0.0], 0), ([1.0], 1)]
    loader = DataLoader([np.ones(2), "a"], batch_size=None)
    assert facts(list(loader)) == [[1.0, 1.0], "a"] and len(loader) == 2


def test_samplers_and_collate_functions_are_used() -> None:
    assert [b.tolist() for b in DataLoader(range(9), 2, sampler=[8, 1, 5])] == [[8, 1], [5]]
    assert [b.tolist() for b in DataLoader(range(9), batch_sampler=[[8], [1, 5]])] == [[8], [1, 5]]
    assert list(DataLoader(arrays(4), 3, collate_fn=len)) == [3, 1]
    assert list(DataLoader(range(3), None, collate_fn=str)) == ["0", "1", "2"]
    weighted = DataLoader(range(9), 2, sampler=data.WeightedRandomSampler([0.0] * 8 + [1.0], 3))
    assert [b.tolist() for b in weighted] == [[8, 8], [8]]


def test_arrays_and_tensors_are_samplers() -> None:
    for sampler in (np.array([3, 1, -1]), mg.tensor([3, 1, -1])):
        assert [b.tolist() for b in DataLoader(np.arange(5), 2, sampler=sampler)] == [[3, 1], [4]]


def test_an_index_that_is_not_an_integer_is_refused() -> None:
    for batch in ([1.7], np.array([0.0, 1.0])):
        with pytest.raises(DTypeError, match="the indices of samples must be integers"):
            list(DataLoader(np.arange(5), batch_sampler=[batch]))


def test_keys_of_a_dict_are_indices() -> None:
    samples = {"a": 1.0, "b": 2.0, (0, 1): 3.0}
    assert [b.tolist() for b in DataLoader(data.Subset(samples, ["b", "a"]), 2)] == [[2.0, 1.0]]
    assert [b.tolist() for b in DataLoader(data.Subset(samples, [(0, 1)]))] == [[3.0]]
    drawn = DataLoader(samples, sampler=data.SubsetRandomSampler(["a", "b"]), batch_size=2)
    assert [sorted(b.tolist()) for b in drawn] == [[1.0, 2.0]]
    assert list(data.SubsetRandomSampler([(0, 1)])) == [(0, 1)]


def test_tensors_of_two_narrow_dtypes_are_collated_in_their_common_one() -> None:
    batch = data.default_collate([mg.ones(2, dtype=mg.float16), mg.zeros(2, dtype=mg.bfloat16)])
    assert batch.dtype is mg.float32 and batch.tolist() == [[1.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("replacement", [False, True])
def test_nothing_is_drawn_from_no_samples(replacement: bool) -> None:
    assert list(data.RandomSampler([], replacement)) == []
    with pytest.raises(ArgumentError, match="for num_samples=4, got an empty dataset"):
        list(data.RandomSampler([], replacement, 4))


def test_a_split_does_not_round_lengths() -> None:
    with pytest.raises(ArgumentError, match="lengths must be integers, or fractions that sum to 1"):
        data.random_split(range(4), [2.5, 2.5])


def test_streams_are_cut_into_batches() -> None:
    loader = DataLoader(Stream(7), 3)
    assert [i.tolist() for i, _ in loader] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [i.tolist() for i, _ in DataLoader(Stream(7), 3, drop_last=True)] == [[0, 1, 2], [3, 4, 5]]
    assert [i for i, _ in DataLoader(Stream(2), None)] == [0, 1]
    with pytest.raises(TypeError):
        len(loader)


def test_two_iterators_of_a_loader_do_not_disturb_each_other() -> None:
    for dataset in (Stream(6), range(6)):
        loader = DataLoader(dataset, 2)
        indices = [facts(batch[0] if isinstance(dataset, Stream) else batch) for batch in loader]
        pairs = [
            [facts(each[0] if isinstance(dataset, Stream) else each) for each in two] for two in zip(loader, loader)
        ]
        assert pairs == [[batch, batch] for batch in indices] and len(pairs) == 3


def test_several_indices_at_once_are_asked_of_the_dataset() -> None:
    class Several(data.Dataset):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, i: int) -> int:
            raise AssertionError("one by one")

        def __getitems__(self, indices: list[int]) -> list[int]:
            return [10 * i for i in indices]

    assert [b.tolist() for b in DataLoader(Several(), 3)] == [[0, 10, 20], [30]]


WRONG: dict[str, Any] = {
    "batch_size must be positive": {"batch_size": 0}, "num_workers must not be negative": {"num_workers": -1},
    "timeout must not be negative": {"timeout": -1}, "prefetch_factor requires worker": {"prefetch_factor": 2},
    "persistent_workers requires worker": {"persistent_workers": True},
    "sampler and shuffle=True exclude": {"shuffle": True, "sampler": [0]},
    "batch_sampler excludes": {"batch_sampler": [[0]], "batch_size": 2},
    "drop_last=True requires batches": {"batch_size": None, "drop_last": True},
    r"generator must be a mg\.Generator": {"generator": 0},
    "prefetch_factor must be positive": {"num_workers": 1, "prefetch_factor": 0},
    "timeout requires worker": {"timeout": 5}, "multiprocessing_context requires": {"multiprocessing_context": "spawn"},
    "collate_fn: expected a function": {"collate_fn": 3}, "sampler: expected an iterable": {"sampler": 3},
    "batch_sampler: expected an iterable": {"batch_sampler": 3},
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_arguments_that_exclude_each_other_are_refused(message: str) -> None:
    with pytest.raises(ArgumentError, match=f"DataLoader: {message}"):
        DataLoader(range(3), **WRONG[message])


@pytest.mark.torch
@pytest.mark.parametrize("message", [name for name in WRONG if "mg" not in name and "positive" not in name])
def test_pytorch_refuses_them_too(message: str) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises((ValueError, AssertionError, TypeError)):
        list(torch.utils.data.DataLoader(range(3), **WRONG[message]))


@pytest.mark.parametrize("dataset", [None, 5, iter([1])])
def test_a_dataset_is_read_by_index_or_as_a_stream(dataset: Any) -> None:
    with pytest.raises(ArgumentError, match=r"DataLoader: dataset: expected an object with ds\[i\]"):
        DataLoader(dataset)


@pytest.mark.parametrize("name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset"])
def test_a_loader_that_was_made_stays_as_it_is(name: str) -> None:
    loader = DataLoader(range(3), 2)
    with pytest.raises(ArgumentError, match=f"{name} cannot be set after the loader was created"):
        setattr(loader, name, 1)
    assert [batch.tolist() for batch in loader] == [[0, 1], [2]]
    loader.timeout = loader.other = 0  # type: ignore[attr-defined]


def test_a_batch_has_a_sample() -> None:
    for samples in ([], (), {}, None):
        with pytest.raises(ArgumentError, match="default_collate: expected a list of at least one sample"):
            data.default_collate(samples)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="a batch_sampler must yield lists that are not empty"):
        list(DataLoader([1, 2, 3], batch_sampler=[[0], []]))


def test_a_stream_has_its_own_order() -> None:
    for wrong in ({"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}):
        with pytest.raises(ArgumentError, match="an IterableDataset, which has its own order"):
            DataLoader(Stream(3), **wrong)  # type: ignore[arg-type]


@pytest.mark.torch
def test_the_arguments_are_those_of_pytorch() -> None:
    import inspect

    torch = pytest.importorskip("torch")
    for name in ("DataLoader", "BatchSampler", "RandomSampler", "WeightedRandomSampler", "DistributedSampler", "Subset",
                 "SubsetRandomSampler", "ConcatDataset", "TensorDataset", "StackDataset", "random_split"):  # fmt: skip
        ours, theirs = getattr(data, name), getattr(torch.utils.data, name, None)
        theirs = theirs or torch.utils.data.distributed.DistributedSampler
        parameters = [list(inspect.signature(each).parameters.values()) for each in (ours, theirs)]
        assert [each.name for each in parameters[0]] == [each.name for each in parameters[1]], name
        for one, two in zip(*parameters):
            assert one.kind == two.kind and (one.default == two.default or one.name == "generator"), (name, one.name)


# ---- random numbers -------------------------------------------------------------------------------------------------


def test_random_numbers_of_a_dataset_leave_those_of_the_program_alone() -> None:
    def program(batches: int) -> list[float]:
        mg.manual_seed(1), random.seed(2), np.random.seed(3)
        np.random.randn()  # leaves a second normal number behind, which is part of the state
        iterator = iter(DataLoader(Drawn(8), 2, shuffle=True))
        for _ in range(batches):
            next(iterator)
        return [mg.rand(1, device="reference").item(), random.random(), np.random.randn(), np.random.rand()]

    assert program(0) == program(1) == program(4)


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.PCG64])
def test_numbers_that_a_program_draws_between_batches_are_those_without_batches(bits: Any) -> None:
    before = np.random.get_bit_generator()
    drawn = []
    try:
        for batches in (0, 1):
            np.random.set_bit_generator(bits(3))
            iterator, numbers = iter(DataLoader(Drawn(12), 2)), []
            for k in range(6):
                for _ in range(batches):
                    next(iterator)
                numbers += [np.random.randn() for _ in range(k % 3)]  # an odd count leaves one set aside
            drawn.append(numbers)
    finally:
        np.random.set_bit_generator(before)
    assert drawn[0] == drawn[1] and len(drawn[0]) == 6


def test_a_seed_that_nobody_chose_is_an_element_of_int64() -> None:
    class Seeds(data.Dataset):
        def __len__(self) -> int:
            return 40

        def __getitem__(self, i: int) -> int:
            return mg.initial_seed()

    seeds = [seed for batch in DataLoader(Seeds(), 2, generator=mg.Generator(3)) for seed in batch.tolist()]
    assert len(set(seeds)) == 20 and max(seeds) > 2**60
    assert max(mg.Generator().seed for _ in range(40)) < 2**63


def test_the_same_seed_gives_the_same_random_numbers_and_another_epoch_others() -> None:
    def epochs(seed: int) -> list[Any]:
        loader = DataLoader(Drawn(6), 2, generator=mg.Generator(seed))
        return [facts(list(loader)) for _ in range(2)]

    first, second = epochs(0)
    assert epochs(0) == [first, second] and first != second and epochs(1)[0] != first


# ---- resuming -------------------------------------------------------------------------------------------------------


class Own:
    """A sampler that draws from the generator of the loader."""

    def __init__(self, generator: mg.Generator) -> None:
        self.generator = generator

    def __iter__(self) -> Any:
        return iter(data.RandomSampler(range(11), generator=self.generator))

    def __len__(self) -> int:
        return 11


def loaders(kind: str) -> DataLoader[Any]:
    """A new loader as a program makes it when it starts."""
    mg.manual_seed(5)
    if kind == "default generator":
        return DataLoader(Drawn(11), 2, shuffle=True)
    if kind == "own generator":
        return DataLoader(Drawn(11), 2, shuffle=True, generator=mg.Generator(3))
    if kind == "generator of the sampler":
        return DataLoader(Drawn(11), 2, sampler=data.RandomSampler(range(11), True, 9, generator=mg.Generator(4)))
    if kind == "sampler of its own":
        generator = mg.Generator(6)
        return DataLoader(Drawn(11), 2, sampler=Own(generator), generator=generator)
    if kind == "weights":
        sampler = data.WeightedRandomSampler(np.arange(1.0, 12.0), 7, generator=mg.Generator(4))
        return DataLoader(Drawn(11), batch_sampler=data.BatchSampler(sampler, 3, True))
    if kind == "distributed":
        return DataLoader(Drawn(11), 2, sampler=data.DistributedSampler(range(11), 2, 1))
    return DataLoader(Stream(11), 2)


KINDS = ("default generator", "own generator", "generator of the sampler", "sampler of its own", "weights",
         "distributed", "stream")  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_is_resumed_after_any_batch(kind: str) -> None:
    loader, whole, states = loaders(kind), [], []
    position = default_generator
    for _ in range(3):
        for batch in loader:
            whole.append(facts(batch))
            states.append((len(whole), loader.state_dict(), (position.seed, position.offset)))
        states.append((len(whole), loader.state_dict(), (position.seed, position.offset)))
    for count, state, default in states:
        loader = loaders(kind)
        loader.load_state_dict(state)
        position.seed, position.offset = default
        rest = [facts(batch) for _ in range(3) for batch in loader]
        assert rest[: len(whole) - count] == whole[count:]


def test_the_epoch_that_is_set_after_a_state_was_loaded_counts() -> None:
    """An epoch that has ended leaves its number in the state; the next one is what the caller sets."""
    sampler, orders = data.DistributedSampler(range(11), 2, 1), []
    loader = DataLoader(range(11), 2, sampler=sampler)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        orders.append(facts(list(loader)))
        state = loader.state_dict()
        again = data.DistributedSampler(range(11), 2, 1)
        resumed = DataLoader(range(11), 2, sampler=again)
        resumed.load_state_dict(state)
        again.set_epoch(epoch + 1)
        following = facts(list(resumed))
        assert following not in orders
        sampler.set_epoch(epoch + 1)
        assert following == facts(list(loader))


def test_a_state_goes_on_after_a_break_and_is_kept_until_it_is_used() -> None:
    loader = DataLoader(range(6), 2, shuffle=True, generator=mg.Generator(0))
    first = next(iter(loader)).tolist()
    state = loader.state_dict()
    assert state["batches"] == 1 and not state["done"]
    other = DataLoader(range(6), 2, shuffle=True, generator=mg.Generator(9))
    other.load_state_dict(state)
    assert other.state_dict() == state
    rest = [i for batch in other for i in batch.tolist()]
    assert sorted(first + rest) == list(range(6))
    assert other.state_dict()["done"]
    with pytest.raises(ArgumentError, match="expected the state of a DataLoader, got a dict without"):
        other.load_state_dict({"batches": 1})


def test_a_state_of_a_loader_that_has_not_begun_begins() -> None:
    loader = DataLoader(range(6), 2, shuffle=True, generator=mg.Generator(0))
    state = loader.state_dict()
    whole = facts(list(loader))
    loader.load_state_dict(state)
    assert facts(list(loader)) == whole


def test_names_of_pytorch_lead_to_it() -> None:
    import minigrad.utils.data as names

    assert names.DataLoader is mg.utils.data.DataLoader is mg.data.DataLoader is DataLoader
    assert mg.utils.checkpoint.checkpoint is mg.checkpoint
    assert names.distributed.DistributedSampler is data.DistributedSampler
    with pytest.raises(AttributeError, match=r"module 'minigrad\.data' has no attribute 'nonsense'"):
        data.nonsense


def test_without_a_device_memory_is_not_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minigrad.data.loader.cuda_is_available", lambda: False)
    monkeypatch.setattr("minigrad.data.loader._warned", [])
    with pytest.warns(UserWarning, match="no CUDA device can be used") as warned:
        for _ in range(3):
            assert [b.tolist() for b in DataLoader(range(3), 2, pin_memory=True)] == [[0, 1], [2]]
    assert len(warned) == 1
    monkeypatch.setattr("minigrad.data.loader.cuda_is_available", lambda: True)
    monkeypatch.setattr(mg.Tensor, "pin_memory", lambda x, device=None: (x.tolist(), device))
    ((pair, named),) = DataLoader([(1, {"a": 2})], pin_memory=True)
    assert pair == ([1], None) and named == {"a": ([2], None)}
    loader = DataLoader(range(1), pin_memory=True, pin_memory_device="cuda:1")
    assert list(loader) == [([0], "cuda:1")]


@pytest.mark.torch
@pytest.mark.parametrize("module", ["dataset", "sampler", "dataloader"])
def test_modules_of_pytorch_have_their_public_names(module: str) -> None:
    import importlib

    pytest.importorskip("torch")
    ours = importlib.import_module(f"minigrad.utils.data.{module}")
    theirs = importlib.import_module(f"torch.utils.data.{module}")
    assert set(ours.__all__) >= set(theirs.__all__) & set(data.__all__)
    assert all(hasattr(theirs, name) for name in ours.__all__)
