"""The referee: Piraten Kapern's rules as pure values. Imports the standard library only."""
