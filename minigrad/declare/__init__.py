"""How an op is declared: decorators, the record that they make, and the rules that declarations name."""
