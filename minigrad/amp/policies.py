"""The dtypes in which ops compute under `autocast`: PyTorch's lists for the CPU, restricted to the ops that exist here.

Products and convolutions become faster with fewer bits and lose little accuracy; losses, decompositions and long sums
lose much.  All other ops compute in the dtypes of their operands.
"""

from typing import Final

# Ops that compute in the dtype of the block.
LOWER: Final = frozenset((
    "addbmm", "addmm", "attention", "baddbmm", "bmm", "conv", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "linear", "matmul", "mm", "prelu", "scaled_dot_product_attention", "vecdot",
))  # fmt: skip

# Ops that compute in float32.
FLOAT32: Final = frozenset((
    "adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "cdist", "cholesky", "cholesky_ex", "cholesky_inverse", "cholesky_solve",
    "cond", "cosine_embedding_loss", "cross_entropy", "ctc_loss", "eigh", "eigvalsh", "grid_sample",
    "hinge_embedding_loss", "huber_loss", "inv", "inv_ex", "inverse", "kl_div", "l1_loss", "lstsq", "lu_factor_ex",
    "lu_solve", "margin_ranking_loss", "matrix_rank", "max_pool3d", "max_unpool2d", "max_unpool3d", "mse_loss",
    "multi_margin_loss", "multilabel_margin_loss", "nanquantile", "nll_loss", "pinv", "pinverse", "poisson_nll_loss",
    "prod", "qr", "quantile", "smooth_l1_loss", "soft_margin_loss", "solve", "svd", "svdvals", "trace",
    "triplet_margin_loss",
))  # fmt: skip

# Ops whose operands are cast to float32 if their dtypes differ.
WIDEST: Final = frozenset(("cat", "index_copy", "stack"))
