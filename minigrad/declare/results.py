"""Descriptions of the results of functions whose summary does not begin with "Return"."""

from __future__ import annotations

JOINED = "New tensor with the elements of all tensors, in the promoted dtype."
DECORATOR = "Decorator that replaces the body by the op."
BLOCK = "Context manager for a `with` block."
DROPPED = "New tensor with the shape of `input`; `input` itself if `training` is False or `p` is 0."
SAMPLED = "New tensor with one value for each channel and each position of the grid."
WAITING = "None; with `async_op=True` a handle whose `wait()` waits for the end."
WRITTEN = "The same tensor, after the write."
PICTURE = "Picture that Jupyter shows; `save(path)` writes it to a file."

RESULTS = {
    "all_gather": WAITING,
    "all_reduce": WAITING,
    "alpha_dropout": DROPPED,
    "backward": "Gradients of this pass, by tensor: `grads[w]`.",
    "barrier": WAITING,
    "broadcast": WAITING,
    "cat": JOINED,
    "checkpoint": "The result of `fn(*args, **kwargs)`.",
    "clip_grad_norm": "The norm of all gradients together, before they were scaled.",
    "column_stack": JOINED,
    "compare": "The names of the values that were compared.",
    "composed": DECORATOR,
    "conv3d": "New tensor (N, out channels, depth, height, width), or without N.",
    "curves": "Picture of the curves that Jupyter shows; `save(path)` writes it to a file.",
    "custom_bwd": "The decorated function.",
    "data_ptr": "The address in bytes.",
    "debug": BLOCK,
    "dropout": DROPPED,
    "dropout1d": DROPPED,
    "dropout2d": DROPPED,
    "dropout3d": DROPPED,
    "dstack": JOINED,
    "elementwise": DECORATOR,
    "enable_grad": "Context manager and decorator.",
    "explain_grad": "The explanation: `kind` is a word, `reasons` are sentences; `print` shows it.",
    "feature_alpha_dropout": DROPPED,
    "flatten_from": "View of `input` where its strides allow it, otherwise a copy.",
    "flatten_to": "View of `input` where its strides allow it, otherwise a copy.",
    "get_item": "View of `x` for ints, slices, None and Ellipsis; otherwise a copy.",
    "grad": "One gradient for each input, in the structure of `inputs`; None if an input is unused.",
    "autograd.grad": "One gradient for each input; None for an unused input, with `allow_unused=True`.",
    "gradcheck": "Report of the comparison, which is true if it found no error.",
    "gradgradcheck": "Report of the comparison, which is true if it found no error.",
    "graph": "Picture that Jupyter shows; `save(path)` writes SVG, HTML, PNG or PDF.",
    "grid_sampler": SAMPLED,
    "grid_sampler_2d": SAMPLED,
    "grid_sampler_3d": SAMPLED,
    "histogram": "Named tuple of the counts, or sums of weights, and the edges of the bins.",
    "histogramdd": "Named tuple of the counts, or sums of weights, and a list of edges for each dim.",
    "hstack": JOINED,
    "hvp": "The product, in the structure of the tangents; with the value of `func` where that is requested.",
    "kernel": DECORATOR,
    "machine.kernel": PICTURE,
    "layout": PICTURE,
    "manual_seed": "The default generator.",
    "memory": "Plot that Jupyter shows, with the bytes after each op in `forward` and `backward`.",
    "multinomial": "New int64 tensor (num_samples,), or (rows, num_samples) for a matrix.",
    "no_grad": "Context manager and decorator.",
    "one_set": WRITTEN,
    "override": BLOCK,
    "precision": "Graph and table of the errors; Jupyter shows it, and `print` shows the table.",
    "printoptions": BLOCK,
    "read_text": "The whole text.",
    "recv": "The rank of the sender.",
    "reduce": WAITING,
    "reduction": DECORATOR,
    "register_hook": "Handle whose `remove()` removes the hook.",
    "register_post_accumulate_grad_hook": "Handle whose `remove()` removes the hook.",
    "remove_spectral_norm": "The module.",
    "remove_weight_norm": "The module.",
    "repeat": "New tensor whose dims are `repeats[d]` times as long.",
    "repeat_interleave": "New tensor, a row if `dim` is None.",
    "roll": "New tensor with the shape of `input`.",
    "scalar": "The function, for use in other scalar functions.",
    "scope": BLOCK,
    "seed": "The seed.",
    "set_grad_enabled": "Context manager and decorator.",
    "slice_set": WRITTEN,
    "stack": "New tensor with one dim more, in the promoted dtype.",
    "step": "Trace of the backward pass that Jupyter shows step by step; `print` shows text.",
    "strided_view": "View that shares the memory of `x`.",
    "trapz": "The integrals along `dim`.",
    "upsample": "New tensor of the requested size.",
    "upsample_bilinear": "New tensor of the requested size.",
    "upsample_nearest": "New tensor of the requested size.",
    "vstack": JOINED,
    "where_cond": "New tensor with the shape to which the operands broadcast, in the promoted dtype of `a` and `b`.",
}


def result_of(module: str, name: str) -> str:
    """Return the description of a function's result, or "" if the tables have none.

    A function whose name ends in "_" writes in place and returns the same tensor.
    """
    text = RESULTS.get(f"{module.rpartition('.')[2]}.{name}") or RESULTS.get(name)
    return text or (WRITTEN if name.endswith("_") else "")
