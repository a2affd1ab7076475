"""Mistakes that tests make in the texts of kernels, and what the simulator notices."""

from contextlib import contextmanager

import pytest

from minigrad.backends.cuda import family
from minigrad.backends.cuda.runtime import Program
from minigrad.backends.cuda.watched import Notice
from minigrad.runtime.plans import forget_plans


def text_of(template, dtypes, words, compute=None, **lengths):
    """Return the text of the kernel of a template."""
    return family.written(template, dtypes, tuple(words.items()), "", compute, tuple(lengths.items())).text


def break_text(monkeypatch, template, right, wrong):
    """Replace `right` by `wrong` in the kernels of a template, which is given by its name."""
    write = family.written

    def broken(loop, *args):
        program = write(loop, *args)
        if loop.__name__ != template:
            return program
        assert right in program.text
        return Program("broken", program.text.replace(right, wrong))

    monkeypatch.setattr(family, "written", broken)
    forget_plans()


@contextmanager
def noticed(kinds):
    """Expect a notice of one of these kinds."""
    with pytest.raises(Notice) as caught:
        yield
    forget_plans()
    assert caught.value.kind in kinds.split(), caught.value
