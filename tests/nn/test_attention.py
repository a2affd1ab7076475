"""scaled_dot_product_attention by blocks: every way in which scores are divided equals the definition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.errors import ShapeError
from minigrad.ops.nn import attention as definition
from minigrad.ops.nn import attention_blocks
from minigrad.runtime.plans import forget_plans
from minigrad.testing import gradcheck, gradgradcheck

F = mg.nn.functional
RNG = np.random.default_rng(7)
MASKS = {
    "none": None, "rows": (4, 6), "keys": (2, 1, 1, 6), "batch": (2, 1, 4, 6), "heads": (3, 4, 1), "all": (2, 3, 4, 6),
}  # fmt: skip


@pytest.fixture(params=["whole", "heads", "queries", "single"])
def cut(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks of all heads, of some, of some queries, of few: sizes that would need long sequences otherwise."""
    scores, causal = {"whole": (1 << 18, 128), "heads": (48, 128), "queries": (1, 3), "single": (1, 1)}[request.param]
    monkeypatch.setattr(attention_blocks, "SCORES", scores)
    monkeypatch.setattr(attention_blocks, "CAUSAL", causal)
    forget_plans()
    yield
    forget_plans()


def values(*shapes: tuple[int, ...], dtype: str = "float64") -> list[Any]:
    return [mg.Var(RNG.normal(size=shape), dtype, "reference") for shape in shapes]


def expect_definition(xs: list[Any], mask: Any = None, causal: bool = False) -> None:
    y = F.scaled_dot_product_attention(*xs, mask, is_causal=causal)
    z = definition.composition(*xs, mask, 0.0, causal, xs[0].shape[-1] ** -0.5)
    g = mg.tensor(RNG.normal(size=y.shape), device="reference")
    np.testing.assert_allclose(y.tolist(), z.tolist(), rtol=1e-9, atol=1e-12)
    for a, b in zip(mg.grad(y, xs, g), mg.grad(z, xs, g)):
        np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=1e-9, atol=1e-12)


@over("mask", MASKS)
@over("kind", ["bool", "float"])
def test_blocks_with_a_mask_are_the_definition(cut: None, mask: str, kind: str) -> None:
    shape = MASKS[mask]
    numbers = None if shape is None else RNG.random(shape) < 0.7 if kind == "bool" else RNG.normal(size=shape)
    operands = values((2, 3, 4, 2), (2, 3, 6, 2), (2, 3, 6, 5))
    expect_definition(operands, None if numbers is None else mg.tensor(numbers, device="reference"))


@over("n, m", [(1, 1), (5, 5), (7, 3), (3, 8), (0, 4), (4, 0)])
def test_causal_blocks_are_the_definition(cut: None, n: int, m: int) -> None:
    expect_definition(values((2, n, 3), (2, m, 3), (2, m, 2)), causal=bool(m))


def test_queries_without_elements_weigh_all_keys_alike() -> None:
    query, key, value = values((2, 3, 0), (2, 4, 0), (2, 4, 2))
    y = F.scaled_dot_product_attention(query, key, value)
    np.testing.assert_allclose(y.tolist(), value.mean(1, True).expand(2, 3, 2).tolist(), rtol=1e-12)


def test_heads_are_shared_and_lie_in_any_strides(cut: None) -> None:
    query, key, value = values((2, 5, 4, 3), (2, 6, 2, 3), (6, 2, 2, 3))
    xs = [query.transpose(1, 2), key.transpose(1, 2), value.permute(1, 2, 0, 3)]
    y = F.scaled_dot_product_attention(*xs, enable_gqa=True)
    repeated = [xs[0], *(x.repeat_interleave(2, 1) for x in xs[1:])]
    np.testing.assert_allclose(y.tolist(), F.scaled_dot_product_attention(*repeated).tolist(), rtol=1e-12)


def test_a_query_that_sees_nothing_gives_zeros_and_has_no_gradient(cut: None) -> None:
    xs = values((2, 3, 2), (2, 4, 2), (2, 4, 2))
    mask = mg.tensor([[False] * 4, [True] * 4, [True] + [False] * 3], device="reference")
    y = F.scaled_dot_product_attention(*xs, mask)
    assert y[:, 0].tolist() == [[0.0, 0.0]] * 2 and not y.isnan().any().item()
    assert mg.grad(y.sum(), [xs[0]])[0][:, 0].tolist() == [[0.0, 0.0]] * 2


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_a_score_of_nan_stays_beside_keys_that_no_query_sees(cut: None, score: float) -> None:
    query, key, value = (mg.ones(1, n, 1, device="reference") for n in (1, 3, 3))
    key[0, 1] = score
    for mask in ([True, True, False], [False, True, False], [False, score != score, False]):
        y = F.scaled_dot_product_attention(query, key, value, mg.tensor([mask], device="reference"))
        assert y.isnan().all().item(), mask


@pytest.mark.parametrize("causal", [False, True])
def test_dropout_keeps_its_share_and_both_ways_draw_the_same(cut: None, causal: bool) -> None:
    def attend(query: Any, key: Any, value: Any) -> Any:
        mg.manual_seed(5)
        return F.scaled_dot_product_attention(query, key, value, dropout_p=0.4, is_causal=causal)

    xs = values((2, 3, 1), (2, 4, 1), (2, 4, 2))
    gradcheck(attend, xs)
    gradgradcheck(attend, xs)
    assert (attend(*xs) != F.scaled_dot_product_attention(*xs, is_causal=causal)).any().item()
    many = values((1, 60, 2), (1, 50, 2))
    ones = mg.ones(1, 50, 1, dtype="float64", device="reference")
    assert abs(F.scaled_dot_product_attention(*many, ones, dropout_p=0.25).mean().item() - 1) < 0.1
    kept = F.scaled_dot_product_attention(*many, ones, dropout_p=1.0)
    assert kept.abs().max().item() == 0.0


def test_every_order() -> None:
    xs = values((2, 3, 2), (2, 4, 2), (2, 4, 2))
    mask = mg.tensor(RNG.normal(size=(3, 4)), device="reference")
    gradgradcheck(lambda *xs: F.scaled_dot_product_attention(*xs, mask), xs)
    gradgradcheck(lambda *xs: F.scaled_dot_product_attention(*xs, is_causal=True), xs)


def test_a_batch_is_the_whole() -> None:
    plain = [x.detach() for x in values((2, 3, 2), (2, 4, 2), (2, 4, 2))]
    whole = F.scaled_dot_product_attention(*plain)
    np.testing.assert_allclose(
        mg.func.vmap(F.scaled_dot_product_attention)(*plain).tolist(), whole.tolist(), rtol=1e-12
    )


def test_a_tangent_is_a_quotient() -> None:
    plain = [x.detach() for x in values((2, 3, 2), (2, 4, 2), (2, 4, 2))]
    tangents = [mg.ones_like(x) for x in plain]
    _, dy = mg.func.jvp(F.scaled_dot_product_attention, tuple(plain), tuple(tangents))
    shifted = [(F.scaled_dot_product_attention(*[x + s * 1e-6 for x in plain])) for s in (1, -1)]
    np.testing.assert_allclose(dy.tolist(), ((shifted[0] - shifted[1]) / 2e-6).tolist(), rtol=1e-6, atol=1e-8)


def test_a_mask_has_a_gradient() -> None:
    plain = [x.detach() for x in values((2, 3, 2), (2, 4, 2), (2, 4, 2))]
    bias = mg.Var(RNG.normal(size=(3, 4)), device="reference")
    gradcheck(lambda bias: F.scaled_dot_product_attention(*plain, bias), [bias])


def test_scores_are_not_kept() -> None:
    """The record of a call holds its operands; a definition would hold the weights, 64 times as large here."""
    xs = values((1, 64, 1), (1, 64, 1), (1, 64, 1))
    y = F.scaled_dot_product_attention(*xs)
    tape = str(mg.tape(y.sum()))
    assert "(1, 64, 64)" not in tape and "scaled_dot_product_attention" in tape


def test_halves_are_computed_in_float32_and_what_does_not_fit_is_refused() -> None:
    xs = values((2, 3, 2), (2, 4, 2), (2, 4, 2), dtype="float16")
    y = F.scaled_dot_product_attention(*xs)
    assert y.dtype is mg.float16 and mg.grad(y.sum(), xs)[0].dtype is mg.float16
    a, b = mg.ones(3, 2, device="reference"), mg.ones(4, 3, device="reference")
    with pytest.raises(mg.ShapeError, match=r"must have the shapes \(\.\.\., L, E\)"):
        F.scaled_dot_product_attention(a, b, b)
    with pytest.raises(mg.ArgumentError, match="p must be a probability"):
        F.scaled_dot_product_attention(a, a, a, dropout_p=1.5)


def test_causal_attention_to_more_keys_than_queries_is_the_same_on_the_cpu() -> None:
    shapes = (3, 3, 2), (3, 5, 2), (3, 5, 2)
    numbers = [RNG.normal(size=shape) for shape in shapes]
    found = []
    for device in ("reference", "cpu"):
        xs = [mg.Var(x, "float32", device) for x in numbers]
        y = F.scaled_dot_product_attention(*xs, is_causal=True)
        found.append([x.tolist() for x in mg.grad((y * y).sum(), xs)])
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_causal_mask_begins_at_the_first_key_or_ends_at_the_last() -> None:
    bias = mg.nn.attention.bias
    assert bias.causal_upper_left(2, 4).int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0]]
    assert bias.causal_lower_right(2, 4).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    q, k = mg.randn(1, 3, 5), mg.randn(1, 4, 5)
    whole = F.scaled_dot_product_attention(mg.cat([mg.ones(1, 1, 5), q], 1), k, k, is_causal=True)
    part = F.scaled_dot_product_attention(q, k, k, bias.causal_lower_right(3, 4))
    assert part.allclose(whole[:, 1:], atol=1e-6)


@pytest.mark.parametrize("separate", [False, True])
def test_attention_as_a_function_is_that_of_the_module(separate: bool) -> None:
    sizes = {"kdim": 3, "vdim": 2} if separate else {}
    module = mg.nn.MultiheadAttention(4, 2, add_bias_kv=True, **sizes, device="reference", dtype=mg.float64).eval()
    shapes = ((3, 2, 4), (5, 2, 3 if separate else 4), (5, 2, 2 if separate else 4))
    inputs = [mg.randn(*shape, device="reference", dtype=mg.float64) for shape in shapes]
    padding = mg.tensor([[False] * 5, [True, False, False, False, True]], device="reference")
    arguments = (4, 2, module.in_proj_weight, module.in_proj_bias * 1.0, module.bias_k, module.bias_v, False, 0.5,
                 module.out_proj.weight, module.out_proj.bias, False)  # fmt: skip
    weights = {f"{name}_proj_weight": getattr(module, f"{name}_proj_weight") for name in "qkv"}
    function = mg.nn.functional.multi_head_attention_forward
    got = function(*inputs, *arguments, key_padding_mask=padding, use_separate_proj_weight=separate, **weights)
    want = module(*inputs, padding)
    assert got[0].tolist() == want[0].tolist() and got[1].tolist() == want[1].tolist()
    got[0].sum().backward()
    assert module.in_proj_bias.grad is not None and module.out_proj.weight.grad is not None
    assert function(*inputs, *arguments, need_weights=False, use_separate_proj_weight=separate, **weights)[1] is None
    with pytest.raises(mg.ArgumentError, match="num_heads must divide embed_dim"):
        function(*inputs, 4, 3, *arguments[2:])
    with pytest.raises(mg.ArgumentError, match="static_k and static_v must be None"):
        function(*inputs, *arguments, static_k=inputs[1])


@pytest.mark.torch
def test_attention_as_a_function_has_the_parameters_of_pytorchs() -> None:
    import inspect

    torch = pytest.importorskip("torch")
    ours, theirs = (inspect.signature(lib.nn.functional.multi_head_attention_forward) for lib in (mg, torch))
    assert [(p.name, p.default) for p in ours.parameters.values()] == [
        (p.name, p.default) for p in theirs.parameters.values()]  # fmt: skip


@pytest.mark.parametrize("kind", ["bool", "float64"])
@pytest.mark.parametrize("tracked", [False, True])
def test_a_mask_of_another_shape_is_described_as_it_was_passed(kind: str, tracked: bool) -> None:
    x = mg.zeros(1, 2, 5, 4, device="reference")
    mask = mg.ones(3, 4, dtype="float64", device="reference").to(kind)
    if tracked and kind != "bool":
        mask.requires_grad_()
    words = rf"attn_mask must have the shape \(1, 2, 5, 5\) .*, got {kind}\(3, 4\); reshape the mask"
    with pytest.raises(ShapeError, match=words):
        mg.nn.functional.scaled_dot_product_attention(x, x, x, mask)
    with pytest.raises(ShapeError, match=r"attn_mask must have the shape \(2, 5, 5\)"):
        mg.func.vmap(lambda x: mg.nn.functional.scaled_dot_product_attention(x, x, x, mask))(x)


def test_a_causal_mask_of_another_length_is_refused() -> None:
    model = mg.nn.Transformer(4, 2, 1, 1, 4, 0.0, device="reference")
    source, target = mg.ones(3, 1, 4, device="reference"), mg.ones(2, 1, 4, device="reference")
    right = model.generate_square_subsequent_mask(3)
    assert model(source, target, src_mask=right).shape == (2, 1, 4)
    for masks in ({"src_mask": model.generate_square_subsequent_mask(4)}, {"tgt_mask": right}):
        with pytest.raises(ShapeError, match="MultiheadAttention: attn_mask must have the shape"):
            model(source, target, **masks)
    attention = mg.nn.MultiheadAttention(4, 2, device="reference")
    with pytest.raises(ShapeError, match=r"attn_mask must have the shape \(3, 3\)"):
        attention(source, source, source, attn_mask=right[:2], is_causal=True, need_weights=False)
