"""Event files for TensorBoard, with the class of `torch.utils.tensorboard`; the package tensorboardX writes them."""

from __future__ import annotations

from typing import Any

from minigrad.errors import ArgumentError
from minigrad.runtime.tensor import Tensor

__all__ = ["SummaryWriter"]


def as_arrays(value: Any) -> Any:
    """Replace tensors by NumPy arrays, also in lists, tuples and dicts."""
    if isinstance(value, Tensor):
        return value.numpy(force=True)
    if isinstance(value, (list, tuple)):
        return [as_arrays(each) for each in value]
    return {key: as_arrays(each) for key, each in value.items()} if isinstance(value, dict) else value


class SummaryWriter:
    """Write values, histograms, pictures and texts as event files, which TensorBoard shows.

    The methods are those of `tensorboardX.SummaryWriter`: `add_scalar("loss", loss, step)`, `add_histogram`,
    `add_image`, `add_text`, `close` and others.  They take tensors wherever they take arrays.

    Parameters
    ----------
    *args, **kwargs
        Arguments of `tensorboardX.SummaryWriter`; the first is the folder of the files.

    Raises
    ------
    ImportError
        If tensorboardX is not installed.
    ArgumentError
        If `add_graph` is called, which needs PyTorch's compiler; `mg.viz.graph(loss)` draws the graph.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            import tensorboardX
        except ImportError as error:
            raise ImportError("SummaryWriter needs tensorboardX; run `pip install tensorboardX`") from error
        self._writer = tensorboardX.SummaryWriter(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_writer":  # asked for by copies and pickles, before there is one
            raise AttributeError(name)
        if name == "add_graph":
            raise ArgumentError("SummaryWriter: add_graph needs PyTorch's compiler; draw with mg.viz.graph(loss)")
        method = getattr(self._writer, name)
        if not name.startswith("add_"):
            return method
        return lambda *args, **kwargs: method(*as_arrays(args), **as_arrays(kwargs))

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self._writer.close()
