"""Five hundred programs with fixed seeds; `python -m tests.programs` makes any number of others."""

from __future__ import annotations

import pytest

from tests.programs import nested
from tests.programs.generator import program
from tests.programs.proofs import Wrong, check, check_transforms, expect

COUNT, AT_ONCE = 500, 25


@pytest.mark.parametrize("first", range(0, COUNT, AT_ONCE))
def test_derivatives_of_random_programs_are_right_to_third_order(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        check(program(seed))


@pytest.mark.filterwarnings("ignore:.*there is no rule for a batch")
@pytest.mark.parametrize("first", range(0, COUNT, AT_ONCE))
def test_forward_mode_all_nestings_and_batches_of_random_programs_agree_with_reverse_mode(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        check_transforms(program(seed, writes=False), 3)


@pytest.mark.filterwarnings("ignore:.*there is no rule for a batch")
@pytest.mark.parametrize("first", range(0, COUNT, AT_ONCE))
def test_derivatives_of_steps_in_checkpoints_hooks_batches_and_derivatives_are_right(first: int) -> None:
    for seed in range(first, first + AT_ONCE // 2):
        check(nested.program(seed), 2)


def test_a_program_is_the_same_whenever_it_is_made() -> None:
    assert str(program(7)) == str(program(7)) != str(program(8))


def test_a_wrong_number_is_noticed() -> None:
    with pytest.raises(Wrong, match=r"(?s)program 3, what: 1\.1, but 1 is right.*x0 = leaf"):
        expect(program(3), "what", 1.1, 1.0, 1e-3)
