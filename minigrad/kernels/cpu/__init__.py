"""Templates of the loop nests for the CPU, one family of kernels per file; `specialize` writes modules from them."""
