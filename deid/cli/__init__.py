"""The command line, one file a group; the only code that prints."""
