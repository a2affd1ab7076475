"""Loop nests for CUDA: plain functions that the specialiser writes out, as the CPU's are, file by file."""
