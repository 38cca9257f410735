"""Read WordNet's nouns from its own database files, such as those of Debian's package ``wordnet-base``.

A noun has several senses and a sense may have several hypernyms. The hierarchy takes the first hypernym of each sense,
a phrase the first, most frequent sense. Nothing of WordNet is copied into this project.

Format: wndb(5WN) of WordNet 3.0.
"""

from __future__ import annotations

from pathlib import Path

from deid.base.errors import MALFORMED, ConfigError, told_as
from deid.table.hierarchy import Hierarchy

DEBIAN_FOLDER = Path("/usr/share/wordnet")
_HINT = "install Debian's wordnet-base, or leave the ontology wordnet out"


def read_wordnet(folder: Path) -> tuple[Hierarchy, dict[str, tuple[str, ...]]]:
    """Read the nouns.

    Parameters
    ----------
    folder : Path
        Folder with ``data.noun`` and ``index.noun``.

    Returns
    -------
    (Hierarchy, dict of str to tuple of str)
        The tree of senses, named by their first word and ``#`` with their offset, and the sense of each phrase.

    Raises
    ------
    ConfigError
        When the files are missing or malformed.
    """
    try:
        data = (folder / "data.noun").read_text(encoding="utf-8")
        index = (folder / "index.noun").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ConfigError("WordNet's files data.noun and index.noun cannot be read", _HINT) from None
    with told_as(ConfigError("WordNet's files are malformed", _HINT), *MALFORMED):
        names, above = _senses(data)
        parents = {names[sense]: names[parent] for sense, parent in above.items()}
        senses: dict[str, tuple[str, ...]] = {
            line.partition(" ")[0].replace("_", " "): (names[_first_offset(line)],)
            for line in index.splitlines()
            if line and not line.startswith(" ")
        }
    return Hierarchy("wordnet", parents), senses


def _senses(data: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the name of each sense by its offset, and the offset of its first hypernym."""
    names: dict[str, str] = {}
    above: dict[str, str] = {}
    for line in data.splitlines():
        if not line or line.startswith(" "):
            continue
        # offset file type words word id ... pointers symbol offset type source/target ...
        fields = line.partition(" | ")[0].split(" ")
        offset, words = fields[0], int(fields[3], 16)
        names[offset] = f"{fields[4].replace('_', ' ')}#{offset}"
        pointers = fields[4 + 2 * words :]
        for place in range(1, 1 + 4 * int(pointers[0]), 4):
            if pointers[place] in ("@", "@i"):
                above[offset] = pointers[place + 1]
                break
    return names, above


def _first_offset(line: str) -> str:
    """Return the offset of the most frequent sense of an index line: the first of the last ones."""
    fields = line.split()
    # lemma type senses pointers symbol ... senses tagged offset ...
    return fields[6 + int(fields[3])]
