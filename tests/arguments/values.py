"""Sample values of parameters, by the name of the parameter, and of the parameters of single functions.

A string such as "~f 3 4" is a tensor of the shape (3, 4): f for floats, p for positive floats, u for floats from 0 to
1, s for symmetric positive definite matrices, l for lower triangular ones, b for bools, iN for ints below N, and oN for
a permutation of N.  A string such as "dtype float64" is a dtype.  The first value of a list is the one in pairs.
"""

from __future__ import annotations

from typing import Any

F2, F3, M3 = "~f 3 4", "~f 2 3 4", "~s 3 3"

# Of required parameters only the first value is used.
GENERAL: dict[str, list[Any]] = {
    "input": [F2], "other": ["~f 3 4"], "A": [M3], "B": ["~f 3 2"], "x": [F2], "y": [F2],
    "tensors": [["~f 2 3", "~f 2 3"]], "dim": [1, -2, None, [0, 1]], "keepdim": [True],
    "dtype": ["dtype float64", "dtype float32"], "unbiased": [False], "correction": [0, 2.5, None], "out": ["out"],
    "alpha": [2, -1], "beta": [3, 0], "descending": [True], "stable": [True],
    "rounding_mode": ["floor", "trunc", None], "equal_nan": [True], "rtol": [0.5], "atol": [0.5], "offset": [1, -1],
    "dim1": [1], "dim2": [0], "diagonal": [1, -1], "upper": [True], "value": [2.5], "size": [[2, 3]],
    "fill_value": [2.5, True], "size_average": [False], "reduce": [False], "reduction": ["sum", "none"], "eps": [0.1],
    "inplace": [False], "training": [False], "min": ["~f 4", 0.1], "max": [1.5], "lambd": [0.3], "stride": [2, 1],
    "padding": [1], "dilation": [2], "ceil_mode": [True], "groups": [1], "bias": ["~f 4", None],
    "count_include_pad": [False], "divisor_override": [3], "return_indices": [True], "kernel_size": [2],
    "output_size": [2], "largest": [False], "sorted": [True], "interpolation": ["nearest", "lower", "midpoint"],
    "margin": [0.5], "swap": [True], "full": [True], "log_input": [False], "log_target": [True], "delta": [0.5],
    "negative_slope": [0.3], "approximate": ["tanh"], "ord": [1, float("inf"), -1, 3], "p": [1, 3, float("inf")],
    "hermitian": [True], "UPLO": ["U"], "left": [False], "adjoint": [True], "unitriangular": [True], "pivot": [True],
    "full_matrices": [False], "check_errors": [True], "nan": [1.0], "posinf": [9.0], "neginf": [-9.0],
    "start_dim": [1], "end_dim": [-2], "indexing": ["ij", "xy"], "layout": ["strided"],
    "memory_format": ["preserve_format"], "requires_grad": [True], "right": [True], "out_int32": [True],
    "side": ["right"], "bins": [5], "minlength": [8], "n": [2], "prepend": ["~f 3 1"], "append": ["~f 3 2"],
    "edge_order": [2], "dx": [0.5], "spacing": [0.5], "k": [2], "invert": [True], "assume_unique": [False],
    "accumulate": [True], "include_self": [False], "sparse_grad": [False], "step": [2], "end": [7], "start": [1],
    "base": [2.0], "steps": [5], "as_tuple": [True], "swap_": [True], "label_smoothing": [0.1], "ignore_index": [1],
    "pos_weight": ["~p 4"], "num_classes": [6], "momentum": [0.3], "target": ["~f 3 4"], "min_val": [-0.5],
    "max_val": [0.5], "threshold": [0.5], "r": [3], "with_replacement": [True], "chunks": [2], "index": ["~i3 3 4"],
    "src": ["~f 3 4"], "source": ["~f 3 4"], "mask": ["~b 3 4"], "dim0": [0], "length": [2], "decimals": [1],
    "is_causal": [True], "scale": [0.3], "density": [True], "fweights": ["~i5 4"], "aweights": ["~p 4"],
    "weights": ["~p 6"], "mean": [F2], "std": ["~p 3 4"],
}  # fmt: skip

LOSS = {"input": [F2], "target": [F2], "weight": ["~p 4"]}
SPATIAL = {1: "~f 2 4 9", 2: "~f 2 4 7 6", 3: "~f 1 4 5 6 5"}
PAIR = {"input1": [F2], "input2": ["~f 3 4"], "target": ["~sign 3"]}
INDEXED = {"dim": [1, -2], "index": ["~i3 3 2"], "src": ["~f 3 2"], "value": [2.5]}

SPECIAL: dict[str, dict[str, list[Any]]] = {

    **{f"conv{d}d": {"input": [SPATIAL[d]], "weight": [f"~f 4 4{' 3' * d}"], "padding": [1, "same"]} for d in
        SPATIAL},
    **{f"conv_transpose{d}d": {"input": [SPATIAL[d]], "weight": [f"~f 4 4{' 3' * d}"], "output_padding": [0]} for d
        in SPATIAL},
    **{f"{kind}_pool{d}d": {"input": [SPATIAL[d]], "kernel_size": [3, [3] * d], "norm_type": [2.0], "dilation": [1,
        2]} for d in SPATIAL for kind in ("avg", "max", "lp", "adaptive_avg", "adaptive_max")},
    **{name: {"input": ["~u 3 4"], "target": ["~u 3 4"], "weight": ["~p 4"]} for name in ("binary_cross_entropy",
        "binary_cross_entropy_with_logits")},
    **dict.fromkeys(("l1_loss", "mse_loss", "huber_loss", "smooth_l1_loss", "kl_div", "hinge_embedding_loss",
        "soft_margin_loss", "poisson_nll_loss", "multilabel_soft_margin_loss"), LOSS),
    **dict.fromkeys(("cross_entropy", "nll_loss", "multi_margin_loss"), LOSS | {"target": ["~i4 3"], "p": [1, 2]}),
    "gaussian_nll_loss": LOSS | {"var": ["~p 3 4"]}, "multilabel_margin_loss": LOSS | {"target": ["~i4 3 4"]},
    "cosine_embedding_loss": PAIR, "margin_ranking_loss": PAIR | {"input1": ["~f 3"], "input2": ["~f 3"]},
    "triplet_margin_loss": {"anchor": [F2], "positive": ["~f 3 4"], "negative": ["~f 3 4"], "p": [1, 2.0]},
    "bilinear": {"input1": ["~f 3 2"], "input2": ["~f 3 4"], "weight": ["~f 5 2 4"], "bias": ["~f 5"]},
    "linear": {"weight": ["~f 5 4"], "bias": ["~f 5"]}, "prelu": {"weight": ["~f 4"]},
    "embedding": {"input": ["~i5 3 2"], "weight": ["~f 5 3"], "padding_idx": [1], "scale_grad_by_freq": [True]},
    "embedding_bag": {"input": ["~i5 3 2"], "weight": ["~f 5 3"], "mode": ["sum", "max"], "padding_idx": [1]},
    "layer_norm": {"normalized_shape": [[4]], "weight": ["~f 4"]},
    "rms_norm": {"normalized_shape": [[4]], "weight": ["~f 4"]},
    "group_norm": {"input": [SPATIAL[1]], "num_groups": [2], "weight": ["~f 4"]},
    "batch_norm": {"running_mean": ["~f 4"], "running_var": ["~p 4"], "weight": ["~f 4"], "training": [False]},
    "instance_norm": {"input": [SPATIAL[1]], "weight": ["~f 4"]},
    "local_response_norm": {"input": [SPATIAL[2]], "size": [3], "alpha": [0.1], "beta": [0.5], "k": [2.0]},
    "interpolate": {"input": [SPATIAL[1]], "size": [5], "scale_factor": [2.0], "mode": ["linear", "nearest-exact"]},
    "pad": {"pad": [[1, 2]], "mode": ["constant", "circular"], "value": [2.5]}, "constant_pad_nd": {"pad": [[1, 2]]},
    "grid_sample": {"input": [SPATIAL[2]], "grid": ["~u 2 3 3 2"], "mode": ["nearest", "bicubic"], "padding_mode":
        ["border", "reflection"], "align_corners": [True]},
    "affine_grid": {"theta": ["~f 2 2 3"], "size": [[2, 1, 3, 4]], "align_corners": [True]},
    "fold": {"input": ["~f 1 8 6"], "output_size": [[3, 4]], "padding": [0], "stride": [1]},
    "unfold": {"input": [SPATIAL[2]]},
    "scaled_dot_product_attention": {"query": [F3], "key": [F3], "value": [F3], "attn_mask": ["~b 3 3"]},
    "pixel_shuffle": {"input": ["~f 1 8 2 3"], "upscale_factor": [2]},
    "pixel_unshuffle": {"input": ["~f 1 2 4 6"], "downscale_factor": [2]},
    "channel_shuffle": {"input": [SPATIAL[2]], "groups": [2]}, "one_hot": {"tensor": ["~i5 3"]},
    "pdist": {"p": [1, 3.0]}, "gelu": {}, "glu": {"dim": [1]}, "celu": {"alpha": [2.0]}, "elu": {"alpha": [2.0]},
    "threshold": {"threshold": [0.1], "value": [2.5]}, "addbmm": {"batch1": ["~f 2 3 5"], "batch2": ["~f 2 5 4"]},
    "addmm": {"mat1": ["~f 3 5"], "mat2": ["~f 5 4"]},
    "baddbmm": {"input": [F3], "batch1": ["~f 2 3 5"], "batch2": ["~f 2 5 4"]},
    "addmv": {"input": ["~f 3"], "mat": [F2], "vec": ["~f 4"]}, "addr": {"vec1": ["~f 3"], "vec2": ["~f 4"]},
    "addcdiv": {"tensor1": [F2], "tensor2": ["~p 3 4"]}, "addcmul": {"tensor1": [F2], "tensor2": ["~p 4"]},
    "bmm": {"input": [F3], "mat2": ["~f 2 4 2"]}, "mm": {"mat2": ["~f 4 2"]}, "mv": {"vec": ["~f 4"]},
    "matmul": {"other": ["~f 4 2"]}, "dot": {"input": ["~f 4"], "tensor": ["~f 4"]},
    "outer": {"input": ["~f 3"], "vec2": ["~f 4"]}, "inner": {}, "kron": {},
    "cross": {"input": ["~f 4 3"], "other": ["~f 4 3"], "dim": [1]}, "vdot": {"input": ["~f 4"], "other": ["~f 4"]},
    **dict.fromkeys(("gather", "scatter", "scatter_add"), INDEXED),
    "scatter_reduce": INDEXED | {"reduce": ["sum", "prod", "amax"]},
    **{key: {"dim": [1], "index": ["~o4"], "source": [F2]} for key in ("index_add", "index_copy")},
    "index_reduce": {"dim": [1], "index": ["~i4 4"], "source": [F2], "reduce": ["prod", "mean", "amin"]},
    "index_fill": {"dim": [1], "index": ["~i4 2"], "value": [2.5]}, "index_select": {"dim": [1], "index": ["~i4 5"]},
    "take": {"index": ["~i9 5"]}, "put": {"index": ["~i9 5"], "source": ["~f 5"]},
    "take_along_dim": {"indices": ["~i3 3 4"]}, "index_put": {"indices": [["~i3 2", "~i4 2"]], "values": ["~f 2"]},
    "masked_scatter": {"source": ["~f 12"]}, "select": {"dim": [1], "index": [2]},
    "select_copy": {"dim": [1], "index": [2]}, "narrow": {"dim": [1], "start": [-3], "length": [2]},
    "narrow_copy": {"dim": [1], "start": [1], "length": [2]},
    "select_scatter": {"src": ["~f 3"], "dim": [1], "index": [2]},
    "slice_scatter": {"src": ["~f 3 2"], "dim": [1], "start": [1], "end": [3], "step": [1]},
    "diagonal_scatter": {"src": ["~f 3"]}, "slice_copy": {"dim": [1], "start": [1], "end": [3]},
    "unfold_copy": {"dimension": [1], "size": [2], "step": [1]},
    "diagonal": {"input": [F3], "dim1": [2], "dim2": [1]}, "diag_embed": {"dim1": [0], "dim2": [2]},
    "linalg.diagonal": {"A": [F3]}, "movedim": {"input": [F3], "source": [[0, 1]], "destination": [[2, 0]]},
    "moveaxis": {"input": [F3], "source": [0], "destination": [2]},
    **{key: {"dim0": [0], "dim1": [1]} for key in ("transpose", "swapdims")},
    "swapaxes": {"axis0": [0], "axis1": [1]}, "transpose_copy": {"dim0": [0], "dim1": [1]},
    "flip": {"dims": [[0, 1]]}, "roll": {"shifts": [[1, 2]], "dims": [[0, 1]]}, "rot90": {"k": [3], "dims": [[1, 0]]},
    "tile": {"dims": [[2, 1]]}, "permute": {"dims": [[1, 0]]}, "permute_copy": {"dims": [[1, 0]]},
    "reshape": {"shape": [[2, 6]]}, "unflatten": {"dim": [1], "sizes": [[2, 2]]}, "unsqueeze": {"dim": [1]},
    "broadcast_to": {"size": [[2, 3, 4]]}, "expand_copy": {"size": [[2, 3, 4]]},
    "repeat_interleave": {"repeats": ["~i3 4"], "dim": [1]},
    "split": {"tensor": [F2], "split_size_or_sections": [2], "dim": [1, 0]},
    "split_with_sizes": {"split_sizes": [[1, 2]], "dim": [1]},
    "tensor_split": {"indices_or_sections": [2], "sections": [2]}, "chunk": {"dim": [1, 0]}, "unbind": {"dim": [1]},
    "cat": {"dim": [1, 0]}, "stack": {"dim": [1, 2]}, "meshgrid": {"tensors": [["~f 2", "~f 3"]]},
    "combinations": {"input": ["~f 4"]}, "squeeze": {"input": ["~f 3 1"], "dim": [1, [0, 1]]},
    "diff": {"dim": [1], "n": [1]}, "flatten": {"input": [F3]}, "bincount": {"input": ["~i5 6"]},
    "histc": {"min": [-1], "max": [1]}, "histogram": {"bins": [4], "range": [[-1.0, 1.0]], "weight": ["~p 3 4"]},
    "bucketize": {"boundaries": ["~sorted 4"]}, "searchsorted": {"sorted_sequence": ["~sorted 4"]},
    "isin": {"elements": ["~i5 6"], "test_elements": ["~i3 2"]}, "topk": {"k": [2], "dim": [0, 1]},
    "kthvalue": {"k": [2], "dim": [0, 1]}, "sort": {"dim": [0]}, "argsort": {"dim": [0]}, "msort": {},
    "quantile": {"q": [0.3], "dim": [1, None]}, "nanquantile": {"q": [0.3], "dim": [1, None]},
    "cov": {"correction": [0]}, "renorm": {"p": [2], "dim": [0], "maxnorm": [0.5]},
    "cdist": {"x1": [F2], "x2": ["~f 2 4"]}, "clamp": {"min": [-0.5], "max": [0.5]},
    "cosine_similarity": {"x1": [F2], "x2": [F2], "dim": [0]}, "pairwise_distance": {"x1": [F2], "x2": [F2]},
    "lerp": {"end": ["~f 3 4"], "weight": [0.3]}, "where": {"condition": ["~b 3 4"]},
    "heaviside": {"values": ["~f 4"]}, "pow": {"input": ["~p 3 4"], "exponent": ["~f 4"]},
    "float_power": {"input": ["~p 3 4"], "exponent": [2]}, "fill": {},
    **{key: {"input": ["~i9 3 4"], "other": ["~i5 4"]} for key in ("bitwise_and", "bitwise_or", "bitwise_xor",
        "gcd", "lcm", "bitwise_left_shift", "bitwise_right_shift")}, "ldexp": {"other": ["~i4 4"]},
    "bitwise_not": {"input": ["~i9 3 4"]}, "tril_indices": {"row": [3], "col": [4]},
    "triu_indices": {"row": [3], "col": [4]}, "eye": {"n": [3], "m": [2]}, "vander": {"x": ["~f 4"], "N": [3]},
    "linspace": {"start": [0.5], "end": [2]}, "logspace": {"start": [0.5], "end": [2]},
    "arange": {"start": [1], "end": [7]}, "full_like": {"fill_value": [2.5]}, "scalar_tensor": {"s": [2.5]},
    "logsumexp": {"dim": [1, [0, 1]]}, "multigammaln": {"input": ["~big 3"], "p": [2]},
    "polygamma": {"n": [1], "input": ["~p 3"]}, "tensordot": {"a": [F2], "b": ["~f 4 3"], "dims": [1]},
    "cholesky_solve": {"input": ["~f 3 2"], "input2": ["~l 3 3"]}, "cholesky_inverse": {"input": ["~l 3 3"]},
    "solve_triangular": {"A": ["~l 3 3"], "upper": [False]}, "lstsq": {"A": ["~f 4 3"], "B": ["~f 4 2"]},
    "matrix_power": {"n": [-2], "input": [M3]}, "cond": {"p": [None, "fro"]},
    **{key: {"input": [M3]} for key in ("logdet", "det", "slogdet", "inverse", "cholesky", "pinverse")}, "trace": {},
    "matrix_norm": {"ord": ["fro", "nuc", 1, -2], "dim": [[0, 1]]}, "cummax": {"dim": [1]}, "cummin": {"dim": [1]},
    "logcumsumexp": {"dim": [1]}, "normal": {"generator": []}, "vecdot": {"dim": [0]},
    "trapezoid": {"y": [F2], "dim": [0]},
}  # fmt: skip

# Random functions, settings, files, and names that stand for another object.
SKIPPED = (
    "lobpcg", "pca_lowrank", "svd_lowrank",    # eigenvectors of either sign, and random starts
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli", "multinomial",
    "normal", "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "rrelu",
    "rrelu_", "gumbel_softmax", "empty", "empty_like", "manual_seed", "load", "save", "seed", "set_default_device",
    "set_num_threads", "set_printoptions", "from_dlpack", "from_numpy", "eig", "eigh", "svd", "qr", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "unique", "unique_consecutive", "einsum", "is_tensor", "get_num_threads",
    "is_grad_enabled", "is_inference_mode_enabled", "unbind_copy", "view_copy",
)  # fmt: skip
