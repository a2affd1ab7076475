"""What a tensor knows, what is recorded for each op, and the one road from a call to a kernel."""
