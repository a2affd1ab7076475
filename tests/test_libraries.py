"""Other libraries with tensors: what docs/howto/libraries.md states, for each library that is installed."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as mg

pytestmark = pytest.mark.usefixtures("reference")


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed; see `make test-libraries`")


def grid(*shape: int, requires_grad: bool = False) -> Any:
    return mg.tensor(np.sin(np.arange(np.prod(shape)) + 1.0).reshape(shape), requires_grad=requires_grad)


@pytest.mark.parametrize("order", ["minigrad, einops, opt_einsum", "einops, opt_einsum, opt_einsum.backends, minigrad"])
def test_the_order_of_imports_does_not_matter(order: str) -> None:
    library("einops"), library("opt_einsum")
    text = f"import {order}; mg, oe = minigrad, opt_einsum; x = mg.ones(2, 3, device='reference', requires_grad=True);"
    text += "y = einops.rearrange(x, 'a b -> b a'); z = oe.contract('ab,bc->', y, x); z.backward();"
    text += "from einops.layers.minigrad import Reduce; "
    text += "print(z.item(), x.grad.tolist(), Reduce('a b -> a', 'sum')(x).shape)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.stdout == "18.0 [[6.0, 6.0, 6.0], [6.0, 6.0, 6.0]] (2,)\n", done.stderr


EINOPS = {
    "rearrange": lambda e, x: e.rearrange(x, "b (h w) c -> b w (h c)", w=3),
    "repeat": lambda e, x: e.repeat(x, "b n c -> b (r n) c d", r=2, d=3),
    "einsum": lambda e, x: e.einsum(x, x, "b i c, b j c -> b i j"),
    "pack": lambda e, x: e.pack([x, x[:, 0]], "b * c")[0],
    "unpack": lambda e, x: e.unpack(x, [(), (5,)], "b * c")[1],
} | {op: lambda e, x, op=op: e.reduce(x, "b (h w) c -> h c", op, w=2) for op in ("min", "max", "sum", "mean", "prod")}


def test_einops_computes_what_it_computes_on_arrays_with_gradients_under_vmap_and_jit() -> None:
    einops = library("einops")
    for name, call in EINOPS.items():
        x = grid(2, 6, 4)
        np.testing.assert_allclose(call(einops, x).numpy(), call(einops, x.numpy()), 1e-12, err_msg=name)
        assert mg.testing.gradcheck(lambda x, call=call: call(einops, x), [grid(2, 6, 4, requires_grad=True)]), name
        rows = mg.vmap(lambda row, call=call: call(einops, row))(mg.stack([x, -x]))
        np.testing.assert_array_equal(rows[1].numpy(), call(einops, -x).numpy(), name)
        jitted = mg.jit(lambda x, call=call: call(einops, x) * 2)
        for k in range(3):
            np.testing.assert_array_equal(jitted(x + k).numpy(), (call(einops, x + k) * 2).numpy(), name)
    for op in ("any", "all"):
        mask = grid(2, 6, 4) > 0.2
        assert np.array_equal(einops.reduce(mask, "b n c -> n", op), einops.reduce(mask.numpy(), "b n c -> n", op))
    assert einops.parse_shape(grid(2, 3), "a _") == {"a": 2} and isinstance(einops.asnumpy(grid(2)), np.ndarray)


def test_layers_of_einops_are_modules(tmp_path: Path) -> None:
    library("einops")
    from einops.layers.minigrad import EinMix, Rearrange, Reduce

    mix = EinMix("b (h w) c -> b h w d", weight_shape="c d", bias_shape="d", w=3, c=4, d=2)
    net = mg.nn.Sequential(mix, Rearrange("b h w d -> b (h w d)"), Reduce("b (n two) -> b n", "max", two=2))
    x = mg.tensor(grid(2, 6, 4), dtype=mg.float32)
    wanted = (x @ mix.weight.reshape(4, 2) + mix.bias.reshape(2)).amax(-1)
    np.testing.assert_allclose(net(x).detach(), wanted.detach(), 1e-6)
    net(x).sum().backward()
    assert [name for name, p in net.named_parameters() if p.grad is not None] == ["0.weight", "0.bias"]
    assert "Reduce('b (n two) -> b n', 'max', two=2)" in str(net)
    mg.save(net.state_dict(), tmp_path / "net.safetensors")
    mix.weight.data.zero_()
    net.load_state_dict(mg.load(tmp_path / "net.safetensors"))
    np.testing.assert_allclose(net(x).detach(), wanted.detach(), 1e-6)


def test_opt_einsum_contracts_tensors() -> None:
    oe = library("opt_einsum")
    a, b, c = (grid(*shape, requires_grad=True) for shape in ((2, 3), (3, 4), (4, 2)))
    for text in ("ij,jk,kl->il", "ij,jk,kl->li", "ij,jk,ki->"):
        result = oe.contract(text, a, b, c)
        np.testing.assert_allclose(
            result.numpy(force=True), np.einsum(text, *(x.numpy(force=True) for x in (a, b, c))), 1e-12
        )
        assert mg.testing.gradcheck(lambda *xs, text=text: oe.contract(text, *xs), [a, b, c])
    expression = oe.contract_expression("ij,jk->ik", a, (3, 4), constants=[0])
    assert isinstance(expression(b), mg.Tensor)


def test_data_of_other_libraries_becomes_tensors() -> None:
    pandas = library("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    assert mg.tensor(frame).tolist() == [[1.0, 3.0], [2.0, 4.0]] and mg.tensor(frame["b"]).dtype is mg.int64
    assert pandas.DataFrame(grid(2, 3)).shape == (2, 3) and pandas.Series(grid(2)).dtype == np.float64
    with pytest.raises(mg.MinigradError, match="object"):
        mg.tensor(pandas.Series(["a", "b"]))


def test_an_object_with_an_array_protocol_becomes_a_tensor() -> None:
    class Picture:
        __array_interface__ = np.arange(4, dtype=np.uint8).__array_interface__

    class Column:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.arange(3.0)

    assert mg.tensor(Picture()).dtype is mg.uint8 and mg.as_tensor(Column()).tolist() == [0.0, 1.0, 2.0]
    assert mg.tensor(Column(), dtype=mg.int32).dtype is mg.int32


def test_h5py_stores_and_returns_tensors(tmp_path: Path) -> None:
    h5py = library("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = grid(4, 3)
    with h5py.File(tmp_path / "a.h5") as file:
        assert mg.tensor(file["x"]).equal(grid(4, 3)) and mg.tensor(file["x"][1:]).shape == (3, 3)


def test_matplotlib_draws_tensors() -> None:
    library("matplotlib").use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    x, picture = grid(5), grid(4, 4)
    axes.plot(x), axes.scatter(x, x, c=x), axes.hist(x), axes.bar(mg.arange(5), x), axes.fill_between(x, x, x + 1)
    axes.errorbar(mg.arange(5), x, yerr=x.abs()), axes.imshow(picture), axes.contourf(picture)
    figure.savefig(io.BytesIO())
    pyplot.close(figure)


def test_scipy_minimizes_with_gradients_of_minigrad() -> None:
    optimize, special = library("scipy.optimize"), library("scipy.special")

    def value_and_gradient(point: Any) -> tuple[float, Any]:
        x = mg.tensor(point, requires_grad=True)
        loss = ((x - mg.tensor([1.0, 2.0], dtype=mg.float64)) ** 2).sum()
        loss.backward()
        return loss.item(), x.grad.numpy()

    np.testing.assert_allclose(optimize.minimize(value_and_gradient, [0.0, 0.0], jac=True).x, [1.0, 2.0], 1e-6)
    for name in ("expit", "erf", "ndtr", "psi", "xlogy"):
        function, x = getattr(special, name), grid(3).abs() + 0.5
        operands = [x, x + 1][: 2 if name == "xlogy" else 1]
        np.testing.assert_allclose(function(*operands), function(*(v.numpy() for v in operands)), 1e-10)
        assert mg.testing.gradcheck(lambda *xs, f=function: f(*xs), [x.requires_grad_() for x in operands]), name


def test_scikit_learn_fits_tensors() -> None:
    linear = library("sklearn.linear_model")
    x = mg.tensor(np.random.default_rng(0).normal(size=(40, 3)))
    model = linear.LogisticRegression().fit(x, x[:, 0] > 0)
    assert library("sklearn.metrics").accuracy_score(x[:, 0] > 0, mg.tensor(model.predict(x))) > 0.9


def test_tqdm_rich_and_optuna_take_tensors() -> None:
    bar = library("tqdm").tqdm(grid(3), file=io.StringIO())
    assert len(bar) == 3 and sum(1 for _ in bar) == 3
    bar.set_postfix(loss=mg.tensor(0.25))
    library("rich.console").Console(file=io.StringIO()).print(grid(2), {"x": grid(2)})
    optuna = library("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study()
    study.optimize(lambda trial: (mg.tensor(trial.suggest_float("v", -1, 1)) - 0.3) ** 2, n_trials=3)
    assert isinstance(study.best_value, float)


def test_safetensors_of_both_sides(tmp_path: Path) -> None:
    numpys = library("safetensors.numpy")
    numpys.save_file({"x": grid(2, 3).numpy()}, tmp_path / "theirs.safetensors")
    assert mg.load(tmp_path / "theirs.safetensors")["x"].equal(grid(2, 3))
    mg.save({"x": grid(2, 3)}, tmp_path / "ours.safetensors")
    assert np.array_equal(numpys.load_file(tmp_path / "ours.safetensors")["x"], grid(2, 3))


def test_a_summary_writer_writes_events_of_tensors(tmp_path: Path) -> None:
    library("tensorboardX")
    from minigrad.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path), write_to_disk=True) as writer:
        writer.add_scalar("loss", grid(2, requires_grad=True).sum(), 1)
        writer.add_scalars("both", {"a": mg.tensor(1.0)}, 1)
        writer.add_histogram("weights", grid(8), 1)
        writer.add_image("picture", mg.rand(3, 4, 4), 1)
        with pytest.raises(mg.MinigradError, match=r"mg.viz.graph"):
            writer.add_graph(mg.nn.Linear(2, 2))
    assert any(b"loss" in path.read_bytes() for path in tmp_path.rglob("events*"))


def test_tokens_and_rows_of_hugging_face() -> None:
    tokenizers = library("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="?"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(
        ["a bb ab"], tokenizers.trainers.BpeTrainer(special_tokens=["?"], show_progress=False)
    )
    tokenizer.enable_padding()
    ids = mg.tensor([line.ids for line in tokenizer.encode_batch(["a bb", "ab ab a"])])
    assert ids.shape == (2, 3) and tokenizer.decode(ids[1]) == "ab ab a"
    table = library("datasets").Dataset.from_dict({"x": [[1.0, 2.0], [3.0, 4.0]], "y": [0, 1]})
    batch = next(iter(mg.data.DataLoader(table.with_format("numpy"), batch_size=2)))
    assert batch["x"].tolist() == [[1.0, 2.0], [3.0, 4.0]] and batch["y"].dtype is mg.int64


def test_numbers_of_tensors_are_json() -> None:
    assert (
        json.dumps({"x": grid(2).round(decimals=2).tolist(), "n": mg.tensor(3).item()}) == '{"x": [0.84, 0.91], "n": 3}'
    )
