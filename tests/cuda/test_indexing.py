"""Gathers and additions by index on CUDA: rows by wide loads; by atomic steps, by lines, and sorted, in every order of
threads the same."""

import numpy as np
import pytest
from cases import over, unless_full
from cuda_mistakes import break_text, noticed

import minigrad as mg
from minigrad.backends.cuda import indexing
from minigrad.config import announce
from minigrad.errors import IndexOutOfRange

ORDERS = [("forward", 0), ("reverse", 0), ("random", 1)]


@pytest.fixture
def sorts(monkeypatch):
    """Lines of two indices are sorted, which a simulator is quick with."""
    monkeypatch.setattr(indexing, "FEW", 1)
    announce()
    yield
    announce()


def numbers(shape, dtype="float32", seed=0):
    return mg.tensor(np.random.default_rng(seed).integers(0, 2 if dtype == "bool" else 5, shape), dtype=dtype)


def places(size, shape, seed=1):
    return mg.tensor(np.random.default_rng(seed).integers(-size, size, shape))


# ---- gathers


@over("dtype", ["bool", "float16", "float32", "float64"])
@over(("cols", "wide"), [(16, True), (8, None), (3, False), (33, None)])
def test_rows_are_read_by_loads_as_wide_as_they_begin(kernels_of, simulator, dtype, cols, wide):
    x, index = numbers((5, cols), dtype), places(5, (7,))
    found, used = kernels_of(lambda: mg.index_select(x.cuda(), 0, index.cuda()))
    assert found.tolist() == mg.index_select(x, 0, index).tolist()
    assert ("gather_rows" in used) is (cols != 3)
    if wide:
        assert f"_by{16 // x.dtype.itemsize}" in used


def test_gathers_of_all_layouts_in_every_order(order):
    x = numbers((6, 5, 40))
    y = x.cuda()
    for a, b in ((x, y), (x[:, ::2, 3:], y[:, ::2, 3:]), (x.permute(2, 0, 1), y.permute(2, 0, 1)),
                 (x.flip(1), y.flip(1)), (x[:1].expand(4, 5, 40), y[:1].expand(4, 5, 40))):  # fmt: skip
        for dim in range(3):
            index = places(a.shape[dim], (3,))
            assert mg.index_select(b, dim, index.cuda()).tolist() == mg.index_select(a, dim, index).tolist()
            index = places(a.shape[dim], (2, 3, 2))
            assert mg.gather(b, dim, index.cuda()).tolist() == mg.gather(a, dim, index).tolist()


def test_of_nothing_nothing_is_read_and_what_is_not_there_is_an_error(simulator):
    x = mg.zeros(0, 8, device="cuda")
    assert mg.index_select(x, 0, mg.tensor([], dtype="int64", device="cuda")).shape == (0, 8)
    for k in (0, -1):
        with pytest.raises(IndexOutOfRange):
            mg.index_select(x, 0, mg.tensor([k], device="cuda"))
    for index in ([0, 5], [-6, 0]):
        with pytest.raises(IndexOutOfRange):
            mg.index_select(mg.ones(5, 8, device="cuda"), 0, mg.tensor(index, device="cuda"))


# ---- additions


def expected(x, dim, index, src):
    """What NumPy adds, index by index, in float64."""
    total = x.numpy().astype(np.float64)
    full = np.broadcast_to(index.numpy().reshape([-1 if d == dim else 1 for d in range(x.ndim)]), src.shape)
    full = index.numpy() if index.ndim == x.ndim and index.shape == src.shape else full
    at = list(np.indices(src.shape))
    at[dim] = full
    np.add.at(total, tuple(at), src.numpy())
    return total


WAYS = {"add_lines": ("float32", 64, True), "add_runs": ("float32", 1, True), "add_each": ("float32", 1, False)}


@unless_full(lambda order, way: way != "add_runs" or order[0] == "random")
@pytest.mark.parametrize("way", WAYS)
def test_each_way_of_adding_in_every_order(kernels_of, order, monkeypatch, way):
    dtype, few, deterministic = WAYS[way]
    monkeypatch.setattr(indexing, "FEW", few)
    x = numbers((3, 4, 5), dtype)
    with mg.cuda.deterministic(deterministic):
        for dim in range(3):
            shape = tuple(40 if d == dim else n for d, n in enumerate(x.shape))
            src, index = numbers(shape, dtype, 2), places(x.shape[dim], (40,))
            there = x.cuda(), dim, index.cuda(), src.cuda()
            found, used = kernels_of(lambda there=there: mg.index_add(*there))
            assert way in used and np.array_equal(found.numpy(), expected(x, dim, index, src))
        # An index for each line, of fewer lines than there are; strides of all kinds.
        index = places(4, (2, 30, 4)).flip(2)
        src = numbers((31, 10, 3), dtype, 3).permute(2, 0, 1)[:2, 1:, ::2][:, :, :4].flip(1)
        got = mg.scatter_add(x.cuda(), 1, index.cuda(), src.cuda())
        assert got.tolist() == mg.scatter_add(x, 1, index, src).tolist()
    announce()


# One entry and more, a chunk and one more, a block of 256 and one more, chunks of what chunks have left.
@unless_full(lambda n: n in (33, 257))
@pytest.mark.parametrize("n", [2, 31, 32, 33, 64, 65, 255, 256, 257, 600, 1100])
def test_sums_of_chunks_of_every_length(simulator, sorts, n):
    for index in (places(7, (n,)), mg.zeros(n, dtype="int64"), mg.arange(n) % 7, mg.arange(n) // 40 % 7):
        x, src = numbers((7,)), numbers((n,), seed=3)
        found = mg.index_add(x.cuda(), 0, index.cuda(), src.cuda())
        assert np.array_equal(found.numpy(), expected(x, 0, index, src))


def test_keys_of_two_digits_and_indices_of_few_bits(simulator, sorts):
    x, index, src = numbers((300,)), places(300, (70,)), numbers((70,), seed=3)
    assert np.array_equal(mg.index_add(x.cuda(), 0, index.cuda(), src.cuda()).numpy(), expected(x, 0, index, src))
    for dtype in ("uint8", "int8", "int32"):
        narrow = mg.tensor(np.arange(70) % 9, dtype=dtype)
        got = mg.index_add(x.cuda(), 0, narrow.cuda(), src.cuda())
        assert np.array_equal(got.numpy(), expected(x, 0, narrow, src))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float64"])
def test_every_dtype_is_added_as_on_the_cpu(kernels_of, simulator, sorts, dtype):
    x, index, src = numbers((3, 4), dtype), places(3, (50,)), numbers((50, 4), dtype, 2)
    found, used = kernels_of(lambda: mg.index_add(x.cuda(), 0, index.cuda(), src.cuda()))
    assert found.tolist() == mg.index_add(x, 0, index, src).tolist()
    assert ("add_runs" if x.dtype.is_float else "add_each") in used


@pytest.mark.parametrize("few", [1, 64])
def test_sums_are_the_same_to_the_last_bit_whoever_comes_first(simulator, monkeypatch, few):
    monkeypatch.setattr(indexing, "FEW", few)
    announce()
    src = mg.tensor(np.random.default_rng(4).standard_normal((60, 3)), dtype="float32", device="cuda")
    index, found = mg.tensor(np.arange(60) ** 2 % 4, device="cuda"), []
    for order, seed in ORDERS:
        with simulator.ordered(order, seed):
            found.append(mg.index_add(mg.zeros(4, 3, device="cuda"), 0, index, src).numpy().tobytes())
    announce()
    assert len(set(found)) == 1


def test_without_determinism_floats_are_added_as_they_come_and_halves_are_not(simulator, sorts):
    index = mg.tensor([0, 0, 0], device="cuda")

    def sums(dtype):
        found, src = set(), mg.tensor([2.0**15, -(2.0**15), 2.0**-12], dtype=dtype, device="cuda")
        for order in ("forward", "reverse"):
            with simulator.ordered(order):
                found.add(mg.index_add(mg.zeros(1, dtype=dtype, device="cuda"), 0, index, src).item())
        return found

    assert sums("float32") == {2.0**-12}
    with mg.cuda.deterministic(False):
        assert sums("float32") == {2.0**-12, 0.0} and not mg.settings.deterministic
        assert sums("float16") == {2.0**-12} and sums("bfloat16") == {2.0**-12}
    assert mg.settings.deterministic


@pytest.mark.parametrize("way", WAYS)
def test_an_index_out_of_range_is_an_error_whichever_way_is_gone(simulator, monkeypatch, way):
    _, few, deterministic = WAYS[way]
    monkeypatch.setattr(indexing, "FEW", few)
    with mg.cuda.deterministic(deterministic):
        for wrong in (5, -6):
            index = mg.tensor([0, wrong, 1, 1], device="cuda")
            with pytest.raises(IndexOutOfRange, match=str(wrong)):
                mg.index_add(mg.zeros(5, device="cuda"), 0, index, mg.ones(4, device="cuda"))
        none = mg.tensor([], dtype="int64", device="cuda")
        assert mg.index_add(mg.ones(5, device="cuda"), 0, none, mg.zeros(0, device="cuda")).tolist() == [1.0] * 5
    announce()


def test_how_is_chosen_by_shapes_alone(kernels_of, simulator, monkeypatch):
    monkeypatch.setattr(indexing, "MANY", 8)
    for n, cols, way in ((64, 2, "add_lines"), (65, 2, "add_runs"), (65, 8, "add_lines")):
        index, src = mg.zeros(n, dtype="int64", device="cuda"), mg.ones(n, cols, device="cuda")
        found, used = kernels_of(lambda s=src, i=index: mg.index_add(mg.zeros(2, s.shape[1], device="cuda"), 0, i, s))
        assert way in used and found.tolist() == [[float(n)] * cols, [0.0] * cols]


# ---- gradients


def test_gradients_of_what_is_read_by_index(simulator, sorts):
    table, index = numbers((9, 6)), places(9, (4, 10))

    def slopes(device):
        w = table.to(device).requires_grad_()
        rows = mg.nn.functional.embedding(index.to(device) % 9, w, padding_idx=2)
        (rows * rows + mg.gather(w, 0, index[:, :6].to(device)).sum() + w[index[0].to(device)].sum()).sum().backward()
        return w.grad.tolist()

    assert slopes("cuda") == slopes("cpu")


@pytest.mark.parametrize("view", [lambda x: x[1:, ::2], lambda x: x.flip(0)[2], lambda x: x.t()[1:3], lambda x: x[:0],
                                  lambda x: x.unfold(1, 3, 1), lambda x: x[:, 1:5].unfold(0, 2, 2)])  # fmt: skip
def test_gradients_of_views_are_put_back(simulator, sorts, view):
    found = []
    for device in ("cpu", "cuda"):
        x = numbers((4, 6)).to(device).requires_grad_()
        y = view(x)
        (y * y * y).sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]


# ---- mistakes

BARRIER = "        cuda.syncthreads()\n"
MISTAKES = [
    ("move", ("while i < numbers[0]", "while i <= numbers[0]"), "race bounds"),
    ("move", ("atomic_add(out, np.int64(there) + k * numbers[3],", "out.__setitem__(np.int64(there) + k * numbers[3],"),
     "race"),
    ("keys_of", ("while i < numbers[0]", "while i < numbers[0] - 1"), "unwritten"),
    ("tally", ("atomic_add(many, ", "many.__setitem__("), "race"),
    ("tally", (f"{BARRIER}        p", "        p"), "race unwritten"),
    ("tally", (f"{BARRIER}        out", "        out"), "race"),
    ("arrange", (f"{BARRIER}        p", "        p"), "race unwritten"),
    ("arrange", (f"{BARRIER}        if inside", "        if inside"), "race"),
    ("arrange", (f"{BARRIER}        block", "        block"), "race"),
    ("arrange", ("if inside and rank == 0:", "if inside:"), "race"),
    ("arrange", ("for w in range(warp)", "for w in range(0)"), "race"),
    ("add_runs", ("if key < numbers[9]:", "if key <= numbers[9]:"), "unwritten"),
    ("add_runs", ("if col == 0:", "if True:"), "race"),
    ("add_runs", ("np.int32(numbers[9] if begins else key)", "np.int32(numbers[9])"), "wrong"),
    ("add_runs", ("stop = min(p + 32,", "stop = min(p + 33,"), "wrong"),
    ("add_lines", ("while i < numbers[0]", "while i <= numbers[0]"), "race bounds"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "change", "notice"), MISTAKES)
def test_a_mistake_in_these_loops_is_noticed(cuda, simulator, monkeypatch, kind, change, notice):
    break_text(monkeypatch, kind, *change)
    monkeypatch.setattr(indexing, "FEW", 512 if kind == "add_lines" else 1)
    monkeypatch.setattr(cuda, "most", 1)
    x, src, index = numbers((5, 2)), numbers((300, 2), seed=2), mg.arange(300) // 70
    with mg.cuda.deterministic(kind != "move"), simulator.ordered("reverse"):
        announce()
        there = x.cuda(), 0, index.cuda(), src.cuda()
        if notice == "wrong":
            assert not np.array_equal(mg.index_add(*there).numpy(), expected(x, 0, index, src))
        else:
            with noticed(notice):
                mg.index_add(*there)
    announce()


@pytest.mark.parametrize(("change", "notice"), [
    (("while i < numbers[1]", "while i <= numbers[1]"), "bounds race"),
    (("while row < numbers[0]", "while row < numbers[0] - 1"), "unwritten"),
    (("store_4(out, to + i,", "store_4(out, to + i + 1,"), "misaligned"),
    (("cuda.blockDim.x * 4", "cuda.blockDim.x * 8"), "unwritten"),
])  # fmt: skip
def test_a_mistake_in_the_gather_of_rows_is_noticed(cuda, simulator, monkeypatch, change, notice):
    break_text(monkeypatch, "gather_rows", *change)
    monkeypatch.setattr(cuda, "most", 1)
    x, index = numbers((5, 1040)).cuda(), mg.tensor([3, -1], device="cuda")
    with noticed(notice):
        mg.index_select(x, 0, index)


def test_scatters_with_other_functions_and_resampling_are_made_of_what_is_served(cuda):
    x, src = np.arange(12.0).reshape(3, 4) - 5, np.arange(8.0).reshape(2, 4) / 2 - 1.5
    index, image = np.array([[0, 2, -1, 2], [0, 2, 1, 0]]), np.arange(30.0).reshape(1, 2, 3, 5)

    def results(device):
        a, b, i, p = (mg.tensor(v, device=device) for v in (x, src, index, image))
        v = mg.Var(p)
        pooled = mg.nn.functional.adaptive_avg_pool2d(v, 2)
        return [
            mg.scatter(a, 0, i, b),
            mg.scatter_reduce(a, 1, i, b, "prod"),
            mg.scatter_reduce(a, 0, i, b, "amax"),
            mg.scatter_reduce(a, 0, i, b, "amin", include_self=False),
            pooled.detach(),
            mg.grad((pooled * pooled).sum(), v),
            mg.nn.functional.interpolate(p, size=(4, 3), mode="bicubic"),
            mg.nn.functional.interpolate(p, size=(4, 3), mode="bilinear", antialias=True),
            mg.nn.functional.interpolate((p * 8).to("uint8"), size=(4, 3), mode="bicubic"),
        ]

    for mine, wanted in zip(results("cuda"), results("reference")):
        np.testing.assert_allclose(mine.numpy(), wanted.numpy(), rtol=1e-12)
    with pytest.raises(IndexOutOfRange, match="index 3"):
        mg.scatter_reduce(mg.tensor(x, device="cuda"), 0, mg.tensor(index + 1, device="cuda"),
                          mg.tensor(src, device="cuda"), "prod").tolist()  # fmt: skip
