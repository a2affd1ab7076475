"""Prepared calls: found again by a key, limited in number, and dropped when they may be invalid.

An owner of plans has the attribute `plans`, a plain dict: `get` of a subclass of dict takes four times as long, 0.1 us.
"""

from __future__ import annotations

from typing import Any

from minigrad.config import settings

planned: dict[int, Any] = {}  # the owners that have plans, by identity
epoch = [0]  # how often all plans were dropped; who keeps a plan elsewhere compares it


def bounded(entries: dict[Any, Any], key: Any, value: Any, limit: int) -> Any:
    """Add an entry to a dict, and return its value; at the limit, the older half of the entries is dropped."""
    if len(entries) >= limit:
        for old in list(entries)[: limit // 2]:
            entries.pop(old, None)  # another thread may have removed it
    entries[key] = value
    return value


def keep(owner: Any, key: Any, plan: Any, limit: int | None = None) -> Any:
    """Add a plan to those of an op or function until `forget` drops them all, and return it.

    limit: the largest number of plans, by default the setting `plan_limit`; many shapes do not fill the memory.
    """
    planned[id(owner)] = owner
    return bounded(owner.plans, key, plan, limit or settings.plan_limit)


def forget() -> None:
    """Drop all plans."""
    epoch[0] += 1
    while planned:
        planned.popitem()[1].plans.clear()
