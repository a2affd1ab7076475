"""Views, joins and writes into views."""
