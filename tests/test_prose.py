"""The check of the English reads prose and not code, finds each idiom, and lets no count rise."""

from __future__ import annotations

import json

import pytest

from tests import prose

IDIOMS = {
    "what-noun": "What is saved goes to the node.",
    "what-object": "A list of what was saved.",
    "is-no": "It is no tensor.",
    "an-for-per": "It takes one rule an operand.",
    "stands": "The index stands in the last dim.",
    "old-word": "The values are alike.",
    "private-word": "The road of a call.",
    "wrt": "The gradient in `x` is 2.",
    "talking-code": "The kernel knows the dim.",
    "bare-else": "It is a view, else a copy.",
    "of-library": "A number of Python is weak.",
}


@pytest.mark.parametrize("rule", prose.RULES)
def test_each_rule_finds_its_idiom_and_nothing_in_plain_words(rule: str) -> None:
    assert prose.PATTERNS[rule].search(prose.plain(IDIOMS[rule]))
    plain = (
        "The node stores the saved values. It is not a tensor, and there is no graph. One rule per operand. "
        "What is a gradient? The gradient of y with respect to `x` is 2. Otherwise it is a copy."
    )
    assert not prose.PATTERNS[rule].search(prose.plain(plain))


def test_code_formulas_and_directives_are_not_read() -> None:
    doc = "Return `what stands`, $x \\alike y$.\n\n    >>> what stands\n    "
    text = f'def f():\n    """{doc}"""  # noqa: dear\n    return 1\n'
    words = " ".join(prose.plain(part) for _, part in prose.of_python(text))
    assert not any(pattern.search(words) for pattern in prose.PATTERNS.values())


def test_comments_messages_pages_and_notebooks_are_read() -> None:
    assert any("dear" in part for _, part in prose.of_python("x = 1\n# This is\n# dear.\n"))
    raised = 'raise ValueError(f"{x} is no tensor")\n'
    assert any(prose.PATTERNS["is-no"].search(part) for _, part in prose.of_python(raised))
    page = "# A heading\n\n| it stands | in a table |\n\n```\nwhat stands\n```\n\n* An item stands.\n"
    assert [line for line, part in prose.of_markdown(page) if "stands" in part] == [9]
    notebook = "# %% [markdown]\n# It stands.\n\n# %%\nx = 1  # stands\n"
    assert [part for _, part in prose.of_notebook(notebook)] == ["It stands."]


def test_a_new_hit_fails_and_the_baseline_only_falls(tmp_path, monkeypatch, capsys) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text(json.dumps({"a.py": {"stands": 2}, "b.py": {"stands": 1}}))
    monkeypatch.setattr(prose, "BASELINE", baseline)
    found = [prose.Hit("a.py", 1, "stands", "it stands"), prose.Hit("c.py", 1, "is-no", "is no x")]
    monkeypatch.setattr(prose, "hits", lambda: iter(found))
    assert prose.main([]) == 1 and "c.py:1: is-no" in capsys.readouterr().out
    assert prose.main(["--write"]) == 1
    assert json.loads(baseline.read_text()) == {"a.py": {"stands": 1}}
    found.pop()
    assert prose.main([]) == 0
