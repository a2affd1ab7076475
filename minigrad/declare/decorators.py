"""The decorators that declare an op: @elementwise, @reduction, @view, @kernel, @composed, and @scalar for helpers.

Each decorator checks the declaration at import, enters one `Op` into the schema and returns the public function;
`record.py` reads the declaration.  Functions, methods, in-place forms, op tests and gradient checks are all made from
the schema.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any, TypeVar

from minigrad.config import settings
from minigrad.core.code import HIDDEN
from minigrad.core.forward import Linear
from minigrad.core.op import Op
from minigrad.core.parameters import EMPTY, parameters_of
from minigrad.core.requests import Reduce
from minigrad.core.roles import Cast, Dims, Flag, role_of
from minigrad.declare import bodies, forms, rules
from minigrad.declare.claims import BatchRule, claim
from minigrad.declare.derived import leave_rules
from minigrad.declare.factories import recalled, recalled_like
from minigrad.declare.names import default_out, enter
from minigrad.declare.partials import average, declared
from minigrad.declare.record import (
    DERIVED,
    Function,
    Vjp,
    check_rule,
    check_writes,
    complete,
    is_ours,
    named_op,
    publish,
    read_joint,
    read_later,
)
from minigrad.declare.signature import (
    Signature,
    read_signature,
    where_of,
    write_function,
)
from minigrad.declare.usage import called_with, check_operators
from minigrad.declare.variants import variant
from minigrad.errors import DeclarationError, MinigradError
from minigrad.kernels.scalar import scalar_of
from minigrad.runtime.compositions import Compositions
from minigrad.runtime.dispatch import run, run_view, runner
from minigrad.runtime.into import copy_result
from minigrad.runtime.noting import scope
from minigrad.runtime.operands import NUMBERS, OWN_KEYS, canonical, keyed, steady
from minigrad.runtime.plans import key_of_many
from minigrad.runtime.promises import expect_complex_reduction, loop_dtypes, within
from minigrad.runtime.recording import mode
from minigrad.runtime.tensor import PLAIN, Tensor
from minigrad.runtime.tracers import stack

F = TypeVar("F", bound=Callable[..., Any])
Namespace = str | tuple[str, ...] | None
REDUCED = {"dims": "dim", "keepdim": "keepdim"}  # parameters of a reduction: the names of the op's and the public ones


def scalar(function: Callable[..., Any]) -> Any:
    """Declare a helper that other scalar functions may call; its body is inlined into theirs."""
    return scalar_of(function)


def elementwise(*, dtype: Callable[..., Any], vjp: Vjp | str | None = None, linear: Linear | bool = False,
                jvp: Callable[..., Any] | None = None, batch: BatchRule = None,
                outputs: tuple[str, ...] = ("y",), zeros: bool = False, namespace: Namespace = None,
                method: bool | None = None, name: str = "", inplace: bool = False, front: str = "",
                otherwise: Callable[..., Any] | None = None, sole: Callable[..., Any] | None = None,
                by_number: Callable[..., Any] | None = None,
                fuse: bool | None = None, label: str = "") -> Callable[..., Function]:  # fmt: skip
    """Declare an elementwise op over any number of operands; the body is its scalar function.

    An operand may have a number as its default.

    dtype: Dtype rule that returns (compute dtype, result dtype): see `declare/rules.py`.
    vjp (tuple of functions, "derived" or None): One VJP rule per operand, or None for an operand whose gradient is not
    defined. "derived", for one operand or for all, derives the rules of every order from the body. A conditional
    expression passes the gradient to the branch that was taken; at a kink, this is the branch that `==` takes.
    linear: Operands in which the op is linear: `mg.rules.joint("a", "b")` or `mg.rules.each("a", "b")`; True if the op
    has a single operand.
    jvp: JVP rule, such as `lambda dx, y: dx * y`; by default transforms derive it.
    outputs: Names of several results, for a body that returns a tuple, such as `return mantissa, exponent`. Then the
    dtype rule returns one dtype for all results or a tuple of dtypes, calls return a named tuple, `out=` takes a tuple,
    and VJP rules name the incoming gradients that they use: `lambda g0, g1, x: ...`.
    method: Whether Tensor has the op as a method, which also has an in-place form; by default if `mg` has the op, or
    `mg.nn.functional`.
    inplace: Whether the function has PyTorch's parameter `inplace`.
    front: Parameters after the operands, such as "*, alpha=1". If a call passes another value than the default for such
    a parameter, `otherwise` computes the result.
    otherwise: Function of the operands, the `front` parameters and `out`, which calls other ops.
    sole: Function that computes a call with only the first operand.
    by_number: Function of both operands and `out`, which is called if the second operand is not a tensor. It can check
    the value of the number, which a dtype rule does not receive, and raise. It returns its result, or None to run the
    op itself.
    fuse: Whether to compile a derivative rule that calls several ops into one kernel. With True, a rule must consist of
    elementwise ops on its arguments, because it is called only once, with symbols: it must not have branches or side
    effects, or read outside values that change later. The default is True in this package and False elsewhere.
    """

    def declare(function: FunctionType) -> Function:
        op, ours = named_op(function, "elementwise", name, label), is_ours(function)
        op.fuse = len(outputs) < 2 and (ours if fuse is None else fuse)

        def read(op: Op) -> None:
            check_rule(function, dtype)
            operands = tuple([p.name for p in parameters_of(function)])
            if not operands:
                raise DeclarationError(
                    f"{where_of(function)}: {function.__name__} must have at least one parameter, which is its "
                    "operand, got none; add a parameter"
                )
            entries: Any = (vjp,) * len(operands) if vjp == DERIVED else (vjp,) if callable(vjp) else vjp
            complete(op, function, operands, {}, entries, outputs, zeros)
            op.dtype_rule, op.scalar = dtype, scalar_of(function, defaults=True, results=len(outputs))
            if not ours:
                check_operators(op, dtype)
            if entries is not None and DERIVED in entries:
                leave_rules(op, entries, later=ours)
            claim(op, linear, jvp, batch)

        def defaults() -> dict[str, Any]:
            own = {p.name: p.default for p in parameters_of(function) if p.default is not EMPTY}
            return own | (dict.fromkeys(op.operands[1:]) if sole is not None else {})

        read_later(op, read, ours)
        if inplace and (front or otherwise is not None):
            raise DeclarationError(
                f"{where_of(function)}: inplace=True replaces front= and otherwise=, got one of them "
                "too; leave it out", op=function.__name__,
            )  # fmt: skip
        late = ("inplace=False", partial(forms.in_its_memory, op)) if inplace else (front, otherwise)
        quick: Any = bodies.fast_path(op, defaults, *late, sole, by_number)
        return publish(op, function, quick, namespace, method, len(outputs) < 2)

    return declare


def reduction(*, dtype: Callable[..., Any], identity: str | tuple[str, ...], order: str | None = None,
              combine: Callable[..., Any] | None = None, map: Callable[..., Any] | None = None,
              finish: Callable[..., Any] | None = None, mean: bool = False, vjp: Vjp | None = None,
              linear: Linear | bool = False, jvp: Callable[..., Any] | None = None, batch: BatchRule = None,
              outputs: tuple[str, ...] = ("y",), zeros: bool = False, namespace: Namespace = None,
              method: bool | None = None, name: str = "", label: str = "") -> Callable[..., Function]:  # fmt: skip
    """Declare a reduction over any set of dims: map, combine, finish; the body is its scalar function (acc, x).

    The public function is `f(input, dim=None, keepdim=False, *, dtype=None, out=None)`.  It has the parameter `dtype`
    only if the accumulator is wider than the operand.  Rules may read `dims`, a sorted tuple, and `keepdim`.  The
    parameters `vjp`, `linear`, `jvp`, `batch` and `zeros` are those of `elementwise`, without "derived".

    dtype: Dtype rule that returns (compute dtype, result dtype): see `declare/rules.py`.
    identity: Initial value of the accumulator: "zero", "one", "lowest" or "highest". A tuple declares several
    accumulators; the body takes all of them before x and returns a tuple.
    order: How partial results are combined; declare either `order` or `combine`. "sum": the body combines partial
    results as it adds an element, in any order, and floats may be re-associated. "extreme": the body returns the larger
    value (from "lowest") or the smaller value (from "highest"), and nan if either is nan. "sequential": there are no
    partial results; the elements are read one after another in row-major order. With "sum" and "extreme" each of
    several accumulators is combined with the same accumulator of the other partial result.
    combine: Scalar function that combines two partial results, in any order. With several accumulators, it takes all of
    the first partial result and then all of the second.
    map: Scalar function that computes x from an element, or from one element of each operand; the names of its
    parameters are then the names of the operands.
    finish: Scalar function that computes the result from the final accumulators, or from these and the number of
    elements.
    outputs: Names of several results, which `finish` returns; without `finish` they are the accumulators. The result
    dtype, calls, `out=` and rules are then as for `elementwise` with several results.
    """

    def declare(function: FunctionType) -> Function:
        op = named_op(function, "reduction", name, label)

        def read(made: Op) -> None:
            check_rule(function, dtype)
            reducer = declared(function, identity, order=order, combine=combine, map=map,
                               finish=average if mean else finish, linear=linear is not False,
                               results=len(outputs))  # fmt: skip
            operands = ("x",) if reducer.map is None else reducer.map.args
            if taken := {"dim", "keepdim", "out"}.intersection(operands):
                raise DeclarationError(
                    f"{where_of(function)}: {function.__name__} has an operand and a parameter {min(taken)!r}; rename "
                    "the operand", op=function.__name__,
                )  # fmt: skip
            complete(made, function, operands, {"dims": None, "keepdim": False}, vjp, outputs, zeros)
            made.roles = {"dims": role_of(Dims), "keepdim": role_of(Flag)}
            made.scalar, made.reducer = reducer.unmapped().scalar, reducer
            claim(made, linear, jvp, batch)
            made.signature = reduction_signature(made, dtype in (rules.widen, rules.mean_dtype))
            made.shape_rule, made.dtype_rule, made.prepare = rules.reduced_shape, dtypes, prepare

        def dtypes(op: Op, specs: Any, *, dims: tuple[int, ...], keepdim: bool) -> Any:
            compute, stored = loop_dtypes(op, dtype(op, specs))
            if compute.kind == "c":
                expect_complex_reduction(op, op.reducer, compute, stored, specs)
            return stored[0] if op.result is None else stored

        def prepare(backend: Any, *specs: Any, dims: tuple[int, ...], keepdim: bool) -> Any:
            outs, operands = specs[: op.reducer.results], specs[op.reducer.results :]
            kept = [rules.with_kept_dims(out, operands[0].shape, dims) for out in outs]
            return backend.prepare(Reduce(op.reducer, dtype(op, operands)[0], dims), tuple(kept), *operands)

        read_later(op, read, is_ours(function))
        public = write_function(
            function.__name__, lambda: (op.signature, True),
            lambda: (bodies.planned_body(op, True, names=REDUCED), names_of(op)),
        )  # fmt: skip
        return publish(op, function, public, namespace, method)

    return declare


def reducing(input: Tensor, dim: Dims = None, keepdim: Flag = False, *, dtype: Cast = None) -> None:
    """Define the parameters that the public functions of reductions have in common."""


REDUCING = read_signature(reducing)  # type: ignore[arg-type]


def reduction_signature(op: Op, wide: bool) -> Signature:
    """Return the signature of a reduction.

    wide: whether the accumulator is wider than the operand; then the function has the parameter `dtype`.
    """
    operand, *parameters, _ = REDUCING.parameters
    if len(op.operands) > 1 or len(op.outputs) > 1:
        operands = [operand._replace(name=each) for each in op.operands] if len(op.operands) > 1 else [operand]
        return Signature((*operands, *parameters), tuple([each.name for each in operands]))
    return REDUCING if wide else replace(REDUCING, parameters=(operand, *parameters))


def view(
    *, vjp: Vjp, jvp: Callable[..., Any] | None = None, batch: BatchRule = None, beyond: bool = False, name: str = "",
    namespace: Namespace = None, method: bool | None = None, dtype: Callable[..., Any] | None = None,
) -> Callable[..., Function]:  # fmt: skip
    """Declare a view: the body computes a Layout from the Layout of the operand and from the parameters of the op.

    vjp (tuple of one function, or of None): VJP rule of the operand.
    jvp: JVP rule, for a view whose result depends on the layout of its operand. By default the tangent of the result is
    the view of the tangent, because a view is linear.
    batch (str or function): How `vmap` adds a batch as the first dim: see `declare/claims.py`; by default it is
    derived.
    beyond: Whether the view may contain elements of the storage that are not in its operand; then the callers check
    that these elements exist.
    method: Whether Tensor has the view as a method; by default if `mg` has it.
    dtype: Function of (op, specs) that returns the dtype of the view; by default it is that of the operand.
    """

    def declare(function: FunctionType) -> Function:
        op = named_op(function, "view", name)

        def read(op: Op) -> None:
            op.signature = view_signature(function)
            complete(op, function, op.signature.operands, op.signature.params, vjp)
            op.prepare = function if beyond else within(op, function)
            op.dtype_rule = dtype
            claim(op, True, jvp, batch)

        read_later(op, read, is_ours(function))
        public = write_function(
            function.__name__, lambda: (op.signature, False), lambda: (bodies.planned_body(op, False), names_of(op))
        )
        return publish(op, function, public, namespace, method)

    return declare


def view_signature(function: FunctionType) -> Signature:
    """Return the signature of a view; its parameter `layout`, if no tensor is annotated, is the operand `x`."""
    signature = read_signature(function)
    if signature.operands == ("layout",):
        first = signature.parameters[0]._replace(name="x", annotation="Tensor")
        signature = Signature((first, *signature.parameters[1:]), ("x",))
    if len(signature.parameters) > len({p.name for p in signature.parameters}):
        raise DeclarationError(
            f"{where_of(function)}: {function.__name__} has an operand and a parameter 'x'; rename the parameter",
            op=function.__name__,
        )
    return signature


def kernel(*, dtype: Callable[..., Any], shape: Callable[..., Any], vjp: Vjp | None = None,
           linear: Linear | bool = False, jvp: Callable[..., Any] | None = None, batch: BatchRule = None,
           joint: Callable[..., Any] | None = None, outputs: tuple[str, ...] = ("y",), zeros: bool = False,
           name: str = "", label: str = "", namespace: Namespace = None, method: bool = False, in_place: bool = False,
           out: bool = True, floats: bool = False, writes: tuple[str, ...] = (),
           otherwise: Callable[..., Any] | None = None, sole: Callable[..., Any] | None = None,
           complex: bool = False) -> Callable[..., Function]:  # fmt: skip
    """Declare an op that has its own kernels.

    The body receives the backend, a Spec for each result, and then the public arguments, with Specs instead of the
    operands.  The body returns a launch of the backend.  Operands are the parameters that are annotated as tensors.
    A body that is composed of requests has the parameter `steps` instead of the backend.  It receives a `Steps`, to
    which it adds the requests, and Values instead of Specs, and it may return nothing.
    The parameters `vjp`, `linear`, `jvp` and `batch` are those of `elementwise`, without "derived".

    dtype: Function of (op, specs, **params) that returns the dtype of the result.
    joint: Joint VJP rule, which returns a tuple of all gradients. A backward pass uses the joint rule if every operand
    requires a gradient. If the joint rule has the keyword-only parameter `asked`, a tuple with one boolean per operand,
    the backward pass always uses the joint rule. The rule must then return None for operands whose boolean is False,
    and it receives None for values that are not saved for the requested gradients.
    outputs: Names of several results. Then `dtype` and `shape` return a tuple, the body receives an `out` for each
    result, calls return a named tuple, and a rule takes the gradients that it names: `lambda g0, g1, x: ...`.
    method: Whether Tensor has the op as a method.
    in_place: Whether Tensor also has the in-place method `name_`.
    out: Whether the public function takes `out=`.
    floats: Whether an integer operand is first converted to the default float dtype.
    writes: Names of the operands into whose memory the launch writes; each call checks and counts these writes.
    otherwise: Function of the public arguments that computes the calls which the kernel does not support, from other
    ops. It returns None for all other calls.
    sole: Function that computes a call with only the first operand, a plain tensor, as `otherwise` does, but sooner.
    complex: Whether the kernel and the rules are valid for complex operands. An op without it refuses them.
    """

    def declare(function: FunctionType) -> Function:
        op, ours = named_op(function, "kernel", name, label), is_ours(function)
        op.writes, op.complex = writes, complex

        def read(op: Op) -> None:
            signature = kernel_signature(function, len(outputs))
            params = {
                key: value for key, value in signature.params.items() if signature.role(key) not in bodies.FRONT_ROLES
            }
            complete(op, function, signature.operands, params, vjp, outputs, zeros)
            op.signature = signature
            op.variadic = bool(signature.many)
            check_writes(op, writes)
            op.joint = None if joint is None else read_joint(op, joint)
            op.dtype_rule, op.shape_rule = rules.checked_dtype(signature.conditions, dtype), shape
            op.prepare = forms.by_name(function, signature, 1 + len(outputs))
            if parameters_of(function)[0].name == "steps":
                op.prepare = forms.over_steps(op.prepare, len(outputs))
            claim(op, linear, jvp, batch)
            op.along = not signature.many and any(role.name == "Dim" for role in op.roles.values())

        read_later(op, read, ours)

        def parameters() -> tuple[Signature, bool]:
            """Return the signature, and whether `out` is added to it."""
            return op.signature, out and "out" not in (*op.params, *op.operands)

        def make() -> tuple[list[str], dict[str, Any]]:
            signature, takes_out = parameters()
            if has_fast_path(op, floats, takes_out, otherwise):
                return bodies.fast_body(op, signature)
            names = names_of(op) | {"otherwise": otherwise, "sole": sole}
            return bodies.planned_body(op, takes_out, floats, otherwise, sole), names

        public = write_function(function.__name__, parameters, make)
        return publish(op, function, public, namespace, method, in_place)

    return declare


def kernel_signature(function: FunctionType, results: int) -> Signature:
    """Return the signature of an op with a kernel, whose first parameters are the backend and the Specs of results."""
    signature, given = read_signature(function, 1 + results), [p.name for p in parameters_of(function)]
    if len(given) < 1 + results:
        raise DeclarationError(
            f"{where_of(function)}: the kernel {function.__name__} must have as parameters the backend, the Spec of "
            f"each result and the Spec of each operand, got ({', '.join(given)}); change the parameters",
            op=function.__name__,
        )
    if signature.many and len(signature.operands) > 1:
        raise DeclarationError(
            f"{where_of(function)}: {function.__name__} has the operand {signature.many!r}, any number of tensors, and "
            f"others too ({', '.join(signature.operands)}); only a composed op may",
            op=function.__name__,
        )
    return signature


def names_of(op: Op) -> dict[str, Any]:
    """Return the values that the lines of `planned_body` use."""
    return {
        "op": op, "plain": PLAIN, "numbers": NUMBERS, "canonical": canonical, "several": forms.several,
        "call": forms.call_present if op.signature.optional else forms.call, "check": forms.expect_operands,
        "in_dtype": forms.call_in_dtype, "float": forms.as_float, "list": forms.tensor_list,
        "format": forms.in_format, "read_flag": bodies.FRONT_FLAG.read,
        **planned_names(op),
    }  # fmt: skip


def planned_names(op: Op) -> dict[str, Any]:
    """Return the values that the lines of `planned_lines` use."""
    present = tuple([name not in op.signature.optional for name in op.operands])
    results = None if op.result is None else len(op.outputs)
    return {
        "keys": OWN_KEYS, "keyed": keyed, "key_of": key_of_many, "lists": (list, tuple), "plans": op.plans,
        "bare": lambda: variant(op, present), "run_any": run,
        **{f"run_{count}": run_view if op.kind == "view" else runner(count, results)
           for count in (len(present), sum(present))},
        **{f"key_of_{name}": keyed(default) for name, default in bodies.keyed_defaults(op.signature).items()},
    }  # fmt: skip


def has_fast_path(op: Op, floats: bool, out: bool, otherwise: Any) -> bool:
    """Return whether the calls of an op with a kernel can take the fast path of elementwise ops."""
    signature = op.signature
    simple = len(signature.parameters) == len(op.operands) <= 3 and not signature.optional and not signature.many
    plain = len(op.outputs) < 2 and not op.writes
    return simple and plain and out and not floats and otherwise is None


def composed(
    *, namespace: Namespace = None, method: bool | None = None, in_place: bool = False, out: bool | None = None,
    floats: bool = False, of: Callable[..., Any] | None = None, writes: tuple[str, ...] = (),
    channels_last: bool = False, spelled: Callable[..., Any] | None = None, older: tuple[str, ...] = (),
) -> Callable[..., Function]:  # fmt: skip
    """Declare an op that is composed of other ops: the body is its definition, in tensor code.

    The roles convert the parameters before the definition is called, so the definition receives valid dims and plain
    numbers.  The ops of the definition are recorded, so every transform works on it.  Pictures draw them as one op.

    namespace, method, in_place, out and floats: As for `kernel`.  By default Tensor has the op as a method if `mg` has
    it, and the function takes `out=`; both are not the case in `ops/nn`.
    of: Public function of an op with a kernel that implements the same function. The schema then contains that op
    instead of this one.
    writes: Names of the operands that the definition may write. It writes with `write_operands`, after all checks.
    channels_last: Whether the results have PyTorch's channels-last format if the first operand has it.
    spelled: Function of all arguments that returns them, or those of a call that is spelled in another form.
    older: Keywords that PyTorch's older form takes as numbers between the operands, as in `addcmul(x, value, y, z)`.
    """

    def declare(function: FunctionType) -> Function:
        op, ours = named_op(function, "composed", listed=of is None), is_ours(function)
        op.writes = writes

        def read(op: Op) -> None:
            signature = read_signature(function)
            complete(op, function, signature.operands, signature.params)
            formatted = forms.in_format_of_input(function) if channels_last else function
            op.signature, op.composed = signature, forms.collected(formatted, signature)
            check_writes(op, writes)

        read_later(op, read, ours)

        def parameters() -> tuple[Signature, bool]:
            """Return the signature, and whether `out` is added to it; some definitions write into `out` themselves."""
            passes = "out" in (*op.params, *op.operands)
            return op.signature, not passes and (default_out(str(function.__module__)) if out is None else out)

        def make() -> tuple[list[str], dict[str, Any]]:
            signature, takes_out = parameters()
            # A definition of this package has no effects, except draws, warnings and writes into `out` or `writes`.
            repeats = ours and signature.optional.issuperset(op.writes) and bool(op.operands)
            names = composed_names(op) | (repeated_names(op, public) if repeats else {})
            lines = bodies.composed_body(op, takes_out, floats, repeats)
            if spelled is not None:
                arguments = ", ".join([p.name for p in signature.parameters])
                lines, names["spelled"] = [f"{arguments} = {HIDDEN}spelled({arguments})", *lines], spelled
            if older:
                read = f"return {HIDDEN}older(({', '.join(op.operands)}, *{HIDDEN}more), out)"
                lines, names["older"] = (
                    [f"if {HIDDEN}more:\n        {read}", *lines],
                    forms.older_form(op, public, older),
                )
            return lines, names

        returned = function.__annotations__.get("return", EMPTY)
        public = write_function(function.__name__, parameters, make, returned)
        public = publish(op, function, public, namespace, method, in_place, listed=of is None)
        if of is not None:
            public.op = of.op  # type: ignore[attr-defined]
        return public

    return declare


def composed_names(op: Op) -> dict[str, Any]:
    """Return the values that the lines of `composed_body` use."""
    return {
        "op": op, "plain": PLAIN, "numbers": NUMBERS, "check": forms.expect_operands, "list": forms.tensor_list,
        "several": forms.several, "definition": op.composed, "settings": settings, "scope": scope, "copy": copy_result,
        "float": forms.as_float, "apart": forms.apart, "error": MinigradError, "blame": forms.blame,
        **{f"read_{key}": role.read for key, role in op.roles.items()},
        **{f"hold_{k}": condition.read for k, (_, condition) in enumerate(op.signature.conditions)},
    }  # fmt: skip


def repeated_names(op: Op, public: Any) -> dict[str, Any]:
    """Return the values that the lines of `repeated_lines` use."""
    return planned_names(op) | {
        "lists": (list, tuple), "known": Compositions(), "mode": mode, "steady": steady, "stack": stack,
        "by_operands": forms.by_operands(op, public),
    }  # fmt: skip


def public(
    *, namespace: Namespace = None, method: bool = False, in_place: bool = False, out: bool = False,
    makes: bool = False, like: bool = False,
) -> Callable[[F], F]:  # fmt: skip
    """Add a plain function to the public names: a function that makes tensors, or that checks its own arguments.

    namespace, method and in_place: As for `kernel`.
    out: Whether to add the parameter `out=`, into which the result is copied.
    makes: Whether the function makes a tensor from numbers.  Such a function, and one with `out=`, may return a recipe:
    see `factories.py`.
    like: Whether the function makes a tensor with the shape, dtype and device of its first operand by default.
    """

    def declare(function: Any) -> Any:
        found: Any = recalled(function, out) if out or makes else recalled_like(function) if like else function
        enter(found, namespace, method, in_place)
        return found

    return declare


FORMS = {
    "elementwise": "@mg.elementwise(dtype=mg.rules.to_float)",
    "reduction": '@mg.reduction(dtype=mg.rules.widen, identity="zero", order="sum")',
    "view": "@view(vjp=(rule,))",
    "kernel": "@mg.kernel(dtype=..., shape=..., vjp=None)",
    "composed": "@mg.composed()",
    "public": "@public()",
}
# A type checker reads the undecorated functions.
globals().update({name: called_with(form)(globals()[name]) for name, form in FORMS.items()})
