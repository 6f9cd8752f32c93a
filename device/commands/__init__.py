"""One module a subcommand of `ausguck`; each is a thin shell round the room that does the work."""
