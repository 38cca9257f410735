"""All formats by name, and the verbs in front of them, which take paths: `scan`, `read`, `open_writer` and `write`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from deid.document import Document, Failure
from deid.io.brat import BRAT
from deid.io.ccda import CCDA
from deid.io.csv_table import CSV
from deid.io.database import open_rows
from deid.io.database_places import is_database
from deid.io.docbin import DOCBIN
from deid.io.documents import DOCUMENTS
from deid.io.formats import Format, Options
from deid.io.hide import HIDE
from deid.io.i2b2_2006 import I2B2_2006
from deid.io.i2b2_2014 import I2B2_2014, MEDDOCAN
from deid.io.jsonl import DOCCANO, JSONL, LABELSTUDIO, PRODIGY
from deid.io.parquet_table import PARQUET
from deid.io.physionet import PHYSIONET
from deid.io.reading import Source, get_format, open_source
from deid.io.records import FHIR, HL7V2
from deid.io.text import TEXT
from deid.io.writing import WriteOutcome, Writer, make_writer, write_all

_SHIPPED: tuple[Format, ...] = (
    *(HL7V2, CCDA, FHIR, DOCUMENTS, I2B2_2006, MEDDOCAN, I2B2_2014, LABELSTUDIO, PRODIGY, DOCCANO, JSONL),
    *(CSV, PARQUET, DOCBIN, HIDE, PHYSIONET, BRAT, TEXT),
)
FORMATS = {format.name: format for format in _SHIPPED}
"""The formats by name, in the order in which sniffing tries them; the plainest of each suffix comes last."""


def scan(path: str | Path, format: str | None = None, options: Options | None = None) -> Source:
    """Look at a file or folder: its format, its files by name, and what will be skipped.

    Parameters
    ----------
    path : path
        Or a database, whose table the options name (`deid.io.database`).
    format : str, optional
        Name of a format of `FORMATS`; told by suffix and content when not given.
    options : Options, optional

    Returns
    -------
    Source
        What is there to read; no document has been read yet.

    Raises
    ------
    InputError
        The path does not exist, or its format cannot be told.
    ConfigError
        Unknown format or encoding.
    """
    if is_database(path):
        return open_rows(path, options or Options())
    return open_source(Path(path), format, FORMATS, options or Options())


def read(
    path: str | Path,
    format: str | None = None,
    *,
    encoding: str = "utf-8",
    any_label: bool = False,
    text_field: str | None = None,
    id_field: str | None = None,
    spans_field: str | None = None,
) -> Iterator[Document | Failure]:
    """Read a file or folder, one document after the other, sorted by path.

    Parameters
    ----------
    path : path
    format : str, optional
        Name of a format of `FORMATS`; told by suffix and content when not given.
    encoding, any_label, text_field, id_field, spans_field
        See `Options`.

    Returns
    -------
    iterator of Document or Failure
        Documents with their `index`; a `Failure` in place of each that cannot be read.

    Raises
    ------
    InputError, ConfigError
        As `scan`, at once; what goes wrong with single documents comes as failures.
    """
    return scan(path, format, Options(encoding, any_label, text_field, id_field, spans_field)).documents()


def open_writer(
    path: str | Path, format: str, options: Options | None = None, *, private: bool = True, single: bool | None = None
) -> Writer:
    """Return a writer, to be used in a ``with`` statement, whose ``write(document)`` streams.

    Parameters
    ----------
    path : path
        A file (for formats of one document, only one can be written) or a folder, where each document goes to
        ``<id><suffix>``; a collection goes to ``documents<suffix>`` there. Check it with `check_output` first.
    format : str
        Name of a format of `FORMATS`.
    options : Options, optional
    private : bool
        Files with mode 0600, for PHI; otherwise as the umask says.
    single : bool, optional
        Whether ``path`` is a file; by default when its name ends in a suffix of the format.

    Raises
    ------
    ConfigError
        Unknown format or encoding.
    """
    return make_writer(Path(path), get_format(format, FORMATS), options or Options(), private=private, single=single)


def write(
    documents: Iterable[Document | Failure],
    path: str | Path,
    format: str,
    options: Options | None = None,
    *,
    private: bool = True,
    single: bool | None = None,
) -> WriteOutcome:
    """Write documents as `open_writer` does; those that cannot be written become failures and stop nothing.

    Parameters
    ----------
    documents : iterable of Document or Failure
        What is to be written; failures are passed on.
    path, format, options, private, single
        As those of `open_writer`.

    Returns
    -------
    WriteOutcome
        How many documents were written, and the failures.

    Raises
    ------
    OutputError
        The file of a collection could not be written as a whole; nothing of it is left then.
    """
    return write_all(documents, open_writer(path, format, options, private=private, single=single))
