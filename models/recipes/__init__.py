"""Training recipes. They run in an environment of their own with PyTorch and Ultralytics, never on the table."""
