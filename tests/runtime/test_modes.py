"""Modes of recording as statements, blocks and decorators: what PyTorch's scripts write."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import minigrad as mg

REFERENCE = {"device": "reference"}


@pytest.fixture(autouse=True)
def unchanged() -> Iterator[None]:
    assert mg.is_grad_enabled()
    yield
    left = mg.is_grad_enabled()
    mg.set_grad_enabled(True)
    assert left, "the test left recording off"


def test_a_statement_switches_at_once_and_until_the_next() -> None:
    x = mg.Var([1.0], **REFERENCE)
    mg.set_grad_enabled(False)
    assert not (x * 2.0).requires_grad and not mg.is_grad_enabled()
    mg.set_grad_enabled(mode=True)
    assert (x * 2.0).requires_grad


def test_a_statement_in_a_block_ends_with_the_block() -> None:
    with mg.no_grad():
        mg.set_grad_enabled(True)
        assert mg.is_grad_enabled()
        with mg.no_grad():
            assert not mg.is_grad_enabled()
        assert mg.is_grad_enabled()
        mg.set_grad_enabled(False)
    assert mg.is_grad_enabled()
    with mg.enable_grad():
        mg.set_grad_enabled(False)
    assert mg.is_grad_enabled()


def test_a_block_restores_what_was_before_its_call() -> None:
    for outer in (True, False):
        mg.set_grad_enabled(outer)
        for inner in (True, False):
            with mg.set_grad_enabled(inner):
                assert mg.is_grad_enabled() is inner
            assert mg.is_grad_enabled() is outer
        switch = mg.set_grad_enabled(not outer)
        for _ in range(2):
            with switch:
                assert mg.is_grad_enabled() is not outer
            assert mg.is_grad_enabled() is outer
    mg.set_grad_enabled(True)


DECORATORS = {
    "no_grad": lambda: mg.no_grad, "no_grad()": lambda: mg.no_grad(), "inference_mode": lambda: mg.inference_mode,
    "inference_mode()": lambda: mg.inference_mode(), "set_grad_enabled(False)": lambda: mg.set_grad_enabled(False),
}  # fmt: skip


@pytest.mark.parametrize("name", DECORATORS)
def test_a_decorator_needs_no_parentheses_and_changes_only_the_calls(name: str) -> None:
    @DECORATORS[name]()
    def seen(value: int = 3) -> tuple[int, bool]:
        """A function of a test."""
        return value, mg.is_grad_enabled()

    assert mg.is_grad_enabled()
    assert seen() == (3, False) and seen(value=4) == (4, False)
    assert seen.__name__ == "seen" and seen.__doc__ == "A function of a test."
    assert mg.is_grad_enabled()


def test_a_decorated_generator_has_the_mode_and_its_consumer_has_not() -> None:
    events = []

    @mg.no_grad()
    def steps() -> Iterator[Any]:
        try:
            for k in range(3):
                try:
                    events.append((mg.is_grad_enabled(), (yield k)))
                except KeyError as error:
                    events.append((mg.is_grad_enabled(), error.args[0]))
        finally:
            events.append((mg.is_grad_enabled(), "end"))
        return "result"

    generator: Any = steps()
    assert next(generator) == 0 and mg.is_grad_enabled()
    assert generator.send("a") == 1 and mg.is_grad_enabled()
    assert generator.throw(KeyError("b")) == 2 and mg.is_grad_enabled()
    with pytest.raises(StopIteration) as end:
        next(generator)
    assert end.value.value == "result"
    assert events == [(False, "a"), (False, "b"), (False, None), (False, "end")]
    events.clear()
    generator = steps()
    next(generator)
    generator.close()
    assert events == [(False, "end")] and mg.is_grad_enabled()

    @mg.enable_grad
    def fails() -> Iterator[bool]:
        yield mg.is_grad_enabled()
        raise ValueError("its own")

    with mg.no_grad():
        generator = fails()
        assert next(generator) is True and not mg.is_grad_enabled()
        with pytest.raises(ValueError, match="its own"):
            next(generator)
        assert not mg.is_grad_enabled()


def test_a_decorated_coroutine_has_the_mode_while_others_run() -> None:
    @mg.no_grad()
    async def inner() -> list[bool]:
        before = mg.is_grad_enabled()
        await asyncio.sleep(0)
        return [before, mg.is_grad_enabled()]

    async def outer() -> list[bool]:
        await asyncio.sleep(0)
        return [mg.is_grad_enabled()]

    async def both() -> Any:
        return await asyncio.gather(inner(), outer(), inner())

    assert asyncio.run(both()) == [[False, False], [True], [False, False]]
    with pytest.raises(mg.errors.GradientError, match="asynchronous generator"):

        @mg.no_grad()
        async def values() -> Any:
            yield 1


def test_inference_mode_false_records_again_inside_inference_mode() -> None:
    x = mg.Var([1.0], **REFERENCE)
    with mg.inference_mode():
        y = x * 2.0
        with mg.inference_mode(False):
            z = x * 3.0
            assert mg.is_grad_enabled() and not mg.is_inference_mode_enabled()
        assert not mg.is_grad_enabled() and mg.is_inference_mode_enabled()
    assert y.is_inference() and not z.is_inference() and z.requires_grad
    assert z.backward()[x].tolist() == [3.0]
    assert mg.is_grad_enabled() and not mg.is_inference_mode_enabled()


def test_modes_are_classes_as_in_pytorch() -> None:
    assert isinstance(mg.no_grad(), mg.no_grad) and isinstance(mg.set_grad_enabled(True), mg.set_grad_enabled)

    class Counted(mg.no_grad):
        entered = 0

        def __enter__(self) -> None:
            Counted.entered += 1
            super().__enter__()

    with Counted():
        assert not mg.is_grad_enabled()
    Counted()(lambda: None)()
    assert Counted.entered == 2
