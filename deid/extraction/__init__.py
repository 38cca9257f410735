"""From spans of many notes to the identifier view: one row a note or a person, one column an attribute."""

from deid.extraction.notes import COLUMNS, Fact, note_facts
from deid.extraction.view import IdentifierView, build_view, read_view
from deid.extraction.write_back import published_values
