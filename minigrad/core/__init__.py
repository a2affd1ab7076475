"""The types below every tensor: dtypes, devices, shapes, layouts, storages and allocators. NumPy only."""
