"""`manual_seed` under the names of `torch.cuda`: one generator serves all devices."""

from __future__ import annotations

from minigrad.ops.random import manual_seed as restart


def manual_seed(seed: int) -> None:
    """Restart the default generator, as `mg.manual_seed`; a program without a device calls it, too."""
    restart(seed)


def manual_seed_all(seed: int) -> None:
    """Restart the default generator, as `mg.manual_seed`."""
    restart(seed)
