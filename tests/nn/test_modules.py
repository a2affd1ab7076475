"""Module: attributes, traversal, state, modes, hooks, conversions, copies, containers and the text of a network."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.errors import ArgumentError, DeclarationError, DTypeError, IndexOutOfRange, StateError, StorageError
from minigrad.nn.modules.utils import consume_prefix_in_state_dict_if_present

nn = mg.nn
HERE = {"device": "reference", "dtype": mg.float64}


class Net(nn.Module):
    """Two linear maps and a buffer; `super().__init__()` is not called."""

    def __init__(self, width: int = 3) -> None:
        self.first = nn.Linear(2, width, **HERE)
        self.norm = nn.BatchNorm1d(width, **HERE)
        self.last = nn.Linear(width, 1, **HERE)
        self.scale = nn.Parameter(mg.ones(1, **HERE))
        self.register_buffer("count", mg.zeros(2, **HERE))
        self.register_buffer("temporary", mg.zeros(2, **HERE), persistent=False)

    def forward(self, x: Any, offset: float = 0.0) -> Any:
        return self.last(self.norm(self.first(x)).tanh()) * self.scale + offset


KEYS = ["scale", "count", "first.weight", "first.bias", "norm.weight", "norm.bias", "norm.running_mean",
        "norm.running_var", "norm.num_batches_tracked", "last.weight", "last.bias"]  # fmt: skip


def x(n: int = 4) -> mg.Tensor:
    return mg.tensor(np.sin(np.arange(2.0 * n)).reshape(n, 2), **HERE)


# ---- attributes


def test_members_are_ordinary_attributes() -> None:
    net = Net()
    assert vars(net)["scale"] is net.scale and vars(net)["first"] is net.first
    assert not hasattr(nn.Module, "__getattr__")


def test_what_is_no_module_is_answered_with_a_module():
    for make, advice in (
        (
            lambda: nn.Sequential(nn.Identity(), mg.nn.functional.relu),
            r"Sequential\.1: .* got function relu; pass .* mg\.nn\.ReLU\(\)$",
        ),
        (
            lambda: nn.Sequential(mg.nn.functional.max_pool2d),
            r"function max_pool2d; pass a module such as mg\.nn\.MaxPool2d\(\)$",
        ),
        (lambda: nn.ModuleList([nn.Tanh]), r"ModuleList\.0: .* got class Tanh; create an instance, as in Tanh\(\)$"),
        (
            lambda: nn.Module().register_module("a", lambda x: x),
            r"got function <lambda>; pass a module such as mg\.nn\.R",
        ),
        (lambda: nn.Module().register_buffer("a", 3), r"got int 3; pass a tensor$"),
        (lambda: nn.Module().register_parameter("a", 3), r"got int 3; pass mg\.nn\.Parameter\(tensor\)$"),
    ):
        with pytest.raises(DeclarationError, match=advice):
            make()


def test_a_member_may_be_replaced_by_its_kind_or_none() -> None:
    net = Net()
    net.scale = None
    assert "scale" not in dict(net.named_parameters()) and net.scale is None
    net.scale = nn.Parameter(mg.ones(2, **HERE))
    net.count = mg.ones(3, **HERE)
    assert dict(net.named_buffers())["count"].shape == (3,)
    with pytest.raises(TypeError, match=r"Net.scale: expected an mg.nn.Parameter or None for a registered parameter"):
        net.scale = mg.ones(1)
    with pytest.raises(DeclarationError, match=r"Net.first: expected an mg.nn.Module"):
        net.first = 3
    with pytest.raises(DeclarationError, match=r"Net.count: expected a tensor"):
        net.count = 3
    del net.scale, net.first
    assert not hasattr(net, "scale") and "first" not in dict(net.named_children())


def test_a_value_of_another_kind_moves_the_name() -> None:
    net = Net()
    net.count = nn.Parameter(mg.ones(1, **HERE))
    assert "count" in dict(net.named_parameters()) and "count" not in dict(net.named_buffers())


@pytest.mark.parametrize("requires_grad", [True, False])
def test_a_frozen_parameter_is_a_parameter(requires_grad: bool) -> None:
    net = nn.Module()
    net.w = nn.Parameter(mg.ones(2), requires_grad=requires_grad)
    assert [p.requires_grad for p in net.parameters()] == [requires_grad]
    net.w.requires_grad_(False)
    assert isinstance(net.w, nn.Parameter) and len(list(net.parameters())) == 1
    again = copy.deepcopy(net)
    net.w = again.w
    assert len(list(net.parameters())) == 1
    assert not isinstance(mg.ones(2), nn.Parameter) and not isinstance((net.w * 2.0), nn.Parameter)


def test_a_parameter_shares_the_memory_of_its_tensor() -> None:
    values = mg.zeros(2)
    p = nn.Parameter(values)
    values.fill_(3.0)
    assert p.tolist() == [3.0, 3.0] and not values.requires_grad and p.is_leaf
    assert nn.Parameter([1, 2]).tolist() == [1.0, 2.0]
    with pytest.raises(DTypeError, match="floating dtype"):
        nn.Parameter(mg.tensor([1]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.register_parameter("a.b", None), "must not be empty or contain"),
        (lambda m: m.register_buffer("", None), "must not be empty or contain"),
        (lambda m: m.register_module("forward", nn.Identity()), "has an attribute 'forward' already"),
    ],
)
def test_a_name_that_cannot_be_is_refused(call: Any, message: str) -> None:
    with pytest.raises(KeyError, match=message):
        call(nn.Module())


@pytest.mark.parametrize("kind", ["parameter", "buffer", "module"])
def test_a_member_of_another_kind_is_refused(kind: str) -> None:
    with pytest.raises(DeclarationError, match=f"registered {kind}"):
        getattr(nn.Module(), f"register_{kind}")("x", 3)


def test_a_plain_list_of_modules_warns() -> None:
    net = nn.Module()
    with pytest.warns(UserWarning, match=r"Module.layers is a list with 2 modules, .* write mg.nn.ModuleList\(...\)"):
        net.layers = [nn.Identity(), nn.Identity()]
    with pytest.warns(UserWarning, match=r"write mg.nn.ParameterDict"):
        net.weights = {"a": nn.Parameter(mg.ones(1))}
    net = nn.Module()
    net.layers = []
    net.layers.append(nn.Linear(1, 1))
    with pytest.warns(
        UserWarning, match=r"Module.layers is a list with 1 module, which parameters\(\) does not return"
    ):
        list(net.parameters())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(net.parameters())  # once is enough
        net.child = nn.Identity()
        net.known, net.numbers = [net.child], [1, 2]


def test_the_tables_of_names_are_mappings_that_write() -> None:
    net = nn.Module()
    net._modules["a"] = nn.Identity()
    net._parameters["w"] = nn.Parameter(mg.ones(1))
    assert list(net._modules.items()) == [("a", net.a)] and len(net._parameters) == 1
    del net._modules["a"]
    assert not hasattr(net, "a") and not net._modules
    with pytest.raises(KeyError):
        net._buffers["none"]


def test_changes_of_structure_and_mode_are_counted() -> None:
    net = Net()
    counter = nn.modules.changes

    def counts(change: Any) -> bool:
        before = counter.count
        change()
        return counter.count > before

    assert counts(lambda: setattr(net, "more", nn.Identity()))
    assert counts(lambda: setattr(net, "scale", None))
    assert counts(lambda: delattr(net, "more"))
    assert counts(lambda: setattr(net, "count", mg.ones(1, **HERE)))
    assert counts(net.eval) and not counts(net.eval) and counts(net.train)
    assert counts(lambda: setattr(net.last, "training", False))
    assert counts(lambda: net.requires_grad_(False)) and counts(lambda: net.to(mg.float32))
    assert counts(lambda: net.register_forward_hook(print).remove())
    assert counts(lambda: net.load_state_dict(net.state_dict()))
    assert counts(lambda: setattr(net.first.weight, "requires_grad", True)), "a parameter on its own"
    assert counts(lambda: net.first.weight.requires_grad_(False))
    assert not counts(lambda: mg.ones(2, **HERE).requires_grad_()), "an input that becomes a leaf"
    assert not counts(lambda: net.first.weight.requires_grad_(False))
    assert not counts(lambda: (net.state_dict(), list(net.parameters()), repr(net)))
    assert counts(lambda: setattr(net, "note", 3)) and not counts(lambda: setattr(net, "note", 3)), "another value"


# ---- traversal


def test_traversal_has_names_in_order_and_each_object_once() -> None:
    net = Net()
    net.tied = net.last
    assert [name for name, _ in net.named_parameters()] == [k for k in KEYS if "running" not in k and "num" not in k
                                                            and k != "count"]  # fmt: skip
    assert [name for name, _ in net.named_modules()] == ["", "first", "norm", "last"]
    assert "tied" in dict(net.named_modules(remove_duplicate=False))
    assert "tied.weight" in dict(net.named_parameters(remove_duplicate=False))
    assert [name for name, _ in net.named_children()] == ["first", "norm", "last"]
    assert [name for name, _ in net.named_parameters("net", recurse=False)] == ["net.scale"]
    assert len(list(net.children())) == 3 and len(list(net.modules())) == 4 and len(list(net.buffers())) == 5


def test_members_by_name() -> None:
    net = nn.Sequential(Net())
    assert net.get_parameter("0.first.weight") is net[0].first.weight
    assert net.get_buffer("0.norm.running_mean") is net[0].norm.running_mean
    assert net.get_submodule("") is net and net.get_submodule("0.last") is net[0].last
    net.set_submodule("0.last", nn.Identity())
    assert isinstance(net[0].last, nn.Identity)
    with pytest.raises(AttributeError, match="Net has no module 'none', only first, norm, last"):
        net.get_submodule("0.none")
    with pytest.raises(AttributeError, match="no parameter 'none', only weight, bias"):
        net.get_parameter("0.first.none")
    with pytest.raises(AttributeError, match="has no module 'none'"):
        net.set_submodule("none", nn.Identity(), strict=True)
    with pytest.raises(ArgumentError, match="must name a module"):
        net.set_submodule("", nn.Identity())


def test_apply_visits_children_first() -> None:
    seen: list[str] = []
    net = Net()
    assert net.apply(lambda m: seen.append(type(m).__name__)) is net
    assert seen == ["Linear", "BatchNorm1d", "Linear", "Net"]


def test_modes_and_gradients() -> None:
    net = Net()
    assert net.eval() is net and not net.norm.training and net.train().norm.training
    net(x()).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.zero_grad(set_to_none=False)
    assert all(not p.grad.numpy().any() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    assert not any(p.requires_grad for p in net.requires_grad_(False).parameters())
    with pytest.raises(DeclarationError, match="train: mode must be True or False"):
        net.train("yes")  # type: ignore[arg-type]


def test_a_subclass_without_forward_or_arguments_says_so() -> None:
    with pytest.raises(NotImplementedError, match=r"Module\.forward: a module that is called must define forward"):
        nn.Module()(1)
    with pytest.raises(TypeError, match="ReLU: too many positional"):
        nn.ReLU(1, 2)
    with pytest.raises(DeclarationError, match="Softmax2d: this class accepts no arguments, got 3"):
        nn.Softmax2d(3)


def test_the_signature_of_a_class_is_that_of_its_constructor() -> None:
    assert list(inspect.signature(Net).parameters) == ["width"]
    assert list(inspect.signature(Net()).parameters) == ["x", "offset"]
    assert list(inspect.signature(nn.ELU).parameters) == ["alpha", "inplace"]


# ---- state


def test_a_state_has_names_and_shares_memory() -> None:
    net = Net()
    state = net.state_dict()
    assert list(state) == KEYS and state._metadata["norm"] == {"version": 2}
    net.scale.detach().fill_(5.0)
    assert state["scale"].tolist() == [5.0] and not state["scale"].requires_grad
    assert net.state_dict(keep_vars=True)["scale"] is net.scale
    assert list(net.last.state_dict(prefix="p.")) == ["p.weight", "p.bias"]


def test_a_state_is_loaded_from_tensors_and_arrays() -> None:
    one, other = Net(), Net()
    assert repr(other.load_state_dict(one.state_dict())) == "<All keys matched successfully>"
    assert np.array_equal(one(x()).detach().numpy(), other(x()).detach().numpy())
    arrays = {name: value.numpy().astype(np.float32) for name, value in one.state_dict().items()}
    third = Net()
    third.load_state_dict(arrays)
    assert third.scale.dtype == mg.float64


def test_one_error_lists_all_keys_and_nothing_is_loaded() -> None:
    net = Net()
    before = {name: value.numpy().copy() for name, value in net.state_dict().items()}
    state = {name: value + 1 for name, value in net.state_dict().items()}
    state["last.weight"] = mg.ones(2, 2)
    state["stray"] = state.pop("scale")
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    error: Any = caught.value
    assert isinstance(error, StateError)
    assert error.missing_keys == ["scale"] and error.unexpected_keys == ["stray"] and len(error.errors) == 1
    for text in ("1 missing: scale", "1 unexpected: stray", "last.weight: float32(2, 2) in the state, float64(1, 3)"):
        assert text in str(error)
    assert all(np.array_equal(before[name], value.numpy()) for name, value in net.state_dict().items())
    del state["last.weight"]
    result = net.load_state_dict(state, strict=False)
    assert result.unexpected_keys == ["stray"] and set(result.missing_keys) == {"scale", "last.weight"}
    assert net.first.bias.tolist() == (before["first.bias"] + 1).tolist()


def test_a_common_prefix_is_named() -> None:
    net = Net()
    with pytest.raises(StateError, match=r"every unexpected key begins with 'module': write \{k.removeprefix"):
        net.load_state_dict({f"module.{k}": v for k, v in net.state_dict().items()})
    with pytest.raises(DeclarationError, match=r"read a file with mg.load\(path\) first"):
        net.load_state_dict("file.pt")  # type: ignore[arg-type]


def test_assign_takes_memory_and_dtype_and_leaves_the_object() -> None:
    net = Net()
    weight, value = net.first.weight, mg.ones(3, 2, dtype=mg.float32, device="reference")
    net.load_state_dict({"first.weight": value}, strict=False, assign=True)
    value.fill_(4.0)
    assert net.first.weight is weight and weight.dtype == mg.float32 and weight.tolist() == [[4.0, 4.0]] * 3
    assert weight.requires_grad


def test_a_state_of_batch_norm_without_a_count_loads() -> None:
    norm = nn.BatchNorm1d(2, **HERE)
    state = OrderedDict((k, v) for k, v in norm.state_dict().items() if k != "num_batches_tracked")
    assert norm.load_state_dict(state).missing_keys == []


def test_hooks_of_the_state_and_extra_state() -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            self.n = 0
            self.register_parameter("w", nn.Parameter(mg.ones(1)))

        def get_extra_state(self) -> Any:
            return {"n": self.n}

        def set_extra_state(self, state: Any) -> None:
            self.n = state["n"]

    one, other = Counter(), Counter()
    one.n = 7
    calls: list[Any] = []
    one.register_state_dict_pre_hook(lambda module, prefix, keep: calls.append(prefix))
    one.register_state_dict_post_hook(lambda module, state, prefix, meta: state.update(old=state.pop(f"{prefix}w")))

    def rename(module: Any, state: Any, prefix: str, *rest: Any) -> None:
        state[f"{prefix}w"] = state.pop("old")

    other.register_load_state_dict_pre_hook(rename)
    other.register_load_state_dict_post_hook(lambda module, keys: calls.append(keys.missing_keys))
    other.load_state_dict(one.state_dict())
    assert other.n == 7 and calls == ["", []]
    with pytest.raises(StateError, match="1 missing: _extra_state"):
        Counter().load_state_dict({"w": mg.ones(1)})


def test_a_hook_of_a_child_receives_the_part_of_the_child() -> None:
    net = mg.nn.Sequential(mg.nn.Linear(1, 1, device="reference"), mg.nn.Linear(1, 1, device="reference"))
    keys: list[Any] = []
    net[1].register_load_state_dict_pre_hook(lambda module, state, *rest: keys.extend(state))
    net.load_state_dict({k: mg.full_like(v, 7.0) for k, v in net.state_dict().items()})
    assert keys == ["1.weight", "1.bias"] and net[1].bias.tolist() == [7.0]


def test_a_prefix_is_removed_from_the_keys_and_from_the_metadata() -> None:
    net = Net()
    state = mg.nn.Sequential(OrderedDict(module=net)).state_dict()
    consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == list(net.state_dict()) and list(state._metadata) == list(net.state_dict()._metadata)
    net.load_state_dict(state)


def test_a_hook_after_loading_may_excuse_missing_keys() -> None:
    net = Net()
    net.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.remove("scale"))
    net.load_state_dict({k: v for k, v in net.state_dict().items() if k != "scale"})
    full = mg.nn.Linear(1, 1, device="reference")
    full.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.append("more"))
    assert full.load_state_dict(full.state_dict(), strict=False).missing_keys == ["more"]
    with pytest.raises(RuntimeError, match=r"a hook of Linear added missing keys, \['more'\]"):
        full.load_state_dict(full.state_dict())


# ---- conversions and copies


def test_conversions_keep_the_objects_and_convert_gradients() -> None:
    net = Net()
    net(x()).sum().backward()
    before = list(net.parameters())
    assert net.to(mg.float32) is net
    assert all(a is b for a, b in zip(before, net.parameters(), strict=True))
    assert {p.dtype for p in net.parameters()} == {p.grad.dtype for p in net.parameters()} == {mg.float32}
    assert net.norm.num_batches_tracked.dtype == mg.int64
    assert net.double().scale.dtype == mg.float64 and net.half().scale.dtype == mg.float16
    assert net.bfloat16().scale.dtype == mg.bfloat16 and net.float().scale.dtype == mg.float32
    assert str(net.to("cpu", mg.float64).scale.device) == "cpu" and net.cpu().scale.dtype == mg.float64
    assert net.to(mg.zeros(1, device="reference", dtype=mg.float32)).scale.dtype == mg.float32
    assert net.type(mg.float64).norm.num_batches_tracked.dtype == mg.float64
    with pytest.raises(DTypeError, match="dtype must be a floating dtype for the parameters of a module, got int64"):
        net.to(mg.int64)


def test_a_graph_notices_that_a_parameter_was_converted() -> None:
    net = Net()
    y = (net.first(x()) ** 2).sum() + (net.first.weight * net.first.weight).sum()
    net.float()
    with pytest.raises(StorageError, match="changed in place"):
        y.backward()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["deepcopy", "pickle"])
def test_copies_have_values_structure_and_ties_of_their_own(copied: Any) -> None:
    net = nn.Sequential(nn.Linear(2, 2, **HERE), nn.Linear(2, 2, **HERE))
    net[1].weight = net[0].weight
    net[0].bias.requires_grad_(False)
    net[0].extra = "kept"
    other = copied(net)
    assert other[1].weight is other[0].weight is not net[0].weight and other[0].extra == "kept"
    assert not other[0].bias.requires_grad and list(other.state_dict()) == list(net.state_dict())
    other[0].weight.detach().fill_(0.0)
    assert net[0].weight.detach().numpy().any() and repr(other) == repr(net)


# ---- hooks


def test_forward_hooks_see_and_replace() -> None:
    net = nn.Identity()
    log: list[str] = []
    net.register_forward_pre_hook(lambda m, args: log.append("second"))
    net.register_forward_pre_hook(lambda m, args: (args[0] + 1.0,), prepend=True)
    net.register_forward_hook(lambda m, args, y: y * 2.0)
    handle = net.register_forward_hook(lambda m, args, y: log.append(f"after {y.item()}"))
    assert net(mg.tensor(1.0)).item() == 4.0 and log == ["second", "after 4.0"]
    assert handle.id in handle.hooks_dict_ref() and len(handle.hooks_dict_ref()) == 2
    handle.remove()
    net(mg.tensor(1.0))
    assert log == ["second", "after 4.0", "second"] and handle.id not in handle.hooks_dict_ref()


def test_forward_hooks_with_keywords_and_after_an_error() -> None:
    net, seen = Net(), []
    net.register_forward_pre_hook(lambda m, args, kwargs: (args, {"offset": 100.0}), with_kwargs=True)
    net.register_forward_hook(lambda m, args, kwargs, y: seen.append(kwargs), with_kwargs=True)
    net.register_forward_hook(lambda m, args, y: seen.append(y), always_call=True)
    assert net(x(), offset=1.0).mean().item() > 50.0 and seen[0] == {"offset": 100.0}
    with pytest.raises(DTypeError):
        net("no tensor")
    assert seen[-1] is None
    with pytest.raises(ArgumentError, match=r"must return None or the pair \(args, kwargs\)"):
        net.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True, prepend=True)
        net(x())


def test_backward_hooks_see_and_replace_gradients() -> None:
    layer = nn.Linear(2, 2, **HERE)
    seen: list[Any] = []

    def after(module: Any, grad_input: Any, grad_output: Any) -> Any:
        seen.append((grad_input[0].shape, grad_output[0].tolist()))
        return (grad_input[0] * 0.0,)

    layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 3.0,))
    handle = layer.register_full_backward_hook(after)
    v = x(1).requires_grad_()
    layer(v).sum().backward()
    assert seen == [((1, 2), [[3.0, 3.0]])] and v.grad.tolist() == [[0.0, 0.0]]
    assert layer.bias.grad.tolist() == [3.0, 3.0]
    handle.remove()
    layer(v).sum().backward()
    assert len(seen) == 1 and v.grad.numpy().any()


def test_layers_with_backward_hooks_may_write_in_place() -> None:
    net, seen = nn.Sequential(nn.Linear(2, 2, **HERE), nn.ReLU(inplace=True)), []
    plain = copy.deepcopy(net)
    for layer in net:
        layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append(grad_output[0].shape))
    for each in (net, plain):
        each(x()).sum().backward()
    assert len(seen) == 2
    np.testing.assert_array_equal(net[0].weight.grad.numpy(), plain[0].weight.grad.numpy())


def test_backward_hooks_without_an_input_that_needs_a_gradient() -> None:
    layer, seen = nn.Linear(2, 2, **HERE), []
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append(grad_input))
    layer(x()).sum().backward()
    assert seen == [(None,)]
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: grad_output)
    with pytest.raises(ArgumentError, match="no input of the module requires a gradient, so the hook must return None"):
        layer(x()).sum().backward()


@pytest.mark.torch
def test_hooks_are_called_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")

    def run(library: Any, tensor: Any) -> list[Any]:
        log: list[Any] = []
        net = library.nn.Sequential(library.nn.Linear(2, 3), library.nn.Tanh(), library.nn.Linear(3, 1))
        for k, m in enumerate(net.modules()):
            m.register_forward_pre_hook(lambda m, a, k=k: log.append(("pre", k)))
            m.register_forward_hook(lambda m, a, y, k=k: log.append(("after", k, tuple(y.shape))))
            m.register_full_backward_pre_hook(lambda m, g, k=k: log.append(("backward pre", k, len(g))))
            m.register_full_backward_hook(
                lambda m, i, o, k=k: log.append(("backward", k, [None if g is None else tuple(g.shape) for g in i]))
            )
        net(tensor.requires_grad_()).sum().backward()
        return log

    assert run(mg, mg.ones(4, 2)) == run(torch, torch.ones(4, 2))


# ---- containers


def test_sequential() -> None:
    net = nn.Sequential(OrderedDict(a=nn.Identity(), b=nn.Flatten()))
    assert net.b is net[1] is net[-1] and [name for name, _ in net.named_children()] == ["a", "b"]
    assert isinstance(net[:1], nn.Sequential) and list(net[:1].state_dict()) == []
    net = nn.Sequential(nn.Identity()).append(nn.Flatten()).extend([nn.ReLU()])
    net.insert(1, nn.Tanh())
    assert [type(m).__name__ for m in net] == ["Identity", "Tanh", "Flatten", "ReLU"]
    del net[0]
    assert list(net._modules) == ["0", "1", "2"] and isinstance(net.pop(-1), nn.ReLU) and len(net) == 2
    assert len(net + net) == 4 and len(net * 2) == 4
    net[0] = nn.GELU()
    assert isinstance(net[0], nn.GELU)
    with pytest.raises(IndexOutOfRange, match="from -2 to 1, got 5"):
        net[5]


def test_module_list_and_dict() -> None:
    items = nn.ModuleList([nn.Identity()])
    items = items + nn.ModuleList([nn.Tanh()])
    items += [nn.ReLU()]
    assert len(items) == 3 and isinstance(items[1:], nn.ModuleList) and isinstance(items[-1], nn.ReLU)
    table = nn.ModuleDict({"a": nn.Tanh()})
    table.update([("b", nn.ReLU())])
    assert list(table.keys()) == ["a", "b"] and "a" in table and isinstance(table.pop("a"), nn.Tanh)
    assert [name for name, _ in table.items()] == ["b"] and len(table.values()) == 1
    del table["b"]
    assert len(table) == 0
    with pytest.raises(KeyError):
        table["b"]
    with pytest.raises(TypeError, match="registered module"):
        items.append(3)  # type: ignore[arg-type]


def test_parameter_list_and_dict() -> None:
    values = nn.ParameterList([mg.ones(2), nn.Parameter(mg.ones(3))])
    values.append("a note")
    values[0] = mg.zeros(2)
    assert len(values) == 3 and [p.numel() for p in values.parameters()] == [2, 3] and values[-1] == "a note"
    assert list(values.state_dict()) == ["0", "1"] and len(values[:2]) == 2
    assert "(1): Parameter containing: [float32 of size 3]" in repr(values)
    table = nn.ParameterDict({"a": mg.ones(2)})
    table["b"] = mg.ones(1)
    assert list(table.state_dict()) == ["a", "b"] and table.setdefault("a") is table["a"]
    assert table.pop("a").numel() == 2 and table.get("a") is None and list(table.copy().keys()) == ["b"]


def test_containers_print_as_pytorchs_with_the_number_of_parameters() -> None:
    net = nn.Sequential(nn.ModuleList([nn.Linear(2, 2) for _ in range(3)] + [nn.ReLU(inplace=True)]), nn.ModuleDict())
    assert repr(net) == (
        "Sequential(\n  (0): ModuleList(\n    (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)\n"
        "    (3): ReLU(inplace=True)\n  )\n  (1): ModuleDict()\n)  # 18 parameters"
    )


# ---- functions of parameters, and the summary


def test_functional_call_replaces_members_for_one_call() -> None:
    net = Net().eval()
    values = {name: p.detach() * 2.0 for name, p in net.named_parameters()}
    expected = copy.deepcopy(net)
    expected.load_state_dict(values, strict=False)
    got = mg.func.functional_call(net, (values, {}), x(), {"offset": 1.0})
    np.testing.assert_allclose(got.numpy(), expected(x(), offset=1.0).detach().numpy())
    assert net.scale.tolist() == [1.0]
    gradients = mg.func.grad(lambda v: mg.func.functional_call(net, v, x()).sum())(values)
    expected(x()).sum().backward()
    for name, p in expected.named_parameters():
        np.testing.assert_allclose(gradients[name].numpy(), p.grad.numpy(), err_msg=name)


def test_functional_call_ties_and_checks_names() -> None:
    net = nn.Sequential(nn.Linear(2, 2, **HERE), nn.Linear(2, 2, **HERE))
    net[1].weight = net[0].weight
    y = mg.func.functional_call(net, {"0.weight": mg.zeros(2, 2, **HERE)}, (x(),))
    np.testing.assert_allclose(y.detach().numpy(), np.tile(net[1].bias.detach().numpy(), (4, 1)))
    with pytest.raises(ArgumentError, match=r"has no 'w'"):
        mg.func.functional_call(net, {"w": mg.zeros(1)}, x(), strict=True)
    with pytest.raises(ArgumentError, match=r"got none for '0.bias'"):
        mg.func.functional_call(net, {"0.weight": net[0].weight}, x(), strict=True)
    with pytest.raises(ArgumentError, match=r"are one tensor in the module, but got different values"):
        mg.func.functional_call(net, {"0.weight": net[0].weight, "1.weight": mg.zeros(2, 2, **HERE)}, x())


def test_many_models_run_as_one() -> None:
    models = [Net().eval() for _ in range(3)]
    params, buffers = mg.func.stack_module_state(models)
    assert params["first.weight"].shape == (3, 3, 2) and params["first.weight"].requires_grad
    run = mg.func.vmap(lambda p, b: mg.func.functional_call(models[0], (p, b), (x(),)))
    expected = np.stack([model(x()).detach().numpy() for model in models])
    np.testing.assert_allclose(run(params, buffers).detach().numpy(), expected)
    with pytest.raises(ArgumentError, match="the same class and the same mode"):
        mg.func.stack_module_state([Net(), nn.Identity()])
    models[1].first.weight.requires_grad_(False)
    with pytest.raises(ArgumentError, match=r"'first.weight' must require a gradient in all models or in none"):
        mg.func.stack_module_state(models)


def test_the_summary_counts_and_leaves_the_model_as_it_was() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3, groups=1, **HERE), nn.BatchNorm2d(2, **HERE), nn.Flatten(),
                        nn.Linear(8, 3, **HERE))  # fmt: skip
    state = {name: value.numpy().copy() for name, value in net.state_dict().items()}
    table = nn.summary(net, mg.ones(2, 1, 4, 4, **HERE))
    assert [row.shape for row in table] == [(2, 3), (2, 2, 2, 2), (2, 2, 2, 2), (2, 8), (2, 3)]
    assert [row.parameters for row in table] == [0, 20, 4, 0, 27] and table.parameters == 51
    assert [row.products for row in table] == [0, 2 * 2 * 2 * 2 * 9, 0, 0, 2 * 8 * 3]
    assert table.size == (16 + 16 + 16 + 6) * 8 and table.seconds > 0
    assert net.training and all(np.array_equal(state[k], v.numpy()) for k, v in net.state_dict().items())
    assert net[0]._hooks is None
    text, html = str(table), table._repr_html_()
    assert "0: Conv2d" in text and "51 of 51 parameters are trained" in text and html.count("<tr>") == 7
    with pytest.raises(DeclarationError, match=r"model must be a mg.nn.Module"):
        nn.summary(print)  # type: ignore[arg-type]


def test_a_summary_lists_layers_that_are_not_called_so_that_parameters_add_up() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used = nn.Linear(4, 3, device="reference")
            self.spare = nn.Sequential(nn.LSTM(4, 5, device="reference"))

        def forward(self, x: mg.Tensor) -> mg.Tensor:
            return self.used(x)

    table = nn.summary(Net(), mg.zeros(2, 4, device="reference"))
    assert sum(row.parameters for row in table) == table.parameters == 15 + 4 * 5 * (4 + 5 + 2)
    assert table[-1].name == "spare.0" and "spare.0: LSTM  not called" in str(table)


def test_a_full_backward_hook_runs_once_under_double_backward():
    calls = []
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    model.register_full_backward_hook(lambda module, grad_input, grad_output: calls.append(grad_input))
    x = mg.Var([[1.0, 2.0]])
    (g,) = mg.grad(model(x).sum(), [x], create_graph=True)
    assert len(calls) == 1
    (g * g).sum().backward()
    assert len(calls) == 1 and x.grad is not None
    y = model(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert len(calls) == 3


def test_the_children_of_a_sequence_are_not_names_for_completion() -> None:
    net = mg.nn.Sequential(mg.nn.ReLU())
    assert "0" not in dir(net) and {"forward", "training"} <= set(dir(net))
