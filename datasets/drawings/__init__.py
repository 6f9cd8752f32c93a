"""Our own drawings of the dice and cards: one source for training scenes and for the page."""
