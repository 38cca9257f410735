"""Lines of a list of documents: which failed, which to make; names of files may hold ends of lines and tabs."""

from __future__ import annotations


def list_line(path: str, identifier: str | None = None) -> str:
    """Return the line of a list of documents for one of them: its file and, of a record in it, a tab and the id."""
    return "\t".join(map(_escape, [path] if identifier is None else [path, identifier]))


def read_list_line(line: str) -> tuple[str, str | None]:
    """Return the file that a line names, and the id of a record in it, if it names one."""
    file, tab, identifier = line.partition("\t")
    return _unescape(file), _unescape(identifier) if tab else None


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def _unescape(text: str) -> str:
    plain = {"n": "\n", "r": "\r", "t": "\t"}
    pieces = text.split("\\\\")
    for number, piece in enumerate(pieces):
        for letter, character in plain.items():
            piece = piece.replace(f"\\{letter}", character)
        pieces[number] = piece
    return "\\".join(pieces)
