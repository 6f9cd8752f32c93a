"""The appliance: cameras, panel, store, table, loop, page and command line."""
