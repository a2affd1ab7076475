"""Loop nests for the CPU, one kernel family a file; plain Python until `specialize` writes a module from them."""
