"""Names and values in the picture of a graph: whose they are, and where they come from."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

import minigrad as mg
from minigrad.viz.known import caller_names, tensors_in

pytestmark = pytest.mark.usefixtures("reference")

SHARED = mg.Var([1.0], device="reference")


def labels(picture: Any) -> set[str]:
    return {node.label for node in picture.nodes}


def lines(picture: Any, op: str) -> list[str]:
    """The lines of the only box of an op."""
    (label,) = [node.label for node in picture.nodes if node.label.split("\n")[0] == op]
    return label.split("\n")[1:]


def test_what_dicts_lists_and_objects_hold_is_named_by_the_way_to_it() -> None:
    model = {"in": mg.Var([1.0, 2.0]), "layers": [SimpleNamespace(weight=mg.Var([3.0, 4.0]))]}
    kept = []
    kept.append(model["in"] * model["layers"][0].weight)
    picture = mg.viz.graph(kept[0].sum())
    heads = {label.split("\n")[0] for label in labels(picture)}
    assert heads == {"model['in']", "model['layers'][0].weight", "mul", "sum"}
    assert "kept[0] = [3, 8]" in lines(picture, "mul")


def test_a_variable_of_its_own_goes_before_what_leads_far_and_locals_before_globals() -> None:
    held = [mg.Var([1.0])]
    near = held[0]
    assert {label.split("\n")[0] for label in labels(mg.viz.graph(near.exp()))} == {"near", "exp"}
    mine = SHARED
    assert {label.split("\n")[0] for label in labels(mg.viz.graph(mine.exp()))} == {"mine", "exp"}


def test_private_names_and_those_of_a_notebook_and_of_no_variable_are_not_shown() -> None:
    first, hidden = mg.Var([1.0]), mg.Var([2.0])
    _private, Out = hidden, {1: hidden}
    found = caller_names(1)
    assert set(found) == {"first", "hidden", "SHARED"} and _private is Out[1]
    assert dict(tensors_in([("model", SimpleNamespace(_own=first, shown=hidden))])) == {"model.shown": hidden}


def test_no_code_of_the_user_is_run_and_circles_end() -> None:
    class Angry:
        def __init__(self) -> None:
            self.x, self.me = mg.tensor([1.0]), self

        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    class Keys(dict):  # type: ignore[type-arg]
        def items(self) -> Any:
            raise AssertionError("items")

    angry, keys = Angry(), Keys(a=mg.tensor([2.0]))
    keys["keys"] = keys
    assert [name for name, _ in tensors_in([("angry", angry), ("keys", keys)])] == ["angry.x", "keys['a']"]


def test_a_large_list_is_looked_through_in_a_moment() -> None:
    many = [[0.0] * 3 for _ in range(100_000)]
    assert dict(tensors_in([("many", many), ("x", mg.tensor(1.0))])).keys() == {"x"}


def test_data_goes_by_its_variable_with_its_values() -> None:
    scale, data = mg.tensor(3.0), mg.tensor([[1.0, 2.0, 5.0]])
    weight = mg.Var([[1.0], [2.0], [3.0]])
    y = (data @ weight * scale).sum()
    assert {"data\nfloat32(1, 3)\n[[1, 2, 5]]", "scale\nfloat32()\n3"} <= labels(mg.viz.graph(y))
    other = (weight * data.T).sum()
    assert "constant\nfloat32(3, 1)\n[[1], [2], [5]]" in labels(mg.viz.graph(other)), "a view is not the data itself"
    assert "2" in labels(mg.viz.graph((weight * 2.0).sum())), "a number alone"


def test_every_small_value_and_its_gradient_are_shown_although_nobody_saved_them() -> None:
    x = mg.Var(2.0, name="x")
    y = x * x + x * 5.0 + 4.0
    assert {node.label.split("\n")[2] for node in mg.viz.graph(y).nodes if node.kind == "op"} == {"4", "10", "14"}
    assert "4" in labels(mg.viz.graph(y)), "the constant"
    y.backward()
    after = labels(mg.viz.graph(y))
    assert {"x\nfloat32()\n2\ngrad 9", "add\nfloat32()\n14\ngrad 1", "add\nfloat32()\ny = 18\ngrad 1"} <= after


def test_the_gradients_shown_are_those_of_grad() -> None:
    x, w, t = mg.Var([0.5, -2.0, 3.0], name="x"), mg.Var(1.5, name="w"), mg.tensor([1.0, 0.25, -1.0])
    product = x * w
    error = product - t
    bounded = error.tanh()
    total = bounded.sum()
    y = total.exp()
    parts = {"x": x, "w": w, "mul": product, "sub": error, "tanh": bounded, "sum": total, "exp": y}
    wanted = {name: mg.grad(y, part, retain_graph=True) for name, part in parts.items()}
    assert not any("grad" in label for label in labels(mg.viz.graph(y, names={}))), "no backward pass has run"
    y.backward()
    for label in labels(mg.viz.graph(y, names={})):
        name, *rest = label.split("\n")
        if name in wanted:
            numbers = ", ".join(f"{v:.4g}" for v in wanted.pop(name).reshape(-1).tolist())
            assert f"grad {numbers}" in rest or f"grad [{numbers}]" in rest
    assert not wanted


def test_gradients_are_not_shown_of_what_changed_since() -> None:
    x, c = mg.Var([1.0, 2.0]), mg.tensor([3.0, 4.0])
    middle = x * c
    y = (middle * middle).sum()
    y.backward()
    assert sum("grad" in label for label in labels(mg.viz.graph(y))) == 4
    with mg.no_grad():
        middle.detach().fill_(7.0)
    assert not any("grad" in label for label in labels(mg.viz.graph(y)))


def test_a_picture_after_backward_calls_no_hook_and_leaves_the_graph_freed() -> None:
    x = mg.Var(2.0)
    calls = []
    middle = x * 3.0
    middle.register_hook(lambda g: calls.append(g))
    y = middle.exp()
    y.backward()
    before = x.grad.item()
    mg.viz.graph(y)
    assert len(calls) == 1 and x.grad.item() == before
    with pytest.raises(mg.GradientError, match="freed by an earlier backward"):
        y.backward()


def test_results_in_no_variable_are_shown() -> None:
    x = mg.Var([1.0, 2.0], name="x")
    y = (x * x).exp().sum()
    picture = mg.viz.graph(y)
    assert lines(picture, "exp")[1] == "[2.718, 54.6]" and lines(picture, "mul")[1] == "[1, 4]"
    z = ((x * 3.0) * x).sum()
    assert ["float32(2,)", "[3, 6]", "saves other float32()"] in [
        node.label.split("\n")[1:] for node in mg.viz.graph(z).nodes
    ]


def test_what_was_overwritten_since_is_not_shown_as_the_result() -> None:
    x = mg.Var([1.0, 2.0], name="x")
    middle = x * 3.0
    y = (middle * x).sum()
    with mg.no_grad():
        middle.detach().fill_(7.0)
    del middle
    assert not any("7" in label for label in labels(mg.viz.graph(y)))


def test_a_picture_after_backward_says_again_what_an_earlier_one_said() -> None:
    x = mg.Var([1.0, 2.0], name="x")
    c = mg.tensor([3.0, 4.0])
    y, never = ((x * c).exp() * 2.0).sum(), ((x * c).exp() * 2.0).sum()
    before = mg.viz.graph(y)
    y.backward()
    never.backward()
    after = mg.viz.graph(y)
    assert lines(after, "exp")[1] == lines(before, "exp")[1] == "[20.09, 2981]"
    assert {"c\nfloat32(2,)\n[3, 4]", "2"} <= labels(after) and lines(after, "exp")[-1] == "saved values freed"
    unseen = labels(mg.viz.graph(never))
    assert "c\nfloat32(2,)\n[3, 4]" in unseen
    assert f"sum\nfloat32()\nnever = {never.item():.4g}\ngrad 1\ndims=(0,)" in unseen


def test_a_picture_holds_no_memory() -> None:
    x = mg.Var([1.0, 2.0], name="x")
    middle = x * 3.0
    gone = weakref.ref(middle)
    y = (middle + 1.0).sum()
    picture = mg.viz.graph(y)
    del middle
    gc.collect()
    assert gone() is None and "middle = [3, 6]" in lines(picture, "mul")


def test_under_debug_all_of_it_is_known_also_after_backward_and_not_held() -> None:
    x = mg.Var([1.0, 2.0], name="x")
    c = mg.tensor([3.0, 4.0])
    with mg.debug():
        middle = (x + 4.0) * c
        y = middle.sum() / 8.0
        gone = weakref.ref(middle)
        y.backward()
        picture = mg.viz.graph(y)
    assert {"4", "8", "c\nfloat32(2,)\n[3, 4]"} <= labels(picture)
    assert lines(picture, "sum")[1] == "39", "a number in no variable"
    del middle, picture
    gc.collect()
    assert gone() is None


def test_names_that_are_given_serve_alone() -> None:
    weight, other = mg.Var([1.0]), mg.tensor([2.0])
    picture = mg.viz.graph(weight * other, names={"w": weight, "o": other})
    assert {"w\nfloat32(1,)\n[1]", "o\nfloat32(1,)\n[2]"} <= labels(picture)


def test_values_that_are_not_there_are_not_made() -> None:
    x = mg.Var([1.0, 2.0], name="x")
    calls = []

    def f(z: Any) -> Any:
        calls.append(1)
        return z.tanh() * z

    mg.viz.graph(mg.checkpoint(f, x * 2.0).sum())
    assert len(calls) == 1


def test_values_of_a_transform_among_the_variables_do_not_disturb() -> None:
    x = mg.Var([1.0, 2.0], name="x")
    seen: list[Any] = []
    mg.func.vmap(lambda z: seen.append(mg.viz.graph((x * 2.0).sum())) or z)(mg.ones(3, 2))
    assert "x\nfloat32(2,)\n[1, 2]" in labels(seen[0])
