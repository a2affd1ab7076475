"""Derived rules: `vjp="derived"` returns the same as a rule written by hand, for derivatives of every order."""

from __future__ import annotations

import ast
import itertools
import linecache
import math
import random

import numpy as np
import pytest
from cases import over

import minigrad as mg
from minigrad.declare.derivative import derivative
from minigrad.declare.derived import derived_rule
from minigrad.declare.record import schema
from minigrad.testing import gradcheck

numbered = itertools.count()
SAMPLES = [*np.linspace(-2.7, 2.9, 23), 0.5, 30.0, -30.0]
# Ties: where their rules share the gradient, or say what it is, the derived one follows `==`.  Others call
# functions whose ops have no rules that can be derived from, or are nan where the operand is outside of the domain; or
# the gradient passes through a bound, or is multiplied by a zero there; or complex numbers are made or read.
APART = {"at_least", "squared_distance", "sign", "rsqrt", "maximum", "minimum", "logaddexp", "logaddexp2",
         "log_sigmoid", "softplus", "frexp", "fmod", "logit", "entr", "digamma", "zeta", "nextafter",
         "cross_entropy_of_one", "conj_physical", "complex", "polar", "angle", "imag_copy"}  # fmt: skip


def declared(source: str, name: str = "f") -> object:
    """What a notebook cell declares."""
    file = f"<derived {next(numbered)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = {"mg": mg, "math": math, "__name__": "cell"}
    exec(compile(source, file, "exec"), space)
    return space[name]


def op_of(args: str, *lines: str, head: str = "", more: str = "") -> object:
    """An op with derived rules."""
    body = "\n".join(f"    {line}" for line in lines)
    decorator = f'@mg.elementwise(dtype=mg.rules.to_float, vjp="derived"{more})'
    return declared(f'{head}\n{decorator}\ndef f({args}):\n    """An op."""\n{body}\n')


def reference(*values: object, dtype: str = "float64") -> list[mg.Var]:
    return [mg.Var(np.asarray(x, dtype), device="reference") for x in values]


# ---- against rules written by hand ----------------------------------------------------------------------------------


def by_hand() -> list[tuple[str, int]]:
    ops = [op for op in schema.values() if op.kind == "elementwise" and op.differentiable and not op.derived
           and op.result is None and op.public.__module__.startswith("minigrad.")]  # fmt: skip
    return [(op.name, k) for op in ops for k, rule in enumerate(op.rules) if rule is not None and op.name not in APART]


@over(("name", "k"), by_hand())
def test_a_derived_rule_is_the_one_written_by_hand(name: str, k: int) -> None:
    op = schema[name]
    rng = np.random.default_rng(len(name))
    xs = [mg.tensor(rng.permutation(SAMPLES), device="reference") for _ in op.operands]
    if name == "where":
        xs[0] = xs[0] > 0
    g = mg.tensor(rng.standard_normal(len(SAMPLES)), device="reference")
    values = dict(zip(op.operands, xs)) | {"y": op.public(*xs)}
    rule, other = op.rules[k], derived_rule(op, k)
    expected, result = (each.fn(g, *[values[s] for s in each.saves]).numpy() for each in (rule, other))
    np.testing.assert_allclose(result, expected, rtol=1e-9, atol=1e-12)


# ---- orders, modes, forms -------------------------------------------------------------------------------------------


def test_every_order_of_a_choice_is_that_of_the_branch_that_was_taken() -> None:
    f = op_of("x", "return 0 if x <= 0 else math.sqrt(x)")
    (x,) = reference([0.0, 4.0, -1.0])
    first = mg.grad(f(x).sum(), x, create_graph=True)
    second = mg.grad(first.sum(), x, create_graph=True)
    third = mg.grad(second.sum(), x)
    assert first.tolist() == [0.0, 0.25, 0.0]
    assert second.tolist() == [0.0, -1 / 32, 0.0] and third.tolist() == [0.0, 3 / 256, 0.0]


def test_a_rule_saves_only_what_it_reads() -> None:
    f = op_of("x, y, z", "return x * y + z")
    xs = reference(2.0, 3.0, 5.0)
    node = f(*xs).op
    assert [f.op.value_name(k) for k in f.op.saves[0b111]] == ["x", "y"]
    assert f.op.saves[0b001] == (1,) and f.op.saves[0b100] == () and len(node.saved) == 2
    assert [g.item() for g in mg.grad(f(*xs), xs)] == [3.0, 2.0, 1.0]


def test_the_derivative_in_the_gradient_is_the_rule_itself() -> None:
    f = op_of("x", "return math.exp(x) * math.sin(x)")
    rule = f.op.rules[0].fn.op
    assert rule.rules[0].fn is rule.public and rule.rules[0].saves == ("x",)


def test_a_gradient_passes_without_a_kernel() -> None:
    f = op_of("x, y, z", "return x - y * z")
    (x, y, z) = reference(2.0, 3.0, 5.0)
    g = mg.tensor(1.5, device="reference")
    assert f.op.rules[0].fn(g) is g
    assert [each.item() for each in mg.grad(f(x, y, z), (x, y, z))] == [1.0, -5.0, -3.0]


def test_forward_mode_batches_and_numbers() -> None:
    f = op_of("x, rate=0.5", "return x * math.tanh(rate * x)")
    (x,) = reference(SAMPLES)
    by_parts = lambda x: x * (0.5 * x).tanh()
    ones = mg.ones_like(x.detach())
    for function in (f, lambda x: f(x, 0.5), lambda x: f(x, rate=mg.tensor(0.5, device="reference"))):
        y, tangent = mg.func.jvp(function, (x.detach(),), (ones,))
        expected_y, expected = mg.func.jvp(by_parts, (x.detach(),), (ones,))
        np.testing.assert_allclose(tangent.numpy(), expected.numpy(), rtol=1e-12)
        np.testing.assert_allclose(y.numpy(), expected_y.numpy(), rtol=1e-12)
    hessians = [mg.func.vmap(mg.func.grad(mg.func.grad(g)))(x.detach()).numpy() for g in (f, by_parts)]
    np.testing.assert_allclose(*hessians, rtol=1e-9, atol=1e-12)


def test_dtypes_broadcasts_and_integers_among_the_operands() -> None:
    f = op_of("x, n", "return x / (1 + n * n)")
    x = mg.Var(np.array([[1.0], [2.0]], "float32"), device="reference")
    n = mg.tensor([1, 2, 3], device="reference")
    g = mg.grad(f(x, n).sum(), x)
    assert g.dtype is mg.float32 and g.shape == (2, 1)
    np.testing.assert_allclose(g.numpy(), np.full((2, 1), 1 / 2 + 1 / 5 + 1 / 10, "float32"))
    (w,) = reference([1.0, 2.0, 3.0])
    gx, gw = mg.grad(f(x, w).sum(), (x, w))
    assert (gx.dtype, gw.dtype) == (mg.float32, mg.float64)
    n = np.arange(1.0, 4.0)
    np.testing.assert_allclose(gw.numpy(), -3 * 2 * n / (1 + n * n) ** 2)


def test_a_device_that_compiles() -> None:
    f = op_of("x", "return x * math.tanh(math.log1p(math.exp(x)))")
    values = np.linspace(-2.0, 2.0, 7)
    x = mg.Var(values, device="cpu")
    result = mg.grad(f(x).sum(), x)
    t = np.log1p(np.exp(values))
    expected = np.tanh(t) + values * (1 - np.tanh(t) ** 2) / (1 + np.exp(-values))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)


def test_several_results() -> None:
    f = op_of("r, angle", "return r * math.cos(angle), r * math.sin(angle)", more=', outputs=("x", "y")')
    r, angle = reference([1.0, 2.0], [0.3, 2.0])
    assert gradcheck(lambda r, a: f(r, a).x * 3.0 + f(r, a).y, [r, angle])
    gr, ga = mg.grad(f(r, angle).y.sum(), (r, angle))
    np.testing.assert_allclose(gr.numpy(), np.sin([0.3, 2.0]))
    np.testing.assert_allclose(ga.numpy(), (r * angle.cos()).detach().numpy())
    assert gradcheck(lambda r, a: mg.grad(f(r, a).x.sum(), (r, a), create_graph=True)[1], [r, angle])


# ---- names ----------------------------------------------------------------------------------------------------------


def test_names_of_the_body_may_be_those_of_the_rule() -> None:
    f = op_of(
        "g, t1, exp_vjp_x", "t2 = math.exp(g) * t1", "t1_ = t2 * t2", "t2 = t1_ * exp_vjp_x + t2", "return t2 * t1",
    )  # fmt: skip
    assert gradcheck(f, reference([0.3, -0.2], [1.1, 0.7], [0.4, -2.0]))


def test_a_name_that_is_assigned_again_keeps_its_earlier_derivative() -> None:
    f = op_of("x", "t = x * x", "u = t", "t = t * t + u", "u = t * u", "return t + u")
    (x,) = reference([0.7, -1.3])
    y = lambda x: (x**4 + x**2) * (1 + x**2)
    np.testing.assert_allclose(mg.grad(f(x).sum(), x).numpy(), mg.grad(y(x).sum(), x).numpy(), rtol=1e-12)


def test_helpers_are_differentiated_where_they_are_called() -> None:
    head = "@mg.scalar\ndef bump(x, width):\n    d = x / width\n    return math.exp(-d * d)\n"
    f = op_of("x, w", "return bump(x, w) - bump(w, 2.0) if x > w else bump(x * w, 1.5)", head=head)
    assert gradcheck(f, reference([0.3, 1.7, -0.4], [1.1, 0.8, 0.9]))


# ---- what cannot be derived -----------------------------------------------------------------------------------------


def test_a_function_without_a_rule_is_named_at_the_declaration() -> None:
    with pytest.raises(mg.DeclarationError, match=r"f calls gamma, which has no derivative rule.*; write vjp="):
        op_of("x", "return math.gamma(x * x)")


# ---- programs that nobody wrote -------------------------------------------------------------------------------------


class Program:
    """A random body over three operands, smooth where its values lie."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = ["a", "b", "c"]
        self.lines: list[str] = []
        for k in range(self.random.randint(1, 5)):
            name = self.random.choice([f"v{k}", *self.names[3:]])
            self.lines.append(f"{name} = {self.value(2)}")
            if name not in self.names:
                self.names.append(name)
        self.lines.append(f"return {self.value(3)}")

    def value(self, depth: int) -> str:
        pick = self.random.randint(0, 11) if depth else self.random.randint(0, 1)
        sub = lambda: self.value(depth - 1)
        forms = [
            lambda: self.random.choice(self.names), lambda: self.random.choice(["0.5", "2", "-1.25", "math.pi"]),
            lambda: f"({sub()} + {sub()})", lambda: f"({sub()} - {sub()})", lambda: f"math.tanh({sub()} * {sub()})",
            lambda: f"({sub()}) / (1.5 + math.cos({sub()}))", lambda: f"math.exp(-math.fabs({sub()}))",
            lambda: f"math.sqrt(1 + ({sub()}) ** 2)", lambda: f"-math.atan({sub()})",
            lambda: f"({sub()} if {sub()} > {sub()} else {sub()})",
            lambda: f"math.log1p(math.exp(math.sin({sub()})))",
            lambda: f"({sub()} if {sub()} < {sub()} and not {sub()} == 3 else math.erf({sub()}))",
        ]  # fmt: skip
        return forms[pick]()


@over("seed", range(40))
def test_a_random_body_agrees_with_finite_differences(seed: int) -> None:
    f = op_of("a, b, c", *Program(seed).lines)
    rng = np.random.default_rng(seed)
    xs = [rng.uniform(-1.2, 1.2, 6) for _ in range(3)]
    operands = reference(*xs)
    gradients = mg.grad(f(*operands).sum(), operands, create_graph=True, allow_unused=True)
    for k, gradient in enumerate(gradients):
        if gradient is None:
            continue
        step = 1e-6
        up, down = ([x + s * step * (j == k) for j, x in enumerate(xs)] for s in (1, -1))
        numeric = (f(*reference(*up)) - f(*reference(*down))).detach().numpy() / (2 * step)
        # A choice may change between the two points: then the difference is of the order of 1/step.
        smooth = np.abs(numeric) < 1e4
        np.testing.assert_allclose(gradient.detach().numpy()[smooth], numeric[smooth], rtol=1e-5, atol=1e-6)


def test_the_text_of_a_derivative_reads_as_code() -> None:
    f = op_of("x", "return x * math.tanh(x)")
    assert ast.unparse(derivative(f.op.scalar, 0).node).splitlines() == [
        "def f_vjp_x(g, x):",
        "    t1 = math.tanh(x)",
        "    t3 = tanh_vjp_x(g, t1)",
        "    return g * t1 + t3 * x",
    ]


# ---- several results, values that are conditions, names, dtypes ------------------------------------------------------


def test_a_result_that_nothing_used_has_no_part_in_a_gradient() -> None:
    f = op_of("x", "return math.sqrt(x), x * x", more=', outputs=("root", "square")')
    (x,) = reference([0.0, 4.0])
    assert mg.grad(f(x).square.sum(), x).tolist() == [0.0, 8.0]
    assert mg.grad(f(x).root.sum(), x).tolist() == [math.inf, 0.25]
    t = x.detach()
    assert mg.func.jvp(lambda x: f(x).square, (t,), (mg.ones_like(t),))[1].tolist() == [0.0, 8.0]
    both = mg.grad((f(x).square + f(x).root).sum(), x)
    assert both.tolist() == [math.inf, 8.25]


@pytest.mark.parametrize(
    ("value", "gradients"),
    [("(x or y) * 2", (2.0, 0.0)), ("(x and y) * x", (7.0, -3.0)), ("(x * 0 or y or 5) * x", (7.0, -3.0))],
)
def test_a_number_that_decides_a_condition_is_differentiated(value: str, gradients: tuple[float, float]) -> None:
    f = op_of("x, y", f"return {value}")
    x, y = reference(-3.0, 7.0)
    assert f(x, y).item() == eval(value, {"x": -3.0, "y": 7.0})
    assert tuple(g.item() for g in mg.grad(f(x, y), (x, y))) == gradients


def test_a_remainder_has_derived_rules() -> None:
    f = op_of("x, y", "return (x % y) * x")
    assert gradcheck(f, reference([5.3, -2.2], [2.0, 1.5]))


def test_an_op_of_the_users_is_not_the_function_of_math_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(schema, "cbrt", None)  # taken out again at the end
    monkeypatch.delitem(schema, "cbrt")
    declared(
        '@mg.elementwise(dtype=mg.rules.to_float, vjp=(lambda g, x: g * 2.0,), fuse=True)\n'
        'def cbrt(x):\n    """Another cbrt."""\n    return x * 2\n', "cbrt",
    )  # fmt: skip
    with pytest.raises(mg.DeclarationError, match="calls cbrt, which has no derivative rule"):
        op_of("x", "return math.cbrt(x)")


def test_derived_and_written_rules_stand_beside_each_other() -> None:
    f = declared(
        '@mg.elementwise(dtype=mg.rules.to_float, vjp=("derived", lambda g, x: g * 100.0, None))\n'
        'def f(x, y, z):\n    """An op."""\n    return x * x * y + z\n'
    )
    x, y = reference(3.0, 5.0)
    assert [g.item() for g in mg.grad(f(x, y, 2.0), (x, y))] == [30.0, 100.0]


@pytest.mark.parametrize("vjp", ['("derived", 3)', '"derive"', "[4, None]"])
def test_what_is_no_rule_is_refused(vjp: str) -> None:
    with pytest.raises(mg.DeclarationError, match=r"of f must contain functions and None, or 'derived'"):
        declared(f'@mg.elementwise(dtype=mg.rules.to_float, vjp={vjp})\ndef f(x, y):\n    """An op."""\n    return x\n')


def test_a_derivative_is_computed_in_the_dtype_of_the_op() -> None:
    head = "def widely(op, specs):\n    import numpy as np\n    return np.dtype('float64'), mg.float32\n"
    f = declared(
        f'{head}\n@mg.elementwise(dtype=widely, vjp="derived")\n'
        'def f(x):\n    """An op."""\n    return x * x * x * 1e-50\n'
    )
    (x,) = reference([1e20], dtype="float32")
    assert mg.grad(f(x).sum(), x).item() == pytest.approx(3e-10, rel=1e-6)


def test_many_operands_take_no_time_for_each_of_their_subsets() -> None:
    names = [f"x{k}" for k in range(24)]
    f = op_of(", ".join(names), f"return {' * '.join(names)}")
    xs = reference(*[1.0 + k / 100 for k in range(24)])
    y = f(*xs)
    gradients = mg.grad(y, xs, create_graph=True)
    np.testing.assert_allclose([g.item() for g in gradients], [y.item() / x.item() for x in xs])


def test_one_rule_may_be_given_without_a_tuple() -> None:
    @mg.elementwise(dtype=mg.rules.to_float, vjp=lambda g, x: g * 3.0)
    def tripled(x):
        return x * 3.0

    x = mg.Var([1.0, 2.0], device="reference")
    tripled(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(
        mg.DeclarationError,
        match=r"vjp of blend must have one derivative rule .* of the 2 operands .*, got 1 derivative rule",
    ):

        @mg.elementwise(dtype=mg.rules.to_float, vjp=lambda g, a, b: g)
        def blend(a, b):
            return a + b
