"""Templates of the loop nests for CUDA, one family of kernels per file; `specialize` writes modules from them."""
