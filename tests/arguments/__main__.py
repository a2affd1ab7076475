"""Compare every call with PyTorch where it is installed, otherwise with its stored results; `--write` stores them."""

from __future__ import annotations

import json
import sys

import minigrad as mg
from tests.arguments.calls import RESULTS, Call, calls, differs, outcome


def stored() -> dict[str, object]:
    """PyTorch's results by the text of the call."""
    table: dict[str, object] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return table


def theirs(each: list[Call]) -> dict[str, object]:
    """PyTorch's results of calls, computed now, or the stored ones."""
    try:
        import torch
    except ModuleNotFoundError:
        return stored()
    return {call.key: outcome(torch, call, {}) for call in each}


def main() -> int:
    """Print each call that differs, and store PyTorch's results if asked."""
    each = [call for call in calls() if len(sys.argv) < 2 or sys.argv[-1].startswith("-") or sys.argv[-1] in call.key]
    known = theirs(each)
    if "--write" in sys.argv:
        lines = [
            f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}"
            for key, value in known.items()
            if isinstance(value, list)
        ]
        RESULTS.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
    wrong = [(call, differs(outcome(mg, call, {"device": "reference"}), known.get(call.key))) for call in each]
    for call, text in wrong:
        if text:
            print(call.key, text)
    functions, different = len({call.function for call in each}), sum(bool(text) for _, text in wrong)
    print(f"{len(each)} calls of {functions} functions, {different} differ")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
