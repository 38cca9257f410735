"""Reading and writing annotated documents.

One module a format, each with the two verbs `read` and `write`; the table `FORMATS` names them (`deid.io.registry`).
In front of them stand `read`, `open_writer` and `write`, which take paths: a file, or a folder whose structure is kept
in the ids of its documents (``sub/note-1`` for ``sub/note-1.txt``) and comes back when they are written.

>>> from deid.io import read, write                                                     # doctest: +SKIP
>>> write(read("corpus/xml"), "corpus.jsonl", "jsonl").documents                        # doctest: +SKIP
283

Names below are loaded on first use: whoever reads a table needs no format of notes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deid.base.lazy import lazily

if TYPE_CHECKING:
    from deid.io.folder import check_output, check_suffix
    from deid.io.formats import CollectionFormat, DocumentFormat, Format, Options
    from deid.io.reading import Source
    from deid.io.registry import FORMATS, open_writer, read, scan, write
    from deid.io.writing import WriteOutcome, Writer

__getattr__ = lazily(__name__)
