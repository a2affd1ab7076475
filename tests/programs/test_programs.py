"""Five hundred programs with fixed seeds; `python -m tests.programs` makes any number of others.

The nestings of forward and reverse mode are fourteen to third order and six to second order.  Every third program takes
all of them, and the others those to second order; the command takes all for each program.
"""

from __future__ import annotations

import pytest

from minigrad.errors import StorageError
from tests.programs import nested, written
from tests.programs.generator import FEW, program
from tests.programs.proofs import On, Wrong, against, check, check_transforms, check_value, expect

COUNT, AT_ONCE = 500, 25
REFERENCE = On("reference")  # where a program of any steps compiles nothing
some = pytest.mark.parametrize("first", range(0, COUNT, AT_ONCE))


@some
def test_values_and_derivatives_of_random_programs_are_right_to_third_order(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        check_value(program(seed, functions=FEW))
        check(program(seed, functions=FEW))
        if seed % 5 == 0:
            check(program(seed), 3, REFERENCE)


@pytest.mark.filterwarnings("ignore:.*vmap has no batching rule")
@some
def test_forward_mode_all_nestings_and_batches_of_random_programs_agree_with_reverse_mode(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        check_transforms(program(seed, writes=False, functions=FEW), 2 if seed % 3 else 3)


@pytest.mark.filterwarnings("ignore:.*vmap has no batching rule")
@some
def test_derivatives_of_steps_in_checkpoints_hooks_batches_and_derivatives_are_right(first: int) -> None:
    for seed in range(first, first + AT_ONCE // 2):
        check(nested.program(seed, functions=FEW), 2)


@some
def test_values_and_derivatives_of_programs_that_write_into_what_they_made_are_right(first: int) -> None:
    right = 0
    for seed in range(first, first + AT_ONCE // 2):
        made = written.program(seed)
        check_value(made, REFERENCE)
        try:
            check(made, 3, REFERENCE)
            right += 1
        except StorageError:  # a value was saved and written since; the command asks PyTorch whether it says so, too
            pass
    assert right >= AT_ONCE // 8


@pytest.mark.torch
def test_programs_are_what_they_are_in_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: nothing to compare with")
    for seed in range(COUNT // 10):
        assert against(program(seed), torch) == "agree"
        against(written.program(seed, flips=False), torch, 2, REFERENCE)


def test_a_program_is_the_same_whenever_it_is_made() -> None:
    for make in (program, nested.program, written.program):
        assert str(make(7)) == str(make(7)) != str(make(8))


def test_a_wrong_number_is_noticed() -> None:
    with pytest.raises(Wrong, match=r"(?s)program 3, what: 1\.1, but 1 is right.*x0 = leaf"):
        expect(program(3), "what", 1.1, 1.0, 1e-3)
