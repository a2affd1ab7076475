"""A step of a rule, and the plan of its launches, which is reused until one of its tensors is replaced.

A `Bundle` is one launch: parameters of the same dtype and device that have taken the same number of steps, with their
states and gradients.  A `GroupPlan` has the bundles of a parameter group, and creates new bundles when these no longer
fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import is_
from typing import Any, ClassVar

from minigrad.declare.many import Rule
from minigrad.errors import ArgumentError, absent_method
from minigrad.ops.shape.parts import view_as_complex, view_as_real
from minigrad.optim.optimizer import Optimizer, Params, loss_of
from minigrad.optim.states import NOT_NEGATIVE, expect_betas, expect_rate, filled, scalar_state
from minigrad.runtime.changes import CountedDict, changes
from minigrad.runtime.many import ManyPlan, rows_of
from minigrad.runtime.recording import no_grad
from minigrad.runtime.tensor import Tensor

END = object()  # marks the end of the states, so that a shorter list is detected as a change
PLAIN = {float, int, bool}  # types of options that are numbers already


class RuleOptimizer(Optimizer):
    """Define the base class of the optimizers that compute a step with one scalar function, the update rule.

    A subclass returns its update rule, and initializes the state tensors that the rule names.  The class attribute
    `counters` names scalars in the state of a parameter, such as the step count, which are usually equal for all
    parameters of a group.  The class attribute `pairs` maps an argument of the rule, such as beta1, to the name of the
    option that contains it, such as betas, and its position in this option.  The class attribute `not_negative` names
    the options that are checked when an optimizer is made.

    A complex parameter counts as pairs of real numbers, as in PyTorch.
    """

    complexes = True

    always: ClassVar[Rule | None] = None  # the rule, if it does not depend on the options
    counters: ClassVar[tuple[str, ...]] = ("step",)
    not_negative: ClassVar[tuple[str, ...]] = ()
    pairs: ClassVar[dict[str, tuple[str, int]]] = {"beta1": ("betas", 0), "beta2": ("betas", 1)}

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        name = type(self).__name__
        for key in self.not_negative:
            if key == "lr":
                expect_rate(name, defaults[key])
            elif key == "betas":
                expect_betas(name, defaults[key])
            else:
                NOT_NEGATIVE.expect(name, **{key: defaults[key]})
        if defaults.get("fused") and defaults.get("foreach"):
            raise ArgumentError(
                f"{name}: fused and foreach must not both be True; omit both, because one launch updates each "
                "parameter group anyway"
            )
        super().__init__(params, defaults)

    def rule(self, group: dict[str, Any]) -> Rule:
        """Return the rule for the options of a group, by default `always`."""
        if self.always is None:
            raise absent_method(self, "an optimizer", "rule(self, group)")
        return self.always

    def first_state(self, name: str, p: Any, group: dict[str, Any]) -> Tensor:
        """Return the initial value of a state of a parameter."""
        return filled(p, 0.0)

    def first_counter(self, name: str, group: dict[str, Any]) -> float:
        """Return the initial value of a counter."""
        return 0.0

    def numbers(self, group: dict[str, Any], counters: dict[str, float]) -> dict[str, float]:
        """Count a step, and return the arguments of the rule that are not options."""
        if "step" in counters:
            counters["step"] += 1
        return counters

    def formula(self) -> str:
        """Return the update of each parameter group as text: the statements of its rule."""
        return "\n\n".join(dict.fromkeys(self.rule(group).formula() for group in self.param_groups))

    def step(self, closure: Any = None) -> Any:
        """Update all parameters that have a gradient, in one launch per parameter group.

        closure (callable): Function that computes the loss and its gradients again, and returns the loss.

        Returns (object): The result of the closure, or None without a closure.

        Parameters of different dtypes or devices, or with different step counts, require separate launches.  The step
        is not recorded, unless the option `differentiable` is True: then the parameters must be results of ops, such as
        clones, and gradients flow through the step.  A graph that saved a parameter raises GradientError in a later
        backward pass.
        """
        loss = loss_of(closure)
        plans = self.__dict__.get("_plans")
        if plans is None:
            plans = self.__dict__["_plans"] = {}
        for group in self.param_groups:
            if group.get("differentiable"):
                self.recorded_step(group)
                continue
            plan = plans.get(id(group))
            if plan is None or plan.group is not group:
                plan = plans[id(group)] = GroupPlan(self, group)
            plan.step(self)
        return loss

    def recorded_step(self, group: dict[str, Any]) -> None:
        """Update the parameters of a group by recorded ops, so that gradients flow through the step."""
        rule = self.rule(group)
        names = rule.tensors[1:-1]
        for p in [p for p in group["params"] if p.grad is not None]:
            state = self.state[p]
            fresh = "first" in rule.numbers and state.get(names[0]) is None
            prepare(self, state, names, p, group)
            counters = {name: scalar_state(float(state[name])).item() for name in self.counters}
            values = {**self.options(group), **self.numbers(group, counters), "first": fresh}
            numbers = {n: values[n] for n in rule.numbers}
            # A copy of p, because products with a tensor as learning rate save p, which is overwritten below.
            row = (p.clone(), *[state[n] for n in names], p.grad)
            new, *states = rule.recorded(
                tuple(map(view_as_real, row)) if p.dtype.is_complex else row,
                **numbers,
            )
            if p.dtype.is_complex:
                new, *states = map(view_as_complex, (new, *states))
            state |= dict(zip(names, states)) | {name: scalar_state(count) for name, count in counters.items()}
            p.copy_(new)

    def options(self, group: dict[str, Any]) -> dict[str, Any]:
        """Return the options of a group by the names of the rule's arguments."""
        return group | {name: group[key][k] for name, (key, k) in self.pairs.items() if key in group}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.pop("_plans", None)


class Bundle:
    """Store the parameters, states and gradients that one launch updates.

    `rows` contains the indices of the parameters in the group, and `states` contains their state dicts.  `counters` are
    the storages of the counters, which all parameters of the bundle share.  `fresh` is True if the next step is the
    first step.  `plan` is the plan of the launch, `written` contains the storages that the launch writes, and `buffers`
    the buffers of these storages.  `views` contains the dict views `values()` of the state dicts.  `kept` contains the
    values of the state dicts when the plan was made.  `constants` computes the constants of the launch from the options
    of the group and the numbers of the step; the first step creates it.
    """

    __slots__ = ("buffers", "constants", "counters", "fresh", "kept", "plan", "rows", "states", "views", "written")

    def __init__(
        self, rows: list[int], states: list[dict[str, Any]], counters: Sequence[str], again: bool = False
    ) -> None:
        self.rows, self.states = rows, states
        common = {name: states[0][name] if again else scalar_state(float(states[0][name])) for name in counters}
        for state in states:
            state |= common
        self.counters = {name: counter.storage for name, counter in common.items()}
        self.fresh = False
        self.constants: Callable[..., tuple[float, ...]] | None = None
        self.plan: ManyPlan
        self.written: list[Any]
        self.buffers: list[Any]
        self.views: list[Any]
        self.kept: list[Any]

    def numbers(self, optimizer: RuleOptimizer, group: dict[str, Any], rule: Rule) -> tuple[float, ...]:
        """Count a step, and return the constants of the launch."""
        values = {name: storage.buffer.item(0) for name, storage in self.counters.items()}
        more = optimizer.numbers(group, values)
        for name, storage in self.counters.items():
            storage.buffer[0] = values[name]
            storage.version += 1
        if "first" in rule.numbers:
            more["first"], self.fresh = self.fresh, False
        if self.constants is None:
            self.constants = constants_of(rule, more, optimizer.pairs)
        return self.constants(group, more)


def constants_of(
    rule: Rule, more: dict[str, float], pairs: dict[str, tuple[str, int]]
) -> Callable[[dict[str, Any], dict[str, float]], tuple[float, ...]]:
    """Return a function that computes the constants of a launch from the options of a group and from other numbers.

    One generated expression is faster than a loop over the arguments of the rule.
    """
    texts = []
    for name in rule.numbers:
        key, position = pairs.get(name, (name, None))
        option = f"group[{key!r}]" if position is None else f"group[{key!r}][{position}]"
        number = f"(x if (x := {option}).__class__ in PLAIN else number_of(x))"
        texts.append(f"more[{name!r}]" if name in more else number)
    bound = {"PLAIN": PLAIN, "number_of": number_of, "constants": rule.constants}
    return eval(f"lambda group, more: constants({', '.join(texts)})", bound)


def number_of(option: Any) -> float:
    """Return an option of a group as a number; it may be a tensor."""
    return option.item() if isinstance(option, Tensor) else option


class GroupPlan:
    """The bundles of a parameter group, and the tensors for which they were made; `serves` compares them.

    `tensors` are the parameters and states, and `memory` their storages and layouts.  `count` is the number of calls of
    `rebind` at the last time when these were compared.  `state` is the optimizer's dict of states, and `states` the
    number of changes of such dicts at the last comparison; it is -1 if a user has set a dict that does not count.
    """

    def __init__(self, optimizer: RuleOptimizer, group: dict[str, Any]) -> None:
        self.optimizer_rule: Rule | None = None
        self.group = group
        self.bundles: list[Bundle] = []
        self.names: tuple[str, ...] = ()
        self.params: list[Any] = []
        self.dicts: list[Any] = []
        self.tensors: list[Tensor] = []
        self.memory: list[Any] = []
        self.count, self.states = 0, -1

    def step(self, optimizer: RuleOptimizer) -> None:
        """Take a step with the present gradients."""
        params, rule = self.group["params"], optimizer.rule(self.group)
        try:
            gradients = [p._grad for p in params]
        except AttributeError:  # a plain tensor that was never a Var has no `_grad`
            gradients = [p.grad for p in params]
        try:
            layouts, storages = [g.layout for g in gradients], [g.storage for g in gradients]
        except AttributeError:  # some gradients are None
            layouts = [None if g is None else g.layout for g in gradients]
            storages = [None if g is None else g.storage for g in gradients]
        if not self.serves(optimizer, rule, params, layouts):
            self.make(optimizer, rule, params, gradients, layouts)
        if self.complexes:
            storages = [s if g is None else s.seen_as(g.dtype.to_real()) for s, g in zip(storages, gradients)]
        if not self.changed.isdisjoint(storages):
            return self.step_apart(optimizer, rule, params, gradients)
        if self.passing:
            self.optimizer_rule = None  # the next step may need other launches, so it runs all checks again
        for bundle in self.bundles:
            constants = bundle.numbers(optimizer, self.group, rule)
            read = storages if len(bundle.rows) == len(params) else [storages[k] for k in bundle.rows]
            bundle.plan.run(constants, read, bundle.written, bundle.buffers)
        return None

    def serves(self, optimizer: RuleOptimizer, rule: Rule, params: list[Any], layouts: list[Any]) -> bool:
        """Return whether the rule, parameters, states and layouts of gradients are those of the bundles."""
        if rule is not self.optimizer_rule or layouts != self.gradients:
            return False
        if not same(params, self.params):
            return False
        for bundle in self.bundles:
            if not bundle.plan.current:
                return False
        changed = changes.states
        if changed != self.states or optimizer.state is not self.state:
            if not self.same_states(optimizer):
                return False
            self.note_states(optimizer, changed)
        # `net.double()` and in-place views replace the memory or the layout of a tensor, which stays the same object.
        count = changes.memory
        if count != self.count:
            if [(x.storage, x.layout) for x in self.tensors] != self.memory:
                return False
            self.count = count
        return True

    def same_states(self, optimizer: RuleOptimizer) -> bool:
        """Return whether the state dicts are those of the bundles, with the same tensors."""
        if len(optimizer.state) != len(self.dicts) or not same(optimizer.state.values(), self.dicts):
            return False
        return all(same(chain.from_iterable(bundle.views), bundle.kept) for bundle in self.bundles)

    def note_states(self, optimizer: RuleOptimizer, changed: int) -> None:
        """Store how often states had changed when they were compared."""
        self.state = optimizer.state
        counting = all(isinstance(each, CountedDict) for each in (self.state, *self.state.values()))
        self.states = changed if counting else -1

    def make(
        self, optimizer: RuleOptimizer, rule: Rule, params: list[Any], gradients: list[Any], layouts: list[Any]
    ) -> None:
        """Create the bundles of all parameters that have a gradient."""
        # The plan is invalid if creating the bundles raises an error.
        self.optimizer_rule, self.gradients = None, layouts
        self.params, self.count = [*params], changes.memory
        states = rule.tensors[1:-1]
        self.names = (*states, *optimizer.counters)
        self.bundles = []
        self.changed: set[Any] = set()
        self.complexes = any(g is not None and g.dtype.is_complex for g in gradients)
        # A gradient of another dtype is older than a change of its parameter's dtype.  The next gradient may have the
        # layout of the parameter.
        self.passing = any(g is not None and g.dtype is not p.dtype for p, g in zip(params, gradients, strict=True))
        alike: dict[Any, list[int]] = {}
        uses = Counter(id(p) for p, g in zip(params, gradients, strict=True) if g is not None)
        for k, (p, g) in enumerate(zip(params, gradients, strict=True)):
            if g is not None:
                state = optimizer.state[p] if self.names else {}
                fresh = "first" in rule.numbers and state.get(states[0]) is None
                prepare(optimizer, state, states, p, self.group)
                # A parameter that occurs twice takes its steps one after another, each in a separate launch.
                key = (fresh, k if uses[id(p)] > 1 else None, *[float(state[name]) for name in optimizer.counters])
                alike.setdefault(key, []).append(k)
        stepped: set[int] = set()
        for key, numbers in alike.items():
            again = id(params[numbers[0]]) in stepped
            stepped.update(id(params[k]) for k in numbers)
            rows = [in_pairs((params[k], *[optimizer.state[params[k]][name] for name in states], gradients[k]))
                    for k in numbers]  # fmt: skip
            for group in rows_of(rows, rule.written):
                chosen = [numbers[k] for k in group], [rows[k] for k in group]
                self.add(optimizer, rule, *chosen, fresh=key[0], again=again)
        self.dicts = [*optimizer.state.values()]
        self.passing = self.passing or any(bundle.fresh for bundle in self.bundles)
        for bundle in self.bundles:
            bundle.views = [*[state.values() for state in bundle.states], (END,)]
            bundle.kept = [*chain.from_iterable(bundle.views)]
        kept = chain(params, *[bundle.kept for bundle in self.bundles])
        self.tensors = [x for x in {id(x): x for x in kept}.values() if isinstance(x, Tensor)]
        self.memory = [(x.storage, x.layout) for x in self.tensors]
        self.note_states(optimizer, changes.states)
        self.optimizer_rule = rule

    def add(
        self, optimizer: RuleOptimizer, rule: Rule, numbers: list[int], rows: list[tuple[Any, ...]], fresh: bool,
        again: bool,
    ) -> None:  # fmt: skip
        """Add a bundle for some rows; with `again`, its parameter shares the counters of its first bundle."""
        states = [optimizer.state[self.params[k]] for k in numbers] if self.names else []
        bundle = Bundle(numbers, states, optimizer.counters, again)
        bundle.fresh = fresh
        bundle.plan = rule.plan(rows)
        bundle.written = [row[k].storage for k in range(rule.written) for row in rows]
        bundle.buffers = [storage.buffer for storage in bundle.written]
        self.changed.update(bundle.written)
        self.bundles.append(bundle)

    def step_apart(self, optimizer: RuleOptimizer, rule: Rule, params: list[Any], gradients: list[Any]) -> None:
        """Take a step if a gradient shares memory with a parameter or a state."""
        for bundle in self.bundles:
            constants = bundle.numbers(optimizer, self.group, rule)
            names = rule.tensors[1:-1]
            rows = [in_pairs((params[k], *[optimizer.state[params[k]][name] for name in names], gradients[k]))
                    for k in bundle.rows]  # fmt: skip
            rule.launch(rows, constants)
        self.optimizer_rule = None  # clears the rule, so the next step runs all checks again


def in_pairs(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the tensors of a row as pairs of real numbers, if they are complex."""
    if not row[0].dtype.is_complex:
        return row
    return tuple([view_as_real(x.detach()) for x in row])


def same(values: Iterable[Any], kept: list[Any]) -> bool:
    """Return whether values are the same objects as before; the elements of tensors are not compared."""
    return all(map(is_, values, kept))


def prepare(
    optimizer: RuleOptimizer, state: dict[str, Any], names: Sequence[str], p: Any, group: dict[str, Any]
) -> None:
    """Add the missing states and counters of a parameter."""
    for name in optimizer.counters:
        if state.get(name) is None:
            state[name] = optimizer.first_counter(name, group)
    for name in names:
        if state.get(name) is None:
            with no_grad():
                state[name] = optimizer.first_state(name, p, group)
