"""Datasets, splits, samplers and collating: PyTorch's lengths, orders and structures."""

from __future__ import annotations

import itertools
from collections import Counter, OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad import data
from minigrad.errors import ArgumentError, IndexOutOfRange, ShapeError

Pair = namedtuple("Pair", "left right")


def plain(value: Any) -> Any:
    """A structure with lists of numbers instead of tensors, of ours or of PyTorch's."""
    if hasattr(value, "tolist"):
        return [str(value.dtype).rpartition(".")[2], value.tolist()]
    if isinstance(value, dict):
        return type(value)((key, plain(each)) for key, each in value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value).__name__, [plain(each) for each in value]
    if isinstance(value, (list, tuple)):
        return type(value)([plain(each) for each in value])
    return value


# ---- datasets -------------------------------------------------------------------------------------------------------


def test_a_tensor_dataset_has_a_tuple_per_index_and_a_list_per_batch() -> None:
    ds = data.TensorDataset(mg.arange(6, device="reference").reshape(3, 2), mg.tensor([7, 8, 9], device="reference"))
    assert len(ds) == 3 and plain(ds[1]) == (["int64", [2, 3]], ["int64", 8])
    assert plain(ds.__getbatch__(np.array([2, 0]))) == [["int64", [[4, 5], [0, 1]]], ["int64", [9, 7]]]
    assert [int(y.item()) for _, y in ds] == [7, 8, 9]


def test_tensors_of_different_lengths_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"the same length in their first dim, got \(2,\), \(3,\)"):
        data.TensorDataset(np.zeros(2), np.zeros(3))
    with pytest.raises(ShapeError, match=r"got \(\)"):
        data.TensorDataset(np.zeros(()))
    with pytest.raises(ArgumentError, match="expected tensors or arrays, got"):
        data.TensorDataset([1, 2])
    with pytest.raises(ArgumentError, match="got none"):
        data.TensorDataset()


def test_concatenated_datasets_have_their_samples_in_turn() -> None:
    both = data.ConcatDataset([range(3), "ab", range(10, 11)])
    assert len(both) == 6 and list(both) == [0, 1, 2, "a", "b", 10] and both[-1] == 10 and both[-6] == 0
    with pytest.raises(IndexOutOfRange, match="index must be from -6 to 5, got 6"):
        both[6]
    with pytest.raises(ArgumentError, match="use ChainDataset"):
        data.ConcatDataset([data.IterableDataset()])
    with pytest.raises(ArgumentError, match="got none"):
        data.ConcatDataset([])


def test_a_sum_of_datasets_is_their_concatenation() -> None:
    class Three(data.Dataset):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, i: int) -> int:
            return range(3)[i]

    class Two(data.IterableDataset):
        def __iter__(self) -> Any:
            return iter("ab")

    assert list(Three() + Three()) == [0, 1, 2, 0, 1, 2] and list(Two() + Two()) == ["a", "b", "a", "b"]
    with pytest.raises(ArgumentError, match="expected IterableDatasets"):
        list(data.ChainDataset([range(3)]))
    with pytest.raises(NotImplementedError, match="define __getitem__"):
        data.Dataset()[0]


def test_a_stack_has_tuples_or_dicts() -> None:
    assert data.StackDataset(range(2), "ab")[1] == (1, "b")
    assert data.StackDataset(n=range(2), c="ab")[0] == {"n": 0, "c": "a"}
    assert len(data.StackDataset(range(2))) == 2
    for wrong in ({}, {"n": range(2), "c": "abc"}):
        with pytest.raises(ArgumentError, match=r"StackDataset: expected (at least one dataset|datasets)"):
            data.StackDataset(**wrong)


def test_a_stack_reads_several_samples_with_the_method_of_a_dataset() -> None:
    class Several(data.Dataset):
        count = 0

        def __len__(self) -> int:
            return 3

        def __getitems__(self, indices: list[int]) -> list[int]:
            return [10 * i for i in indices][self.count :]

    tens = Several()
    assert data.StackDataset(tens, "abc").__getitems__([2, 0]) == [(20, "c"), (0, "a")]
    assert data.StackDataset(n=tens, c="abc").__getitems__([1]) == [{"n": 10, "c": "b"}]
    (batch,) = data.DataLoader(data.Subset(data.StackDataset(tens, range(3)), [2, 1]), batch_size=2)
    assert [part.tolist() for part in batch] == [[20, 10], [2, 1]]
    tens.count = 1
    with pytest.raises(ValueError, match=r"expected 2 samples of __getitems__, got \[1, 2\]"):
        data.StackDataset(tens, "abc").__getitems__([0, 1])
    with pytest.raises(IndexError):
        data.StackDataset("abc").__getitems__([0, 3])


def test_a_subset_gathers_by_its_dataset_unless_a_class_redefines_its_samples() -> None:
    class Shifted(data.TensorDataset):
        def __getitem__(self, i: Any) -> Any:
            return tuple(x + 100 for x in super().__getitem__(i))

    x = np.arange(5)
    for kind, shift in ((data.TensorDataset, 0), (Shifted, 100)):
        part = data.Subset(kind(x), [4, 1, 2])
        (batch,) = data.DataLoader(part, batch_size=3)
        assert batch[0].tolist() == [4 + shift, 1 + shift, 2 + shift]
        assert [int(each.item()) for (each,) in part] == batch[0].tolist()
    assert hasattr(data.Subset(data.TensorDataset(x), [0]), "__getbatch__")
    assert not hasattr(data.Subset("abc", [0]), "__getbatch__")
    assert data.Subset("abcd", [3, 1]).__getitems__([1, 0]) == ["b", "d"]


LENGTHS = [(10, [3, 7]), (10, [0.3, 0.7]), (11, [0.5, 0.5]), (7, [0.3, 0.3, 0.4]), (5, [5]), (3, [1, 2, 0]), (1, [1.0])]


@pytest.mark.parametrize(("n", "lengths"), LENGTHS)
def test_a_split_has_every_sample_once(n: int, lengths: list[float]) -> None:
    parts = data.random_split(range(n), lengths, generator=mg.Generator(0))
    assert sorted(i for part in parts for i in part) == list(range(n))
    again = data.random_split(range(n), lengths, generator=mg.Generator(0))
    assert [part.indices for part in again] == [part.indices for part in parts]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Length of split")
@pytest.mark.parametrize(("n", "lengths"), LENGTHS)
def test_a_split_has_the_lengths_of_pytorch(n: int, lengths: list[float]) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.utils.data.random_split(range(n), lengths)
    assert [len(part) for part in data.random_split(range(n), lengths)] == [len(part) for part in theirs]


def test_a_split_of_other_lengths_is_refused() -> None:
    for lengths in ([3, 3], [0.5, 0.4], [-1, 11], [1.5, -0.5]):
        with pytest.raises(ArgumentError, match=r"random_split: (lengths must|expected lengths|a fraction)"):
            data.random_split(range(10), lengths)
    with pytest.raises(ArgumentError, match=r"must be a mg\.Generator"):
        data.random_split(range(10), [10], generator=3)


# ---- samplers -------------------------------------------------------------------------------------------------------


def test_random_orders_are_those_of_the_seed() -> None:
    frozen = {1: [3, 2, 0, 1, 4], 2: [1, 4, 0, 3, 2]}
    for seed, order in frozen.items():
        sampler = data.RandomSampler(range(5), generator=mg.Generator(seed))
        assert list(sampler) == order
    assert list(sampler) != order  # the next epoch
    mg.manual_seed(2)
    assert list(data.RandomSampler(range(5))) == frozen[2]


def test_a_random_sampler_draws_permutations_or_with_replacement() -> None:
    g = mg.Generator(0)
    many = list(data.RandomSampler(range(4), num_samples=10, generator=g))
    assert sorted(many[:4]) == sorted(many[4:8]) == [0, 1, 2, 3] and len(many) == 10 and len(set(many[8:])) == 2
    drawn = list(data.RandomSampler(range(4), replacement=True, num_samples=4000, generator=g))
    assert len(drawn) == 4000 and all(900 < count < 1100 for count in Counter(drawn).values())
    assert sorted(data.SubsetRandomSampler([5, 7, 9], g)) == [5, 7, 9]
    assert list(data.RandomSampler([])) == []


def test_an_epoch_may_have_more_indices_than_fit_into_memory() -> None:
    # minGPT's trainer draws int(1e10) samples, and takes as many batches as it needs.
    for sampler in (
        data.RandomSampler(range(7), replacement=True, num_samples=10**12), data.SequentialSampler(range(10**12)),
        data.WeightedRandomSampler([1.0, 2.0], 10**12), data.RandomSampler(range(7), num_samples=10**12),
    ):  # fmt: skip
        assert len(sampler) == 10**12
        assert len(list(itertools.islice(sampler, 70_000))) == 70_000
        batches = itertools.islice(data.BatchSampler(sampler, 1000, False).arrays(), 70)
        assert [len(batch) for batch in batches] == [1000] * 70


def test_batches_go_on_from_one_array_of_indices_to_the_next() -> None:
    for drop, count in ((False, 47), (True, 46)):
        batches = data.DataLoader(range(70_000), batch_size=1500, drop_last=drop)
        whole = [x for batch in batches for x in batch.tolist()]
        assert len(batches) == count and whole == list(range(70_000 if not drop else 69_000))
    loader = data.DataLoader(range(4), batch_size=3, sampler=data.RandomSampler(range(4), num_samples=10))
    whole = [x for batch in loader for x in batch.tolist()]
    assert sorted(whole[:4]) == sorted(whole[4:8]) == [0, 1, 2, 3] and len({*whole[8:]}) == 2


def test_a_sampler_draws_at_its_first_index() -> None:
    sampler = data.RandomSampler(range(50))
    orders = []
    for each in (iter(sampler), iter(sampler)):  # both iterators exist before the first draw
        mg.manual_seed(0)
        orders.append(list(each))
    assert orders[0] == orders[1]


def test_weights_are_probabilities() -> None:
    g = mg.Generator(0)
    drawn = Counter(data.WeightedRandomSampler([1.0, 0.0, 3.0], 8000, generator=g))
    assert set(drawn) == {0, 2} and abs(drawn[2] / 8000 - 0.75) < 0.02
    firsts = Counter(next(iter(data.WeightedRandomSampler([1, 0, 3], 2, False, g))) for _ in range(2000))
    assert set(firsts) == {0, 2} and abs(firsts[2] / 2000 - 0.75) < 0.04
    with pytest.raises(ArgumentError, match="at most 2, the number of positive weights, got 3"):
        data.WeightedRandomSampler([1, 0, 3], 3, False)
    for weights in ([], [-1.0], [0.0], [float("nan")], [[1.0]]):
        with pytest.raises(ArgumentError, match="expected finite weights"):
            data.WeightedRandomSampler(weights, 1)


@pytest.mark.torch
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 13])
def test_batches_and_shares_are_those_of_pytorch(n: int, drop_last: bool) -> None:
    theirs = pytest.importorskip("torch").utils.data
    for size in (1, 3, 8):
        ours = data.BatchSampler(data.SequentialSampler(range(n)), size, drop_last)
        other = theirs.BatchSampler(theirs.SequentialSampler(range(n)), size, drop_last)
        assert list(ours) == list(other) == [batch.tolist() for batch in ours.arrays()] and len(ours) == len(other)
    for replicas in (1, 2, 4) if n else ():
        for rank in range(replicas):
            one = data.DistributedSampler(range(n), replicas, rank, shuffle=False, drop_last=drop_last)
            two = theirs.DistributedSampler(range(n), replicas, rank, shuffle=False, drop_last=drop_last)
            assert list(one) == list(two) and len(one) == len(two)


def test_the_shares_of_processes_are_one_permutation_per_epoch() -> None:
    def whole(epoch: int) -> list[int]:
        shares = [data.DistributedSampler(range(9), 3, rank, seed=5) for rank in range(3)]
        for share in shares:
            share.set_epoch(epoch)
        return [i for share in shares for i in share]

    assert sorted(whole(0)) == sorted(whole(1)) == list(range(9)) and whole(0) != whole(1) and whole(0) == whole(0)
    with pytest.raises(ArgumentError, match="rank: expected 0 to 1, got 2"):
        data.DistributedSampler(range(9), 2, 2)


def test_counts_that_are_no_counts_are_refused() -> None:
    for size in (0, -1, 2.0, True):
        with pytest.raises(ArgumentError, match=r"BatchSampler: batch_size must be (positive|an int), got"):
            data.BatchSampler(range(3), size, False)
        with pytest.raises(ArgumentError, match=r"RandomSampler: num_samples must be (positive|an int), got"):
            data.RandomSampler(range(3), num_samples=size)


# ---- collating ------------------------------------------------------------------------------------------------------

BATCHES: dict[str, Any] = {
    "ints": [1, 2], "floats": [1.5, 2.0], "bools": [True, False], "texts": ["a", "b"], "bytes": [b"a", b"b"],
    "arrays": [np.ones(2, np.float32), np.zeros(2, np.float32)], "scalars of NumPy": [np.float32(1), np.float32(2)],
    "0-d arrays": [np.array(1), np.array(2)], "tuples": [(1, "a"), (2, "b")], "lists": [[1, 2.0], [3, 4.0]],
    "dicts": [{"x": 1, "y": (2, 3)}, {"x": 4, "y": (5, 6)}], "named tuples": [Pair(1, 2.0), Pair(3, 4.0)],
    "ordered dicts": [OrderedDict(b=1, a=2), OrderedDict(b=3, a=4)], "nested": [([np.int64(1)], {"k": [b"x"]})] * 2,
}  # fmt: skip
FROZEN = {
    "ints": ["int64", [1, 2]], "floats": ["float64", [1.5, 2.0]], "bools": ["bool", [True, False]],
    "texts": ["a", "b"], "bytes": [b"a", b"b"], "arrays": ["float32", [[1.0, 1.0], [0.0, 0.0]]],
    "scalars of NumPy": ["float32", [1.0, 2.0]], "0-d arrays": ["int64", [1, 2]],
    "tuples": [["int64", [1, 2]], ("a", "b")], "lists": [["int64", [1, 3]], ["float64", [2.0, 4.0]]],
    "dicts": {"x": ["int64", [1, 4]], "y": [["int64", [2, 5]], ["int64", [3, 6]]]},
    "named tuples": ("Pair", [["int64", [1, 3]], ["float64", [2.0, 4.0]]]),
    "ordered dicts": OrderedDict(b=["int64", [1, 3]], a=["int64", [2, 4]]),
    "nested": [[["int64", [1, 1]]], {"k": [(b"x", b"x")]}],
}  # fmt: skip


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_has_the_structure_of_its_samples(name: str) -> None:
    batch = data.default_collate(BATCHES[name])
    assert plain(batch) == FROZEN[name]


@pytest.mark.torch
@pytest.mark.parametrize("name", BATCHES)
def test_structures_are_those_of_pytorch(name: str) -> None:
    theirs = pytest.importorskip("torch").utils.data
    batch = data.default_collate(BATCHES[name])
    assert plain(batch) == plain(theirs.default_collate(BATCHES[name]))
    assert type(batch).__name__ == type(theirs.default_collate(BATCHES[name])).__name__
    for sample in BATCHES[name]:
        assert plain(data.default_convert(sample)) == plain(theirs.default_convert(sample))


def test_tensors_are_stacked_on_their_device() -> None:
    for device in ("cpu", "reference"):
        batch = data.default_collate([mg.tensor([1.0, 2.0], device=device), mg.tensor([3.0, 4.0], device=device)])
        assert batch.tolist() == [[1.0, 2.0], [3.0, 4.0]] and batch.device.kind == device


def test_samples_that_do_not_go_together_are_refused_with_advice() -> None:
    for device in ("cpu", "reference"):
        with pytest.raises(ArgumentError, match="pass a collate_fn that pads"):
            data.default_collate([mg.tensor([1.0], device=device), mg.tensor([1.0, 2.0], device=device)])
    with pytest.raises(ArgumentError, match=r"expected samples of the same shape, got \(1,\), \(2,\)"):
        data.default_collate([np.zeros(1), np.zeros(2)])
    with pytest.raises(ArgumentError, match=r"the same length, got lengths \[1, 2\]"):
        data.default_collate([(1,), (1, 2)])
    with pytest.raises(ArgumentError, match="expected tensors, arrays, numbers"):
        data.default_collate([object(), object()])
