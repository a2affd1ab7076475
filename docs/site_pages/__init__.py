"""The generated pages of the site: a page for each op, a list of all functions, the notebooks' copies."""
