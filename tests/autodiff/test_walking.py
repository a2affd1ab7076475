"""The graph with PyTorch's names: nodes, edges, hooks of several tensors, saved values, and dual tensors."""

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.autograd import forward_ad, graph
from minigrad.errors import ArgumentError, DTypeError, GradientError, ShapeError, StorageError

DTYPE: Any = {"dtype": "float64", "device": "reference"}


def leaf(*values: float) -> mg.Var:
    return mg.Var(list(values), **DTYPE)


def row(*values: float) -> mg.Tensor:
    return mg.tensor(list(values), **DTYPE)


class Cube(mg.Function):
    """x ** 3 with a context of its own."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.power = 3
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 3.0 * x * x * g


def test_a_graph_is_traversed_from_the_result_to_its_leaves() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = (x * w + 1.0).sum()
    seen, stack = [], [y.grad_fn]
    while stack:
        node = stack.pop()
        seen.append(node.name())
        stack += [each for each, _ in node.next_functions if each is not None]
    assert sorted(seen) == ["AccumulateGrad", "AccumulateGrad", "AddBackward0", "MulBackward0", "SumBackward0"]
    assert x.grad_fn is None and y.grad_fn is y.grad_fn and isinstance(y.grad_fn, graph.Node)
    assert x.expand_as(x).grad_fn.next_functions[0][0].variable is x
    assert (y + 1.0).grad_fn.next_functions == ((y.grad_fn, 0), (None, 0))
    values, _ = mg.sort(x * 2.0)
    assert (values * 2.0).grad_fn.next_functions[0] == (values.grad_fn, values.output_nr)
    assert repr(y.grad_fn).startswith("<SumBackward0 of BackpropOp#")


def test_saved_values_and_metadata_of_a_node() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * w
    node = y.grad_fn
    assert node._saved_self is x and node._saved_other is w and {"_saved_self", "_saved_other"} <= set(dir(node))
    assert y.exp().grad_fn._saved_result.tolist() == y.exp().tolist() and node.saved_tensors == (x, w)
    assert (y.sum(0)).grad_fn._saved_dim is not None
    node.metadata["note"] = 1
    del node
    assert y.grad_fn.metadata == {"note": 1} and y.grad_fn(row(1.0, 1.0))[0].tolist() == [3.0, 4.0]
    cube = Cube.apply(x)
    assert cube.grad_fn.name() == "CubeBackward" and cube.grad_fn.power == 3 and cube.grad_fn.saved_tensors[0] is x
    with pytest.raises(AttributeError, match="MulBackward0"):
        _ = y.grad_fn._saved_nothing
    with pytest.raises(GradientError, match="one gradient per result"):
        y.grad_fn()
    y.sum().backward()
    with pytest.raises(GradientError, match="freed the saved values"):
        _ = y.grad_fn._saved_self
    alive = weakref.ref(y.op)
    del y
    gc.disable()
    assert alive() is None, "a view must not keep its node alive"
    gc.enable()


def test_edges_stand_for_tensors() -> None:
    x = leaf(1.0, 2.0)
    y = x * 3.0
    edge, end = graph.get_gradient_edge(y), graph.get_gradient_edge(x)
    loss = (y * y).sum()
    assert edge == graph.GradientEdge(y.grad_fn, 0) and end.node.variable is x
    (g,) = mg.autograd.grad(loss, edge, retain_graph=True)
    assert g.tolist() == [6.0, 12.0]
    assert mg.autograd.grad(loss, [end, edge], retain_graph=True)[0].tolist() == [18.0, 36.0]
    assert mg.autograd.grad(edge, x, g, retain_graph=True)[0].tolist() == [18.0, 36.0]
    mg.autograd.backward(loss, inputs=[end], retain_graph=True)
    assert x.grad.tolist() == [18.0, 36.0]
    with pytest.raises(GradientError, match="requires a gradient"):
        graph.get_gradient_edge(row(1.0))
    with pytest.raises(ArgumentError, match="GradientEdge"):
        mg.autograd.grad(x.sum(), edge, materialize_grads=True)


def test_a_hook_of_several_tensors_runs_once_per_pass() -> None:
    x, w, got = leaf(2.0), leaf(3.0), []
    handle = graph.register_multi_grad_hook((x, w), lambda gs: got.append([g and g.item() for g in gs]))
    first = graph.register_multi_grad_hook((x, w), lambda g: got.append(g.item()), mode="any")
    (x * w).sum().backward()
    assert got == [3.0, [3.0, 2.0]] or got == [2.0, [3.0, 2.0]]
    got.clear()
    (w * 5.0).sum().backward()
    assert got == [5.0, [None, 5.0]]
    first.remove()
    y = x * w
    failing = x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward(retain_graph=True)
    failing.remove()
    got.clear()
    y.sum().backward()
    assert got == [[3.0, 2.0]], "a failed pass must leave nothing behind"
    handle.remove()
    (x * w).sum().backward()
    assert len(got) == 1
    with pytest.raises(ArgumentError, match="mode"):
        graph.register_multi_grad_hook((x,), print, mode="some")


def test_saved_values_may_be_written_inside_the_block() -> None:
    x = leaf(1.0, 2.0)
    with graph.allow_mutation_on_saved_tensors() as context:
        y = x.clone()
        z, part = (y * y).sum(), y[:1]
        part.mul_(10.0)
        assert len(context.cloned) == 1 and mg.grad(z, x).tolist() == [2.0, 4.0] and len(context.cloned) == 0
        again = (y * y).sum()
        y.sin_()
        g = mg.grad(again, x, create_graph=True)
        assert g.tolist() == [200.0, 4.0]
        late = (y * y).sum()
        with pytest.raises(GradientError, match="nested"), graph.allow_mutation_on_saved_tensors():
            pass
    with pytest.raises(GradientError, match="inside the block"):
        late.backward()
    y = x.clone()
    z = (y * y).sum()
    y.mul_(2.0)
    with pytest.raises(StorageError, match="changed in place"):
        z.backward()


def test_blocks_of_saved_values() -> None:
    x, packed = leaf(1.0, 2.0), []

    class Counting(graph.saved_tensors_hooks):
        def __init__(self) -> None:
            super().__init__(lambda x: packed.append(x) or x, lambda x: x)

    with Counting():
        y = (x * x * 3.0).sum()
    assert len(packed) == 2, "the number 3.0 is not a tensor of the user"
    with graph.save_on_cpu():
        z = (x * x).sum()
    assert mg.grad(y, x).tolist() == [6.0, 12.0] and mg.grad(z, x).tolist() == [2.0, 4.0]
    with graph.disable_saved_tensors_hooks("not here"), pytest.raises(GradientError, match="not here"), Counting():
        pass
    with Counting(), pytest.raises(GradientError, match="not here"), graph.disable_saved_tensors_hooks("not here"):
        pass
    block = Counting()
    block.__enter__()
    block.__exit__()
    packed.clear()
    assert (x * x).requires_grad and not packed
    before = x._version
    graph.increment_version([x])
    assert x._version == before + 1 and x[:1]._base is x and x._base is None
    y = (x * x).sum()
    graph.increment_version(x)
    with pytest.raises(StorageError):
        y.backward()


def test_a_user_s_unpack_leaves_no_saver_behind() -> None:
    from minigrad.runtime.noting import savers

    x = leaf(1.0)
    block: Any = graph.saved_tensors_hooks(lambda x: x, lambda x: (block.__enter__(), x)[1])
    with block:
        (x * x).sum().backward()
    assert savers.stack == ()


def test_dual_tensors() -> None:
    x, t = leaf(1.0, 2.0), row(1.0, 10.0)
    with forward_ad.dual_level() as level:
        dual = forward_ad.make_dual(x, t)
        value, tangent = forward_ad.unpack_dual(dual * dual)
        assert level == 0 and value.tolist() == [1.0, 4.0] and tangent.tolist() == [2.0, 40.0]
        assert mg.grad(tangent.sum(), x).tolist() == [2.0, 20.0]
        assert forward_ad.unpack_dual(x) == (x, None) and forward_ad.unpack_dual(dual).tangent is t
        with pytest.raises(GradientError, match="one level"):
            forward_ad.enter_dual_level()
        with pytest.raises(ShapeError):
            forward_ad.make_dual(x, row(1.0))
        with pytest.raises(DTypeError):
            forward_ad.make_dual(mg.tensor([1], device="reference"), t)
        constant = forward_ad.unpack_dual(forward_ad.make_dual(row(1.0, 2.0), t)).primal
        assert value.requires_grad and not constant.requires_grad and constant.op is None
    assert forward_ad.unpack_dual(dual).tangent is None
    with pytest.raises(GradientError, match="no level is open"):
        forward_ad.make_dual(x, t)


def test_vmap_over_autograd_grad() -> None:
    x = leaf(1.0, 2.0)
    y = mg.stack([x[0] * x[1], x[0] * 3.0, (x * x).sum()])
    rows = mg.eye(3, **DTYPE)
    jacobian = mg.vmap(lambda v: mg.autograd.grad(y, x, v, retain_graph=True)[0])(rows)
    assert jacobian.tolist() == [[2.0, 1.0], [3.0, 0.0], [2.0, 4.0]]
    cubes = Cube.apply(x)
    both = mg.vmap(lambda v: mg.autograd.grad(cubes, x, v, create_graph=True)[0], out_dims=(1,))(mg.eye(2, **DTYPE))
    assert both.tolist() == [[3.0, 0.0], [0.0, 12.0]] and mg.grad(both.sum(), x).tolist() == [6.0, 12.0]
    with pytest.raises(GradientError, match="must not be a value of a transform"):
        mg.vmap(lambda v: y.backward(v, retain_graph=True) or v)(rows)
    integers = mg.arange(3, device="reference")
    assert mg.autograd.grad(y, x, integers, retain_graph=True)[0].tolist() == [7.0, 8.0]
    unused = leaf(1.0)
    (zero,) = mg.autograd.grad(y.sum(), unused, materialize_grads=True)
    assert zero.tolist() == [0.0] and zero.requires_grad
    with pytest.raises(ArgumentError, match="at least one"):
        mg.autograd.grad(y.sum(), [])


def test_writes_into_expanded_tensors() -> None:
    x = leaf(1.0, 2.0, 3.0)
    for write, after, g in (
        (lambda e: e.__setitem__((0, 1), 10.0), [1.0, 10.0, 3.0], [2.0, 0.0, 6.0]),
        (lambda e: e.__setitem__(1, 5.0), [5.0, 5.0, 5.0], [0.0, 0.0, 0.0]),
        (lambda e: e.__setitem__(e > 2.5, 0.0), [1.0, 2.0, 0.0], [2.0, 4.0, 0.0]),
        (lambda e: e.__setitem__([0, 1], 4.0), [4.0, 4.0, 4.0], [0.0, 0.0, 0.0]),
        (lambda e: e.masked_fill_(e > 1.5, 7.0), [1.0, 7.0, 7.0], [2.0, 0.0, 0.0]),
        (lambda e: e.zero_(), [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    ):
        base = x * 1.0
        write(base.expand(2, 3))
        assert base.tolist() == after
        assert not any(g) or mg.grad((base * base).sum(), x).tolist() == g
    with pytest.raises(StorageError, match="share memory"):
        (x * 1.0).expand(2, 3).add_(1.0)


def test_arguments_of_a_checkpoint() -> None:
    import contextlib

    from minigrad.utils.checkpoint import set_checkpoint_early_stop

    runs: list[str] = []

    @contextlib.contextmanager
    def noted(name: str) -> Any:
        runs.append(name)
        yield

    def work(x: Any) -> Any:
        y = x.sin().exp()
        runs.append("end")
        return y.clone()

    x = leaf(0.5)
    pair = lambda: (noted("first"), noted("second"))
    mg.checkpoint(work, x, context_fn=pair).sum().backward()
    assert runs == ["first", "end", "second"], "the second run stops at the last value that is needed"
    runs.clear()
    mg.checkpoint(work, x, early_stop=False).sum().backward()
    assert runs == ["end", "end"]
    runs.clear()
    with set_checkpoint_early_stop(False):
        y = mg.checkpoint(work, x)
    y.sum().backward()
    assert runs == ["end", "end"]
    with pytest.raises(ArgumentError, match="determinism_check"):
        mg.checkpoint(work, x, determinism_check="some")


def test_a_derived_gradient_of_a_gradient_in_a_hook() -> None:
    x, threads = leaf(1.0, 2.0), []

    def more(g: Any) -> Any:
        with mg.enable_grad():
            own = g.detach().requires_grad_()
            (own * 2.0).sum().backward()
        return own.grad + g

    y = x * x
    y.register_hook(more)
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 12.0]
    thread = threading.Thread(target=lambda: threads.append(mg.grad((x * x).sum(), x).tolist()))
    thread.start()
    thread.join()
    assert threads == [[2.0, 4.0]] and mg.autograd.is_multithreading_enabled()
    with mg.autograd.set_multithreading_enabled(False):
        assert not mg.autograd.is_multithreading_enabled()
    assert mg.autograd.is_multithreading_enabled()


def test_options_of_pytorch_s_gradient_checks() -> None:
    class Wrong(Cube):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = mg.Var(np.array([1.5]), device="reference")
    assert mg.autograd.gradcheck(Cube.apply, x, check_batched_grad=False, nondet_tol=0.0, fast_mode=True)
    assert mg.autograd.gradcheck(Wrong.apply, x, raise_exception=False) is False
    with mg.inference_mode():
        assert mg.is_inference(x * 2.0) and not mg.is_inference(x)


def test_fills_of_values_of_transforms() -> None:
    rows = mg.tensor([[1.0, -1.0], [-2.0, 3.0]], device="reference")
    assert mg.func.vmap(lambda x: x.clone().masked_fill_(x > 0, 0.0))(rows).tolist() == [[0.0, -1.0], [-2.0, 0.0]]
    one = mg.tensor(1.0, device="reference")
    with pytest.raises(GradientError, match=r"fill_: .* belongs to a transform and cannot be written in place"):
        mg.func.jvp(lambda s: mg.zeros(2, device="reference").fill_(s) * s, (one,), (one,))
