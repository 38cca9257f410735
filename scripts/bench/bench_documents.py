"""Speed and memory of documents of office programs, beside the same text in plain notes.

    python scripts/bench/bench_documents.py [--paragraphs 2000]

A Word file, an RTF file and a page of HTML are made of the paragraphs of one long note (500 pages have about 10,000).
Told are characters of text a CPU second: reading the file alone, scrubbing the whole of it, scrubbing the note; and the
most memory that the process had.
"""

from __future__ import annotations

import argparse
import resource
import time
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TypeVar

from deid.base.keys import Key
from deid.document import Document
from deid.io import Options
from deid.io.documents import read
from deid.pipeline import build_pipeline

_Found = TypeVar("_Found")
_NOTES = Path(__file__).parents[2] / "corpora" / "synthetic" / "sample" / "txt"
_LETTER = Path(__file__).parents[2] / "corpora" / "records" / "documents" / "letter.docx"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paragraphs", type=int, default=2000)
    count = parser.parse_args().paragraphs
    lines = [
        line for path in sorted(_NOTES.glob("*.txt")) for line in path.read_text("utf-8").splitlines() if line.strip()
    ]
    lines = (lines * (count // len(lines) + 1))[:count]
    plain = "\n".join(lines)
    escaped = [line.replace("&", "&amp;").replace("<", "&lt;") for line in lines]
    files = {"docx": _docx(escaped), "rtf": _rtf(lines), "html": ("<html><p>" + "\n<p>".join(escaped)).encode()}
    pipeline = build_pipeline(Key(b"b" * 32))
    pipeline("Dr. Smith.")
    notes, _ = _timed(lambda: pipeline(Document("n", plain)))
    print(f"{len(plain):,} characters in {count:,} paragraphs")
    print(f"plain note     {len(plain) / notes / 1e3:8,.0f} K characters a CPU second")
    for kind, data in files.items():
        reading, found = _timed(lambda data=data: read(data, Options()))
        whole, _ = _timed(lambda found=found: pipeline(found))
        print(
            f"{kind:6} reading {len(plain) / reading / 1e3:8,.0f}, "
            f"scrubbing {len(plain) / (reading + whole) / 1e3:6,.0f}: "
            f"{notes / (reading + whole):.2f} of the rate of the note"
        )
    print(f"most memory    {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8,.0f} MB")


def _timed(work: Callable[[], _Found]) -> tuple[float, _Found]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def _docx(lines: list[str]) -> bytes:
    """Return the sample letter with other paragraphs, in runs of some words as Word writes them."""
    out = BytesIO()
    with zipfile.ZipFile(_LETTER) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name).decode()
            if name == "word/document.xml":
                head, _, rest = content.partition("<w:body>")
                paragraphs = "".join(
                    f'<w:p w:rsidR="00AB12CD">{"".join(map(_run, _pieces(line)))}</w:p>' for line in lines
                )
                content = f"{head}<w:body>{paragraphs}{rest[rest.rindex('<w:sectPr') :]}"
            new.writestr(name, content)
    return out.getvalue()


def _run(text: str) -> str:
    return f'<w:r w:rsidRPr="00AB12CD"><w:rPr><w:sz w:val="22"/></w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def _pieces(line: str) -> list[str]:
    words = line.split(" ")
    return [" ".join(words[n : n + 5]) + " " * (n + 5 < len(words)) for n in range(0, len(words), 5)]


def _rtf(lines: list[str]) -> bytes:
    body = "\\par\n".join(line.replace("\\", "\\\\").replace("{", "\\{").replace("}", "\\}") for line in lines)
    return ("{\\rtf1\\ansi " + "".join(c if c < "\x7f" else f"\\u{ord(c)}?" for c in body) + "}").encode("ascii")


if __name__ == "__main__":
    main()
