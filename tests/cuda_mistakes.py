"""Mistakes that tests make in the texts of kernels, and what the simulator notices."""

from contextlib import contextmanager

import pytest

from minigrad.backends.cuda.runtime import Program
from minigrad.backends.cuda.watched import Notice
from minigrad.runtime.plans import forget_plans


def break_text(monkeypatch, module, writer, right, wrong, kind=""):
    """Let a writer replace `right` by `wrong` in its texts, or in those whose name begins with `kind`."""
    write = getattr(module, writer)

    def broken(*args):
        program = write(*args)
        if not program.name.startswith(kind):
            return program
        assert right in program.text
        return Program("broken", program.text.replace(right, wrong))

    monkeypatch.setattr(module, writer, broken)
    forget_plans()


@contextmanager
def noticed(kinds):
    """Expect a notice of one of these kinds."""
    with pytest.raises(Notice) as caught:
        yield
    forget_plans()
    assert caught.value.kind in kinds.split(), caught.value
