"""How tensors look to Python, NumPy and the reader: methods, other libraries' names, exchange of memory, printing."""
