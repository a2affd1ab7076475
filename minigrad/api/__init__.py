"""The Python interface of tensors: methods, other libraries' names, exchange of memory, printing."""
