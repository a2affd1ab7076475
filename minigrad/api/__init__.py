"""The Python interface of tensors: methods, names from other libraries, exchange of memory, printing and files."""
