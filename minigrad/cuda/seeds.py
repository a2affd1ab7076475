"""`manual_seed` and `manual_seed_all`, as in `torch.cuda`; one generator serves all devices."""

from __future__ import annotations

from minigrad.ops.random import manual_seed as restart


def manual_seed(seed: int) -> None:
    """Seed the default generator, as `mg.manual_seed` does.

    Parameters
    ----------
    seed : int
        Any integer.

    Notes
    -----
    One generator serves all devices, so a program without a CUDA device can call this function too.
    """
    restart(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the default generator, as `mg.manual_seed` does.

    Parameters
    ----------
    seed : int
        Any integer.

    Notes
    -----
    One generator serves all devices, so this is the same function as `manual_seed`.
    """
    restart(seed)
