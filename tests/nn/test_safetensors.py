"""Files of safetensors' own library load into our modules, and ours into PyTorch's, with the same outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nn.layer_cases import CASES, Case, build, listed, made, row

import minigrad as mg

torch = pytest.importorskip("torch")
files = pytest.importorskip("safetensors.torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:::torch")]

HERE = "reference"
TOLERANCE = {"float64": 1e-11, "float32": 2e-5, "float16": 1e-2, "bfloat16": 8e-2}
STATEFUL = [each for each in CASES if build(mg.nn, each, "float64").state_dict()]


def outputs(nn: Any, module: Any, each: Case, dtype: str) -> list[Any]:
    """The results of a case in evaluation."""
    inputs = [row(nn, made(kind, shape, *rest, k=k), dtype) for k, (kind, shape, *rest) in enumerate(each.inputs)]
    inputs = [nn.functional.log_softmax(x, -1) if each.inputs[k][0] == "log" else x for k, x in enumerate(inputs)]
    results = module.eval()(*(inputs if each.join is None else each.join(inputs)))
    return [np.asarray((y.to(__import__(nn.__name__.partition(".")[0]).float64)).detach().numpy())
            for y in listed(results)]  # fmt: skip


def empty(nn: Any, each: Case, dtype: str) -> Any:
    """The module of a case with other values than those of `build`."""
    module = build(nn, each, dtype)
    library = __import__(nn.__name__.partition(".")[0])
    with library.no_grad():
        for x in module.state_dict().values():
            x.zero_()
    return module


def bits(state: Any) -> dict[str, Any]:
    """Shape and values of each tensor, in float64, which holds those of every narrower dtype."""
    return {
        name: (str(x.dtype).rpartition(".")[2], tuple(x.shape), x.double().tolist() if "float" in str(x.dtype)
               else x.tolist())
        for name, x in state.items()
    }  # fmt: skip


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("each", STATEFUL, ids=str)
def test_a_state_crosses_in_a_file_both_ways(each: Case, dtype: str, tmp_path: Path) -> None:
    theirs, ours = build(torch.nn, each, dtype), empty(mg.nn, each, dtype)
    files.save_file({name: x.contiguous() for name, x in theirs.state_dict().items()}, tmp_path / "a.safetensors")
    ours.load_state_dict(mg.load(tmp_path / "a.safetensors", HERE), strict=True)
    assert bits(ours.state_dict()) == bits(theirs.state_dict())
    mg.save(ours.state_dict(), tmp_path / "b.safetensors")
    back = empty(torch.nn, each, dtype)
    back.load_state_dict(files.load_file(tmp_path / "b.safetensors"), strict=True)
    assert bits(back.state_dict()) == bits(theirs.state_dict())
    try:
        want = outputs(torch.nn, back, each, dtype)
    except (NotImplementedError, RuntimeError):  # an op of 16 bits that PyTorch's CPU does not have
        assert dtype in ("float16", "bfloat16")
        return
    for mine, other in zip(outputs(mg.nn, ours, each, dtype), want, strict=True):
        np.testing.assert_allclose(mine, other, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def tied(nn: Any, dtype: Any) -> Any:
    """An embedding whose weight is that of the last layer, too."""
    module = nn.Sequential(nn.Embedding(5, 3), nn.Tanh(), nn.Linear(3, 5)).to(dtype)
    module[2].weight = module[0].weight
    return module


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_shared_parameter_is_in_a_file_once_and_shared_again(dtype: str, tmp_path: Path) -> None:
    theirs, ours = tied(torch.nn, getattr(torch, dtype)), tied(mg.nn, getattr(mg, dtype)).to(HERE)
    files.save_model(theirs, tmp_path / "a.safetensors")
    state = mg.load(tmp_path / "a.safetensors", HERE)
    assert list(state) == ["0.weight", "2.bias", "2.weight"] and state["0.weight"] is state["2.weight"]
    ours.load_state_dict(state, strict=True)
    assert ours[0].weight is ours[2].weight and bits(ours.state_dict()) == bits(theirs.state_dict())
    with mg.no_grad():
        ours[0].weight.mul_(2.0)
    mg.save(ours.state_dict(), tmp_path / "b.safetensors")
    assert sorted(files.load_file(tmp_path / "b.safetensors")) == ["0.weight", "2.bias"]
    assert files.load_model(theirs, tmp_path / "b.safetensors", strict=True) == (set(), [])
    assert theirs[0].weight is theirs[2].weight and bits(ours.state_dict()) == bits(theirs.state_dict())
    again = mg.load(tmp_path / "b.safetensors", HERE)
    assert again["0.weight"] is again["2.weight"]


OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {"lr": 0.1, "amsgrad": True}), ("AdamW", {"lr": 0.1}),
    ("RMSprop", {"lr": 0.1, "momentum": 0.5, "centered": True}), ("Adagrad", {"lr": 0.1}), ("NAdam", {"lr": 0.1}),
    ("Adadelta", {}), ("Adamax", {"lr": 0.1}), ("RAdam", {"lr": 0.1}), ("ASGD", {"lr": 0.1}), ("Rprop", {"lr": 0.1}),
]  # fmt: skip


def flat(state: dict[str, Any]) -> dict[str, Any]:
    """The tensors of an optimizer's state by names, as a plain file needs them."""
    return {f"{k}.{name}": value for k, row in state["state"].items() for name, value in row.items()}


def filled(state: dict[str, Any], tensors: dict[str, Any]) -> dict[str, Any]:
    """The state of an optimizer with the tensors of a file."""
    rows: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        k, _, entry = name.partition(".")
        rows.setdefault(int(k), {})[entry] = value
    return {"state": rows, "param_groups": state["param_groups"]}


@pytest.mark.parametrize(("name", "kwargs"), OPTIMIZERS, ids=[name for name, _ in OPTIMIZERS])
def test_the_state_of_an_optimizer_crosses_in_a_file_both_ways(
    name: str, kwargs: dict[str, Any], tmp_path: Path
) -> None:
    starts = np.sin(np.arange(6.0)).reshape(2, 3)
    gradients = [np.cos(k + np.arange(6.0)).reshape(2, 3) for k in range(6)]

    def made_of(library: Any, values: Any) -> tuple[Any, Any]:
        more = {"device": HERE} if library is mg else {}
        p = library.nn.Parameter(library.tensor(values, dtype=library.float64, **more))
        return p, getattr(library.optim, name)([p], **kwargs)

    def run(library: Any, p: Any, optimizer: Any, some: list[Any]) -> Any:
        more = {"device": HERE} if library is mg else {}
        for g in some:
            p.grad = library.tensor(g, **more)
            optimizer.step()
        return p.detach().numpy().copy()

    q, theirs = made_of(torch, starts)
    middle = run(torch, q, theirs, gradients[:3])
    state = theirs.state_dict()
    files.save_file({k: v.clone() for k, v in flat(state).items()}, tmp_path / "a.safetensors")
    p, ours = made_of(mg, middle)
    ours.load_state_dict(filled(state, mg.load(tmp_path / "a.safetensors", HERE)))
    want = run(torch, q, theirs, gradients[3:])
    np.testing.assert_allclose(run(mg, p, ours, gradients[3:]), want, rtol=1e-6)

    p, ours = made_of(mg, starts)
    middle = run(mg, p, ours, gradients[:3])
    state = ours.state_dict()
    tensors = {k: v if isinstance(v, mg.Tensor) else mg.tensor(float(v)) for k, v in flat(state).items()}
    mg.save(tensors, tmp_path / "b.safetensors")
    q, theirs = made_of(torch, middle)
    theirs.load_state_dict(filled(state, files.load_file(tmp_path / "b.safetensors")))
    np.testing.assert_allclose(run(torch, q, theirs, gradients[3:]), want, rtol=1e-6)
    whole = mg.load(saved(state, tmp_path / "c.safetensors"), HERE)
    p, ours = made_of(mg, middle)
    ours.load_state_dict(whole)
    np.testing.assert_allclose(run(mg, p, ours, gradients[3:]), want, rtol=1e-6)


def saved(value: Any, path: Path) -> Path:
    """The path of a file with a value."""
    mg.save(value, path)
    return path
