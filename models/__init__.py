"""Shipped weights with their model cards, and the recipes that made them."""
