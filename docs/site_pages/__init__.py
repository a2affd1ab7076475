"""What of the site is written by a program: a page for each op, a list of all functions, the notebooks' copies."""
