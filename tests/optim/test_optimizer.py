"""Optimizer: groups, launches, what it refuses, hooks, copies, and what happens between steps."""

from __future__ import annotations

import copy
import pickle
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from cases import over
from optim.test_many import launches
from optim_cases import OPTIMIZERS

import minigrad as mg
from minigrad.errors import ShapeError
from minigrad.kernels import store
from minigrad.runtime.changes import rebind

REFERENCE = {"dtype": "float64", "device": "reference"}


def variable(*values: float) -> Any:
    """Return a parameter with a gradient of ones."""
    p = mg.Var(list(values), **REFERENCE)
    p.grad = mg.ones(len(values), **REFERENCE)
    return p


def test_a_step_is_one_launch_per_group_and_a_schedule_compiles_nothing() -> None:
    groups = [{"params": [mg.Var(mg.ones(n)) for n in (3, 4, 5)]}, {"params": [mg.Var(mg.ones(2))], "lr": 0.5}]
    optimizer = mg.optim.AdamW(groups, lr=0.25)
    schedule = mg.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5)

    def step() -> None:
        for p in optimizer.parameters():
            p.grad = mg.ones(*p.shape)
        optimizer.step()
        schedule.step()

    step()
    loaded = len(store.loaded)
    for _ in range(3):
        with launches() as requests:
            for p in optimizer.parameters():
                p.grad = p.detach()
            requests.clear()
            optimizer.step()
            schedule.step()
        assert [type(request).__name__ for request in requests] == ["Many", "Many"]
        assert [request.rows for request in requests] == [3, 1]
        for p in optimizer.parameters():
            p.grad = mg.ones(*p.shape)
        step()
    assert len(store.loaded) == loaded


def test_a_gradient_that_is_the_parameter_itself_is_read_before_it_is_written() -> None:
    p, q = mg.Var([1.0, 2.0], **REFERENCE), mg.Var([3.0], **REFERENCE)
    optimizer = mg.optim.SGD([p, q], lr=0.5, momentum=0.5)
    for _ in range(2):
        p.grad, q.grad = p.detach().flip(0), q.detach()
        optimizer.step()
    x, v = np.array([1.0, 2.0]), np.zeros(2)
    for _ in range(2):
        v = 0.5 * v + x[::-1]
        x = x - 0.5 * v
    np.testing.assert_allclose(p.detach().numpy(), x)
    assert q.tolist() == [0.0] or q.item() == pytest.approx(3 - 1.5 - 0.5 * (1.5 + 1.5))


def test_parameters_without_a_gradient_stay_and_count_no_step() -> None:
    p, q = variable(1.0), variable(2.0)
    optimizer = mg.optim.Adam([p, q], lr=0.5)
    optimizer.step()
    q.grad = None
    optimizer.step()
    q.grad = mg.ones(1, **REFERENCE)
    with launches() as requests:
        optimizer.step()
    assert [request.rows for request in requests] == [1, 1]  # their counts differ, so do their corrections
    assert [optimizer.state[x]["step"].item() for x in (p, q)] == [3, 2]
    alone = variable(2.0)
    other = mg.optim.Adam([alone], lr=0.5)
    other.step()
    other.step()
    assert q.item() == alone.item() and optimizer.state[q]["step"] is not optimizer.state[p]["step"]


def test_momentum_begins_with_the_first_gradient_of_each_parameter() -> None:
    p, q = variable(0.0), variable(0.0)
    q.grad = None
    optimizer = mg.optim.SGD([p, q], lr=1.0, momentum=0.5, dampening=0.5)
    optimizer.step()
    q.grad = mg.ones(1, **REFERENCE)
    optimizer.step()
    assert (p.item(), q.item()) == (-2.0, -1.0)
    with launches() as requests:
        optimizer.step()
    assert [request.rows for request in requests] == [2]


def test_options_states_and_tensors_may_be_exchanged_between_steps() -> None:
    p = variable(1.0)
    optimizer = mg.optim.SGD([p], lr=0.5)
    optimizer.step()
    optimizer.param_groups[0]["momentum"] = 0.5
    optimizer.step()
    assert p.item() == 0.0 and optimizer.state[p]["momentum_buffer"].item() == 1
    optimizer.state[p]["momentum_buffer"] = mg.tensor([4.0], **REFERENCE)
    optimizer.step()
    assert p.item() == -1.5
    optimizer.state[p] = {"momentum_buffer": mg.tensor([0.0], **REFERENCE)}
    optimizer.step()
    assert p.item() == -2.0
    p.grad = mg.tensor([2.0], **REFERENCE).expand(1)
    optimizer.add_param_group({"params": variable(5.0), "lr": 1.0})
    optimizer.step()
    assert p.item() == -3.25 and optimizer.param_groups[1]["params"][0].item() == 4.0
    with mg.override(parallel_threshold=0):
        optimizer.zero_grad()
        optimizer.step()
    assert p.item() == -3.25


@pytest.mark.parametrize("change", ["memory", "layout"])
def test_a_state_with_other_memory_or_another_layout_is_noticed(change: str) -> None:
    results = []
    for in_place in (True, False):
        p = mg.Var(mg.ones(2, 2, **REFERENCE))
        optimizer = mg.optim.Adam([p], lr=0.5)
        p.grad = mg.tensor([[1.0, -2.0], [3.0, 4.0]], **REFERENCE)
        optimizer.step()
        state = optimizer.state[p]
        if not in_place:
            average = state["exp_avg"]
            state["exp_avg"] = average.t().clone() if change == "layout" else mg.full_like(average, -4.0)
        elif change == "layout":
            state["exp_avg"].t_()
        else:
            state["exp_avg"].resize_(10).resize_(2, 2).fill_(-4.0)
        optimizer.step()
        results.append(p.tolist())
    assert results[0] == results[1]


NAME = "momentum_buffer"
REPLACED: dict[str, Any] = {
    "set": lambda o, p, new: o.state[p].__setitem__(NAME, new),
    "update": lambda o, p, new: o.state[p].update({NAME: new}),
    "merge": lambda o, p, new: o.state[p].__ior__({NAME: new}),
    "delete": lambda o, p, new: (o.state[p].__delitem__(NAME), o.state[p].setdefault(NAME, new)),
    "plain dict": lambda o, p, new: o.state.__setitem__(p, {NAME: new}),
    "plain states": lambda o, p, new: setattr(o, "state", defaultdict(dict, {p: {NAME: new}})),
    "loaded": lambda o, p, new: o.load_state_dict(o.state_dict() | {"state": {0: {NAME: new}}}),
}
REMOVED: dict[str, Any] = {
    "pop": lambda o, p, new: o.state[p].pop(NAME),
    "popitem": lambda o, p, new: o.state[p].popitem(),
    "clear": lambda o, p, new: o.state[p].clear(),
    "clear all": lambda o, p, new: o.state.clear(),
    "no states": lambda o, p, new: setattr(o, "state", defaultdict(dict)),
}


@pytest.mark.parametrize("change", [*REPLACED, *REMOVED])
def test_a_step_uses_the_state_that_the_dicts_have_now(change: str) -> None:
    p = variable(1.0)
    optimizer = mg.optim.SGD([p], lr=0.5, momentum=0.5)
    optimizer.step()
    optimizer.step()
    for value in (4.0, 6.0):  # the second change is one of dicts that may not count changes
        (REPLACED | REMOVED)[change](optimizer, p, mg.tensor([value], **REFERENCE))
        before, expected = p.item(), 1.0 if change in REMOVED else value * 0.5 + 1.0
        optimizer.step()
        assert p.item() == before - 0.5 * expected and optimizer.state[p][NAME].item() == expected
        optimizer.step()
        assert optimizer.state[p][NAME].item() == expected * 0.5 + 1.0


def test_after_an_error_no_step_is_left_out() -> None:
    p = mg.Var(mg.ones(2, 3, **REFERENCE))
    optimizer = mg.optim.Adam([p], lr=0.5)
    p.grad = mg.ones(2, 3, **REFERENCE)
    optimizer.step()
    optimizer.state[p]["exp_avg"].t_()
    for _ in range(3):
        with pytest.raises(ShapeError, match=r"equal shapes, got float64\(2, 3\), float64\(3, 2\)"):
            optimizer.step()
    optimizer.state[p]["exp_avg"].t_()
    before = p.tolist()
    optimizer.step()
    assert p.tolist() != before


def test_a_step_is_not_recorded_and_a_graph_that_saved_a_parameter_notices_it() -> None:
    p = variable(2.0)
    y = (p * p).sum()
    mg.optim.SGD([p], lr=0.5).step()
    assert p.is_leaf and p.requires_grad and p.item() == 1.5
    with pytest.raises(mg.StorageError, match="changed in place"):
        y.backward()


def test_closures_record_also_under_no_grad() -> None:
    p = mg.Var([2.0], **REFERENCE)
    optimizer = mg.optim.SGD([p], lr=0.25)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with mg.no_grad():
        assert optimizer.step(closure).item() == 4.0
    assert p.item() == 1.0


def test_zero_grad_forgets_or_fills_by_one_launch() -> None:
    p, q, r = variable(1.0, 2.0), variable(3.0), mg.Var([1.0], **REFERENCE)
    optimizer = mg.optim.SGD([p, q, r])
    kept = p.grad
    (q * q).sum().backward(create_graph=True)
    with launches() as requests:
        optimizer.zero_grad(set_to_none=False)
    assert len(requests) == 1 and kept.tolist() == [0, 0] and q.grad.tolist() == [0] and r.grad is None
    assert not q.grad.requires_grad
    optimizer.zero_grad()
    assert p.grad is None and q.grad is None


def test_parameters_of_another_shape_layout_and_dtype_are_stepped() -> None:
    half = mg.Var(mg.tensor([1.0, 2.0], dtype="float16"), device="reference")
    whole = mg.Var(np.arange(6.0).reshape(2, 3), device="reference")
    frozen = mg.tensor([1.0], **REFERENCE)
    half.grad, whole.grad = mg.ones(2, dtype="float16", device="reference"), mg.ones(3, 2, **REFERENCE).T
    mg.optim.Adam([half, whole, frozen], lr=0.5).step()
    np.testing.assert_allclose(half.detach().numpy(), [0.5, 1.5], rtol=1e-3)
    np.testing.assert_allclose(whole.detach().numpy(), np.arange(6.0).reshape(2, 3) - 0.5, rtol=1e-6)
    assert frozen.item() == 1.0


def test_a_gradient_from_before_a_change_of_dtype_is_read_as_it_is() -> None:
    p = variable(1.0, 2.0)
    optimizer = mg.optim.SGD([p], lr=0.5)
    optimizer.step()
    half = p.detach().to("float16")
    rebind(p, half.storage, half.layout)  # as a module does that is converted
    optimizer.step()
    assert p.tolist() == [0.0, 1.0]
    p.grad = mg.ones(2, dtype="float16", device="reference")
    optimizer.step()
    assert p.tolist() == [-0.5, 0.5]


def test_debug_mode_names_the_write_that_made_a_graph_stale() -> None:
    with mg.debug():
        p = variable(2.0)
        y = (p * p).sum()
        with pytest.raises(mg.StorageError, match=r"sgd at .*saved for its gradient"):
            mg.optim.SGD([p], lr=0.5).step()
        assert p.item() == 2.0 and y.item() == 4.0


# ---- groups and what is refused


def test_named_parameters_keep_their_names() -> None:
    p, q = variable(1.0), variable(2.0)
    optimizer = mg.optim.SGD([("weight", p), ("bias", q)], lr=0.5)
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    assert optimizer.param_groups[0]["params"] == [p, q]
    with pytest.raises(mg.ArgumentError, match="named parameters, or none"):
        optimizer.add_param_group({"params": [variable(1.0)]})


def model():
    return mg.nn.Linear(2, 2, device="reference")


@over(
    ("make", "error", "match"),
    [
        (lambda p: mg.optim.SGD([]), ValueError, "got an empty list"),
        (lambda p: mg.optim.SGD(p), TypeError, r"an iterable of tensors or dicts, got float64\(1,\)"),
        (
            lambda p: mg.optim.SGD(model()),
            TypeError,
            r"got Linear\(in_feat.*; pass a list of tensors, or model.parameters\(\)",
        ),
        (lambda p: mg.optim.SGD(model().parameters), TypeError, r"got method parameters; call it, as in model.param"),
        (
            lambda p: mg.optim.SGD({"params": [p]}),
            TypeError,
            r"got dict .*; pass a list of groups, such as \[\{'params'",
        ),
        (
            lambda p: mg.optim.SGD([{"params": model()}]),
            TypeError,
            "SGD: params must be an iterable of tensors or dicts",
        ),
        (lambda p: mg.optim.SGD(iter([])), ValueError, "got an empty iterator, because an earlier loop"),
        (
            lambda p: mg.nn.utils.clip_grad_norm_(model(), 1.0),
            TypeError,
            "^clip_grad_norm_: parameters must be an iterable",
        ),
        (
            lambda p: mg.nn.utils.clip_grad_value_([model()], 1.0),
            TypeError,
            "clip_grad_value_: parameters must contain t",
        ),
        (
            lambda p: mg.nn.utils.parameters_to_vector(model()),
            TypeError,
            "parameters_to_vector: parameters must be an it",
        ),
        (lambda p: mg.optim.SGD([1.0]), TypeError, "params must contain tensors, got float 1.0"),
        (lambda p: mg.optim.SGD([{"params": {p}}]), TypeError, "got a set"),
        (lambda p: mg.optim.SGD([p * 2]), ValueError, "params must be leaves"),
        (lambda p: mg.optim.SGD([("w", p), p]), ValueError, "only some have a name"),
        (lambda p: mg.optim.SGD([{"params": p}, {"params": [p]}]), ValueError, "only one parameter group"),
        (lambda p: mg.optim.SGD([p]).add_param_group([p]), TypeError, "must be a dict, got list"),
        (lambda p: mg.optim.SGD([p], lr=-1.0), ValueError, "lr must not be negative, got -1.0"),
        (lambda p: mg.optim.SGD([p], lr=mg.ones(2)), ValueError, "a tensor of one element"),
        (lambda p: mg.optim.SGD([p], nesterov=True), ValueError, "nesterov=True requires momentum above 0"),
        (
            lambda p: mg.optim.Adam([p], betas=(0.9, 1.0)),
            ValueError,
            r"betas\[1\] must be at least 0 and less than 1, got 1.0",
        ),
        (lambda p: mg.optim.Adam([p], eps=float("nan")), ValueError, "eps must not be negative, got nan"),
        (lambda p: mg.optim.Adam([p], foreach=True, fused=True), ValueError, "must not both be True"),
        (lambda p: mg.optim.Rprop([p], etas=(1.5, 1.2)), ValueError, "etas must satisfy"),
        (lambda p: mg.optim.Adadelta([p], rho=2.0), ValueError, r"rho must be a number from 0 to 1"),
        (
            lambda p: mg.optim.Adafactor([p], beta2_decay=0.1),
            ValueError,
            r"expected beta2_decay to be at most 0, got 0.1",
        ),
        (lambda p: mg.optim.Adafactor([p], eps=(-1.0, 0)), ValueError, r"eps\[0\] must not be negative, got -1.0"),
        (lambda p: mg.optim.Adafactor([p], d=0.5), ValueError, r"d must be a number of at least 1, got 0.5"),
        (lambda p: mg.optim.Muon([p]), ValueError, r"params must contain only matrices, got float64\(1,\)"),
        (lambda p: mg.optim.LBFGS([{"params": [p]}, {"params": [variable(1.0)]}]), ValueError, "one parameter group"),
        (lambda p: mg.optim.LBFGS([p], line_search_fn="armijo"), ValueError, "got 'armijo'"),
        (lambda p: mg.optim.LBFGS([p]).step(), ValueError, "closure must be a function"),
        (lambda p: mg.optim.Optimizer([p], {}).step(), NotImplementedError, "an optimizer must define step"),
    ],
)
def test_arguments_without_a_meaning_are_refused(make: Any, error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        make(variable(1.0))


def test_a_parameter_that_comes_twice_is_warned_of() -> None:
    p = variable(1.0)
    with pytest.warns(UserWarning, match="a parameter twice"):
        optimizer = mg.optim.SGD([p, p], lr=0.25)
    optimizer.step()
    assert p.item() == 0.5


@over(("name", "options"), [each for each in OPTIMIZERS if each[0] != "Muon"], ids=str)
def test_a_parameter_that_comes_twice_takes_two_steps(name: str, options: dict[str, Any]) -> None:
    once, twice, other = (variable(0.5, -2.0) for _ in range(3))
    single = getattr(mg.optim, name)([once], **options)
    with pytest.warns(UserWarning, match="a parameter twice"):
        double = getattr(mg.optim, name)([twice, other, twice], **options)
    for k in range(3):
        for p in (once, twice, other):
            p.grad = mg.tensor([1.0, k - 1.5], **REFERENCE)
        single.step()
        half = once.tolist()
        single.step()
        double.step()
        assert k > 0 or other.tolist() == half  # one step
        assert twice.tolist() == once.tolist()
    for key, value in single.state[once].items():
        assert key == "lr" or np.array_equal(double.state[twice][key], value)


@pytest.mark.parametrize("options", [{"foreach": True}, {"fused": True}, {"capturable": True}])
def test_options_of_speed_are_accepted(options: dict[str, Any]) -> None:
    p = variable(1.0)
    mg.optim.AdamW([p], lr=0.5, weight_decay=0, **options).step()
    assert p.item() == pytest.approx(0.5)


# ---- state, hooks, copies


def test_state_is_loaded_as_a_copy_and_checked() -> None:
    p, q = variable(1.0, 2.0), variable(1.0, 2.0)
    first, second = mg.optim.Adam([p], lr=0.5), mg.optim.Adam([q], lr=0.1)
    first.step()
    second.load_state_dict(first.state_dict())
    assert second.param_groups[0]["lr"] == 0.5
    mean = second.state[q]["exp_avg"].tolist()
    first.step()
    assert second.state[q]["exp_avg"].tolist() == mean and second.state[q]["step"].item() == 1
    with pytest.raises(mg.ArgumentError, match="the state dict must have 1 parameter groups, got 2"):
        first.load_state_dict({"state": {}, "param_groups": [{"params": [0]}, {"params": [1]}]})
    with pytest.raises(mg.ArgumentError, match="group 0 of the state dict must have 1 parameters, got 2"):
        first.load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]})


def test_states_take_the_dtype_of_their_parameter() -> None:
    p = mg.Var(mg.tensor([1.0], dtype="float16"), device="reference")
    optimizer = mg.optim.Adam([p])
    state = {"step": 3, "exp_avg": np.array([0.5]), "exp_avg_sq": mg.tensor([0.25], **REFERENCE)}
    optimizer.load_state_dict({"state": {0: state}, "param_groups": optimizer.state_dict()["param_groups"]})
    p.grad = mg.ones(1, dtype="float16", device="reference")
    optimizer.step()
    entries = optimizer.state[p]
    assert (entries["exp_avg"].dtype, entries["exp_avg_sq"].dtype) == (mg.float16, mg.float16)
    assert entries["step"].dtype is mg.float32 and entries["step"].item() == 4


def test_hooks_see_steps_and_states_and_may_change_them() -> None:
    p = variable(4.0)
    optimizer = mg.optim.SGD([p], lr=1.0)
    seen: list[str] = []
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("before")),
        optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("after")),
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("second")),
        optimizer.register_state_dict_pre_hook(lambda o: seen.append("first"), prepend=True),
        optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1}),
        optimizer.register_load_state_dict_pre_hook(lambda o, state: state | {"loaded": True}),
        optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded")),
    ]
    optimizer.step()
    state = optimizer.state_dict()
    optimizer.load_state_dict(state)
    assert seen == ["before", "after", "first", "second", "loaded"] and state["more"] == 1
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(seen) == 5 and p.item() == 2.0
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(mg.ArgumentError, match="None or"):
        optimizer.step()


def test_hooks_of_all_optimizers_surround_those_of_one() -> None:
    p, seen = variable(4.0), []
    one, other = mg.optim.SGD([p], lr=1.0), mg.optim.Adam([p])
    one.register_step_pre_hook(lambda o, args, kwargs: seen.append("own before"))
    one.register_step_post_hook(lambda o, args, kwargs: seen.append("own after"))
    first = mg.optim.optimizer.register_optimizer_step_pre_hook(lambda o, args, kwargs: seen.append("before"))
    last = mg.optim.optimizer.register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append("after"))
    with first, last:
        assert first.id != last.id
        one.step()
        other.step()
    assert seen == ["before", "own before", "own after", "after", "before", "after"]
    other.step()
    assert len(seen) == 6


def test_optimizers_are_copied_pickled_and_shown() -> None:
    p = variable(1.0, 2.0)
    optimizer = mg.optim.AdamW([p], lr=0.5)
    optimizer.step()
    for twin in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
        (q,) = twin.param_groups[0]["params"]
        q.grad = mg.ones(2, **REFERENCE)
        twin.step()
        assert twin.state[q]["step"].item() == 2 and optimizer.state[p]["step"].item() == 1
    text = repr(optimizer)
    assert text.startswith("AdamW (\nParameter Group 0\n    amsgrad: False") and text.endswith("0.01\n)")
    assert "p = p - lr / (1 - beta1 ** step) * exp_avg / (root + eps)" in optimizer.formula()


def test_an_optimizer_of_a_user_is_a_rule() -> None:
    @mg.optim.rule
    def lion(p, exp_avg, g, *, lr, beta1, beta2):  # type: ignore[no-untyped-def]
        """A step along the sign of a mean."""
        update = beta1 * exp_avg + (1 - beta1) * g
        return p - lr * ((update > 0) - (update < 0)), beta2 * exp_avg + (1 - beta2) * g

    class Lion(mg.optim.RuleOptimizer):
        def __init__(self, params: Any, lr: float, betas: tuple[float, float] = (0.9, 0.99)) -> None:
            super().__init__(params, {"lr": lr, "betas": betas})

        def rule(self, group: Any) -> Any:
            return lion

    p = variable(1.0, 2.0)
    optimizer = Lion([p], lr=0.25)
    optimizer.step()
    optimizer.step()
    assert p.tolist() == [0.5, 1.5] and optimizer.state_dict()["state"][0].keys() == {"step", "exp_avg"}


def test_muon_makes_its_steps_orthogonal() -> None:
    rng = np.random.default_rng(0)
    p = mg.Var(np.zeros((3, 5)), device="reference")
    p.grad = mg.tensor(rng.standard_normal((3, 5)), device="reference")
    optimizer = mg.optim.Muon([p], lr=1.0, weight_decay=0.0)
    optimizer.step()
    values = np.linalg.svd(p.detach().numpy(), compute_uv=False)
    assert (values > 0.5).all() and (values < 1.4).all()
    assert "update = orthogonal(update)" in optimizer.formula()


def test_a_parameter_or_a_state_that_moves_to_other_memory_is_stepped_there() -> None:
    p, q = variable(1.0, 2.0), variable(3.0)
    optimizer = mg.optim.SGD([p, q], lr=0.5, momentum=0.5)
    for _ in range(3):
        optimizer.step()
    old, state = p.detach(), optimizer.state[p]["momentum_buffer"]
    elsewhere = mg.zeros(2, **REFERENCE)
    rebind(p, elsewhere.storage, elsewhere.layout)
    before = old.tolist()
    optimizer.step()
    moved = state.tolist()
    assert p.tolist() == [-0.5 * x for x in moved] and old.tolist() == before
    other = mg.ones(2, **REFERENCE)
    rebind(state, other.storage, other.layout)
    was = p.tolist()
    optimizer.step()
    assert other.tolist() == [1.5, 1.5] and p.tolist() == [x - 0.75 for x in was]
