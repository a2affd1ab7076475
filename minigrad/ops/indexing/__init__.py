"""Reading and writing by index tensors and masks, and sorting."""
