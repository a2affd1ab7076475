"""The functions that PyTorch has too take its parameters, in its order, with its defaults; what differs is listed."""

from __future__ import annotations

import re
from pathlib import Path

from cases import over
from pytorch_signatures import differences, ours, stored

PAGE = Path(__file__).parents[1] / "docs" / "differences.md"
TABLE = stored()
SHARED = {name: function for name, function in ours() if name in TABLE}
DIFFERENT = {name for name, function in SHARED.items() if differences(function, TABLE[name])}


def listed() -> set[str]:
    """The functions whose signature differs, as the page names them."""
    part = PAGE.read_text(encoding="utf-8").partition("## Signatures")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([\w.]+)` \|", part, re.MULTILINE))


def test_at_most_nine_signatures_differ_and_each_has_its_reason() -> None:
    assert {name.removeprefix("torch.") for name in DIFFERENT} == listed()
    assert len(DIFFERENT) <= 9 and len(SHARED) >= 200


@over("name", SHARED)
def test_out_is_offered_where_pytorch_offers_it(name: str) -> None:
    assert "has no out=" not in differences(SHARED[name], TABLE[name])


def test_a_difference_is_noticed() -> None:
    def add(a, b, *, out=None):
        """Other names, and no alpha."""

    found = differences(add, TABLE["torch.add"])
    assert "has no alpha=" in found and "parameter 0 is a, not input" in found

    def gather(input, index, dim, *, sparse_grad=False, out=None):
        """Another order."""

    assert differences(gather, TABLE["torch.gather"])[0].startswith("parameter 1")
    assert not differences(SHARED["torch.gather"], TABLE["torch.gather"])
