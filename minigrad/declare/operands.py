"""Descriptions of the operands of ops that are not elementwise: shapes, dtypes, and the role of each tensor.

Each description is followed by the operands that it describes, as "function.operand".  A description in the docstring
of an op takes precedence.
"""

DESCRIPTIONS = {
    # one tensor
    "Tensor of any shape.": """
        adjoint.input alias_copy.input as_strided_copy.input cast.input chunk.input clamp_max.input clamp_min.input
        clone.input contiguous.input
        diagflat.input expand_copy.input flatten.input fliplr.input flipud.input movedim.input narrow_copy.input
        permute_copy.input positive.input relu.input relu6.input repeat.input repeat_interleave.input
        roll.input rot90.input
        select_copy.input silu.input slice_copy.input split.tensor split_copy.input split_with_sizes.input
        split_with_sizes_copy.input squeeze_copy.input tensor_split.input tile.input transpose_copy.input unbind.input
        unbind_copy.input unflatten.input unfold_copy.input unsafe_chunk.input unsafe_split.input
        unsafe_split_with_sizes.input unsqueeze_copy.input view_copy.input reshape.input ravel.input swapaxes.input
        swapdims.input moveaxis.input flatten_from.x flatten_to.x broadcast_to.input is_complex.input numel.input
        is_floating_point.input view.x count_nonzero.input argwhere.input nonzero.input unique.input
        unique_consecutive.input""",
    "Tensor whose elements are compared; nan is larger than every number.": """
        argsort.input msort.input sort.input topk.input kthvalue.input""",
    "Tensor whose elements are compared; a nan is the result.": """
        argmax.input argmin.input max.input min.input median.input cummax.input cummin.input""",
    "Tensor whose elements are compared; nan is ignored.": "nanmedian.input",
    "Tensor of any shape, whose most frequent elements are found.": "mode.input",
    "Tensor with values of any shape; integers count as floats.": """
        logsumexp.input norm.input vector_norm.x softmax.input log_softmax.input softmin.input affine.input
        mvlgamma.input polygamma.input renorm.input""",
    "Floating tensor of any shape.": """
        quantile.input nanquantile.input prelu.input normalize.input dropout.input alpha_dropout.input rrelu.input
        nanmean.input std.input std_mean.input var.input var_mean.input logcumsumexp.input histc.input""",
    "Tensor of any shape that is accumulated; bool and small integers become int64.": "cumsum.input cumprod.input",
    "Tensor with the elements to subtract from each other.": "diff.input",
    "Tensor with samples of a function on a grid.": "gradient.input",
    "Tensor of integers or bool, whose bits are flipped.": "bitwise_not.input",
    "Tensor of one element.": "is_nonzero.input",
    "Tensor whose shape is compared.": "is_same_size.input is_same_size.other",
    "Tensor that specifies shape, dtype and device of the result.": """
        empty_like.input full_like.input ones_like.input zeros_like.input rand_like.input randint_like.input
        randn_like.input fill.input""",
    "Tensor of any shape that is overwritten with the result.": """
        celu_.input elu_.input hardtanh_.input leaky_relu_.input relu_.input rrelu_.input selu_.input
        threshold_.input""",
    "Tensor of any shape, or a number.": "bucketize.input searchsorted.input isin.elements",
    "Tensor of any shape; the operands broadcast to one shape.": """
        addcdiv.input addcmul.input isclose.input isclose.other allclose.input allclose.other
        dist.input dist.other kron.input kron.other
        rsub.input""",
    "Tensor that is compared element by element.": "equal.input equal.other",
    "Tensor of at least one dim; the first dim has the parts.": "vsplit.input",
    "Tensor of at least one dim; a vector is split along its only dim, other tensors along dim 1.": "hsplit.input",
    "Tensor of at least three dims.": "dsplit.input",
    "Tensor of at most two dims.": "t.input t_copy.input",
    "Vector or matrix.": "diag.input",
    "Tensor whose last dim becomes a diagonal.": "diag_embed.input",
    "Tensor of at least two dims, of which a diagonal is taken.": "diagonal_copy.input diagonal.A",
    "Matrix, or a batch of matrices in the last two dims.": "tril.input triu.input trace.input",
    "Probabilities, 0 to 1, in a floating dtype.": "bernoulli.input",
    "Weights of the classes, not negative: a vector, or a matrix with one distribution per row.": "multinomial.input",
    "Log-probabilities of the classes, up to a constant, along `dim`.": "gumbel_softmax.logits",
    "Vector of integers that are not negative.": "bincount.input",
    "Vector with the elements to choose from.": "combinations.input",
    "Matrix (observations, dims) of floats, of which bins are counted.": "histogramdd.input",
    "Floating tensor of any shape, whose elements are counted in bins.": "histogram.input",
    "Tensor of integers with positions in the flattened tensor.": "unravel_index.indices",
    "Tensor of int64 with classes, 0 to num_classes - 1.": "one_hot.tensor",
    "Tensor with an even length along `dim`; the first half is multiplied by sigmoid of the second.": "glu.input",
    "Matrix with one variable per row and one observation per column, or a vector of observations.": """
        corrcoef.input cov.input""",
    "Matrix (n, k) with one point per row.": "pdist.input",
    "Value below which an element is replaced.": "threshold_.threshold",
    "Value that replaces an element.": "threshold_.value",
    # joining
    "Tensors with one shape, except along `dim`.": "cat.tensors",
    "Tensors with one shape.": "stack.tensors",
    "Tensors that are joined; their other dims have one shape.": """
        column_stack.tensors dstack.tensors hstack.tensors vstack.tensors""",
    "Tensors of any shapes.": "atleast_1d.tensors atleast_2d.tensors atleast_3d.tensors",
    "Tensors whose shapes broadcast.": "broadcast_tensors.tensors",
    "Vectors, or tensors of one element.": "meshgrid.tensors cartesian_prod.tensors",
    "Matrices, vectors or single elements.": "block_diag.tensors",
    "One tensor per group of letters to the left of `->`, with one dim per letter.": "einsum.operands",
    "Two or more matrices whose sizes fit; the first and the last may be vectors.": "multi_dot.tensors",
    # indices and masks
    "Tensor from which elements are read.": "gather.input index_select.input take.input take_along_dim.input",
    "Tensor whose values are the result, except at the positions that are written.": """
        index_add.input index_copy.input index_fill.input index_put.input index_reduce.input put.input scatter.input
        scatter_add.input scatter_reduce.input masked_scatter.input masked_fill.input as_strided_scatter.input
        diagonal_scatter.input select_scatter.input slice_scatter.input""",
    "Integers, positions along `dim`; as many dims as input; negative ones count from the end.": """
        gather.index scatter.index scatter_add.index scatter_reduce.index""",
    "Integers, positions along `dim`; negative ones count from the end; broadcasts with input.": """
        take_along_dim.indices""",
    "Vector of integers, positions along `dim`; negative ones count from the end.": """
        index_add.index index_copy.index index_fill.index index_reduce.index index_select.index""",
    "Integers, positions in the flattened input; negative ones count from the end.": "take.index put.index",
    "Values for the positions of `index`, with its length along `dim` and the shape of input otherwise.": """
        index_add.source index_copy.source index_reduce.source""",
    "Values that are written; their shape broadcasts to that of the positions.": "index_put.values",
    "Values that are written, one per element of `index`.": "put.source",
    "Values that are written in order, at least one per True in the mask.": "masked_scatter.source",
    "A number, or a tensor of one element, that is written.": "index_fill.value masked_fill.value",
    "Tensor of bool that broadcasts with input; True marks the elements.": """
        masked_fill.mask masked_scatter.mask masked_select.mask""",
    "Tensor from which the marked elements are copied.": "masked_select.input",
    "Values to look for: a tensor of any shape, or a number.": "isin.test_elements",
    "Tensor whose last dim is sorted.": "searchsorted.sorted_sequence",
    "Vector of boundaries, sorted.": "bucketize.boundaries",
    "Weight of each element of `input`, with its shape; 1 for each if None.": "bincount.weights",
    "Positions from 0 to 1: a number, or a vector of them.": "quantile.q nanquantile.q",
    "Tensor that is put in front along `dim` before subtracting; nothing if None.": "diff.prepend",
    "Tensor that is put behind along `dim` before subtracting; nothing if None.": "diff.append",
    "Values of a function at sample points along `dim`.": "trapezoid.y trapz.y cumulative_trapezoid.y",
    "Sample points along `dim`; their distance is `dx` if None.": "trapezoid.x trapz.x cumulative_trapezoid.x",
    # products and matrices
    "Tensor that is added; it broadcasts to the shape of the product.": """
        addbmm.input addmm.input addmv.input addr.input baddbmm.input""",
    "Batch of matrices (b, n, m).": "addbmm.batch1 baddbmm.batch1 bmm.input",
    "Batch of matrices (b, m, p).": "addbmm.batch2 baddbmm.batch2 bmm.mat2",
    "Matrix (n, m).": "addmm.mat1 addmv.mat mm.input mv.input",
    "Matrix (m, p).": "addmm.mat2 mm.mat2",
    "Vector of length m.": "addmv.vec mv.vec",
    "Vector of length n.": "addr.vec1 outer.input",
    "Vector of any length.": "addr.vec2 outer.vec2 dot.input vdot.input",
    "Vector of the same length.": "dot.tensor vdot.other",
    "Vector (n,), matrix (n, m), or a batch of matrices (..., n, m).": "matmul.input",
    "Vector (m,), matrix (m, p), or a batch of matrices (..., m, p); batch dims broadcast.": "matmul.other",
    "Tensor whose last dim is summed.": "inner.input",
    "Tensor whose last dim has the same length.": "inner.other",
    "Tensor of any shape, whose dims in `dims` are summed.": "tensordot.a",
    "Tensor whose dims in `dims` have the same lengths.": "tensordot.b",
    "Tensor with vectors along `dim`; the two broadcast.": """
        cosine_similarity.x1 cosine_similarity.x2 vecdot.x vecdot.y""",
    "Tensor with vectors of length 3 along `dim`; the two broadcast.": "cross.input cross.other",
    "Tensor (..., d) with vectors in its last dim; the two broadcast.": "pairwise_distance.x1 pairwise_distance.x2",
    "Points (..., m, k), one per row.": "cdist.x1",
    "Points (..., n, k), one per row; batch dims broadcast.": "cdist.x2",
    "Square matrix (n, n), or a batch of them (..., n, n).": """
        det.input logdet.input slogdet.input inverse.input matrix_power.input det.A inv.A inv_ex.A matrix_power.A
        slogdet.A solve.A solve_ex.A""",
    "Symmetric positive definite matrix, or a batch of them (..., n, n).": "cholesky.input cholesky.A cholesky_ex.A",
    "Symmetric matrix, or a batch of them (..., n, n), of which one triangle is read.": "eigh.A eigvalsh.A",
    "Triangular matrix, or a batch of them (..., n, n).": "solve_triangular.A",
    "Triangular factor that `cholesky` returned, (..., n, n).": "cholesky_inverse.input cholesky_solve.input2",
    "Right-hand sides (..., n, k).": "cholesky_solve.input",
    "Right-hand sides (..., n, k) of matrices, or (n,) of a single one.": "lu_solve.input",
    "Right-hand sides (..., n, k), or (..., k, n) with left=False.": "solve_triangular.B lu_solve.B",
    "Right-hand sides: a vector, or matrices (..., n, k), or (..., k, n) with left=False.": "solve.B solve_ex.B",
    "Right-hand sides (..., m, k).": "lstsq.B",
    "Factors L and U in one matrix, (..., n, n), as `lu_factor` returned them.": "lu_solve.LU_data lu_solve.LU",
    "Pivots (..., n), as `lu_factor` returned them.": "lu_solve.LU_pivots lu_solve.pivots",
    "Matrix (m, n), or a batch of them (..., m, n).": """
        cond.A lstsq.A lu.A lu_factor.A lu_factor_ex.A matrix_norm.A matrix_rank.A pinv.A qr.A svd.A svdvals.A
        pinverse.input qr.input svd.input""",
    "Tensor (..., n) with the bases of the powers.": "vander.x",
    # windows and images
    "Signals (N, C, W), or one (C, W).": """
        adaptive_avg_pool1d.input adaptive_max_pool1d.input avg_pool1d.input max_pool1d.input lp_pool1d.input
        max_unpool1d.input conv1d.input conv_transpose1d.input dropout1d.input""",
    "Images (N, C, H, W), or one (C, H, W).": """
        adaptive_avg_pool2d.input adaptive_max_pool2d.input avg_pool2d.input max_pool2d.input lp_pool2d.input
        max_unpool2d.input conv2d.input conv_transpose2d.input dropout2d.input unfold.input""",
    "Volumes (N, C, D, H, W), or one (C, D, H, W).": """
        adaptive_avg_pool3d.input adaptive_max_pool3d.input avg_pool3d.input max_pool3d.input lp_pool3d.input
        max_unpool3d.input conv3d.input conv_transpose3d.input dropout3d.input fractional_max_pool3d.input""",
    "Columns (N, C * window, windows), or one (C * window, windows), as `unfold` returns them.": "fold.input",
    "Weights (out, C / groups, kW).": "conv1d.weight",
    "Weights (out, C / groups, kH, kW).": "conv2d.weight",
    "Weights (out, C / groups, kD, kH, kW).": "conv3d.weight",
    "Weights (C, out / groups, kW).": "conv_transpose1d.weight",
    "Weights (C, out / groups, kH, kW).": "conv_transpose2d.weight",
    "Weights (C, out / groups, kD, kH, kW).": "conv_transpose3d.weight",
    "Positions of the elements, int64, in the shape of `input`, as the pooling returned them.": """
        max_unpool1d.indices max_unpool2d.indices max_unpool3d.indices""",
    "Images (N, C, ...) with one to three dims behind the channels.": """
        interpolate.input upsample.input upsample_bilinear.input upsample_nearest.input""",
    "Images (N, C, H, W).": "grid_sampler_2d.input",
    "Volumes (N, C, D, H, W).": "grid_sampler_3d.input",
    "Images (N, C, H, W) or volumes (N, C, D, H, W).": "grid_sampler.input",
    "Tensor (N, C, ...), whose dim 1 has the channels.": """
        channel_shuffle.input local_response_norm.input group_norm.input instance_norm.input batch_norm.input
        feature_alpha_dropout.input""",
    "Images (..., C * r**2, H, W), with r the factor.": "pixel_shuffle.input",
    "Images (..., C, H * r, W * r), with r the factor.": "pixel_unshuffle.input",
    "Tensor with the elements that the padding surrounds.": "pad.input constant_pad_nd.input",
    # layers
    "Tensor (..., in).": "linear.input",
    "Matrix (out, in).": "linear.weight",
    "Tensor (..., in1).": "bilinear.input1",
    "Tensor (..., in2), with the leading dims of input1.": "bilinear.input2",
    "Weights (out, in1, in2).": "bilinear.weight",
    "Integers of any shape, rows of the table; negative ones count from the end.": "embedding.input",
    "Table (rows, length), one vector per row.": "embedding.weight embedding_bag.weight",
    "Factor of negative elements: one for all, or one per channel (dim 1).": "prelu.weight",
    "Floating tensor whose last dims are `normalized_shape`.": "layer_norm.input rms_norm.input",
    "Factors, in the shape `normalized_shape`; 1 if None.": "layer_norm.weight rms_norm.weight",
    "Factors, one per channel; 1 if None.": "batch_norm.weight group_norm.weight instance_norm.weight",
    "Mean per channel; updated in training and used otherwise; None for none.": """
        batch_norm.running_mean instance_norm.running_mean""",
    "Variance per channel; updated in training and used otherwise; None for none.": """
        batch_norm.running_var instance_norm.running_var""",
    "Queries (..., L, E).": "scaled_dot_product_attention.query",
    "Keys (..., S, E).": "scaled_dot_product_attention.key",
    "Values (..., S, Ev).": "scaled_dot_product_attention.value",
    # losses
    "Scores of the classes (C,), (N, C) or (N, C, ...), without softmax.": "cross_entropy.input",
    "Log-probabilities of the classes (C,), (N, C) or (N, C, ...).": "nll_loss.input",
    "Classes, integers in the shape of `input` without C; or probabilities, floats in its shape.": """
        cross_entropy.target""",
    "Classes, integers in the shape of `input` without C.": "nll_loss.target multi_margin_loss.target",
    "Factor of each class, a vector of length C; 1 if None.": """
        cross_entropy.weight nll_loss.weight multi_margin_loss.weight multilabel_soft_margin_loss.weight""",
    "Scores of the classes (C,) or (N, C).": """
        multi_margin_loss.input multilabel_margin_loss.input multilabel_soft_margin_loss.input""",
    "Classes of each input, integers in its shape; -1 ends a list.": "multilabel_margin_loss.target",
    "Targets of 0 or 1, in the shape of `input`.": "multilabel_soft_margin_loss.target",
    "Probabilities, 0 to 1, of any shape.": "binary_cross_entropy.input",
    "Scores of any shape, before sigmoid.": "binary_cross_entropy_with_logits.input",
    "Targets from 0 to 1, in the shape of `input`.": """
        binary_cross_entropy.target binary_cross_entropy_with_logits.target""",
    "Factor of each element, broadcast to `input`; 1 if None.": """
        binary_cross_entropy.weight binary_cross_entropy_with_logits.weight huber_loss.weight l1_loss.weight
        mse_loss.weight""",
    "Predictions of any shape.": """
        gaussian_nll_loss.input huber_loss.input l1_loss.input mse_loss.input smooth_l1_loss.input
        poisson_nll_loss.input hinge_embedding_loss.input soft_margin_loss.input""",
    "Log-probabilities of any shape.": "kl_div.input",
    "Probabilities, or their logarithms with log_target=True; broadcasts with `input`.": "kl_div.target",
    "Targets; they broadcast with `input`.": """
        gaussian_nll_loss.target huber_loss.target l1_loss.target mse_loss.target smooth_l1_loss.target""",
    "Counts, in the shape of `input`.": "poisson_nll_loss.target",
    "Targets of 1 or -1; they broadcast with `input`.": "hinge_embedding_loss.target soft_margin_loss.target",
    "First vectors (N, D), or one (D,).": "cosine_embedding_loss.input1",
    "Second vectors (N, D), or one (D,).": "cosine_embedding_loss.input2",
    "Target of each pair: 1 or -1.": "cosine_embedding_loss.target margin_ranking_loss.target",
    "First values of the pairs.": "margin_ranking_loss.input1",
    "Second values of the pairs.": "margin_ranking_loss.input2",
    "Vectors (N, D), or one (D,), that are compared with the two others.": """
        triplet_margin_loss.anchor triplet_margin_with_distance_loss.anchor""",
    "Vectors of the shape of `anchor` that should be near.": """
        triplet_margin_loss.positive triplet_margin_with_distance_loss.positive""",
    "Vectors of the shape of `anchor` that should be far.": """
        triplet_margin_loss.negative triplet_margin_with_distance_loss.negative""",
    "Function from two tensors to their distances; `pairwise_distance` if None.": """
        triplet_margin_with_distance_loss.distance_function""",
    # derivatives
    "Result of recorded ops.": "backward.y explain.y tape.y",
    "Tensor, or sequence of tensors, to differentiate.": "grad.outputs",
    "Tensor, or sequence of tensors, with respect to which the outputs are differentiated.": "grad.inputs",
}

OPERANDS = {name: text for text, names in DESCRIPTIONS.items() for name in names.split()}
