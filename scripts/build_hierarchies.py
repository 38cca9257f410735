"""Build the hierarchies under dictionaries/hierarchies/: where a diagnosis code's category belongs.

* ``icd-10-cm``: blocks and chapters of ICD-10-CM (public domain) through ``simple-icd-10-cm``;
* ``icd-9-cm``: sections and chapters of ICD-9-CM (public domain), from the list in this script.

Run ``python scripts/build_hierarchies.py`` in the root of a checkout. The files hold categories only: codes below them
are cut by `deid.table.hierarchy_builders`. Values are code ranges, so that no text has to be translated.
"""

from __future__ import annotations

from pathlib import Path

from deid.table.hierarchy import format_hierarchy, hierarchy_from_rows

FOLDER = Path(__file__).resolve().parent.parent / "dictionaries" / "hierarchies"

ICD_9_CM = """
001-139: 001-009 010-018 020-027 030-041 042 045-049 050-059 060-066 070-079 080-088 090-099 100-104 110-118 120-129
 130-136 137-139
140-239: 140-149 150-159 160-165 170-176 179-189 190-199 200-208 209 210-229 230-234 235-238 239
240-279: 240-246 249-259 260-269 270-279
280-289: 280-289
290-319: 290-294 295-299 300-316 317-319
320-389: 320-327 330-337 338 339 340-349 350-359 360-379 380-389
390-459: 390-392 393-398 401-405 410-414 415-417 420-429 430-438 440-449 451-459
460-519: 460-466 470-478 480-488 490-496 500-508 510-519
520-579: 520-529 530-539 540-543 550-553 555-558 560-569 570-579
580-629: 580-589 590-599 600-608 610-612 614-616 617-629
630-679: 630-639 640-649 650-659 660-669 670-677 678-679
680-709: 680-686 690-698 700-709
710-739: 710-719 720-724 725-729 730-739
740-759: 740-759
760-779: 760-763 764-779
780-799: 780-789 790-796 797-799
800-999: 800-804 805-809 810-819 820-829 830-839 840-848 850-854 860-869 870-879 880-887 890-897 900-904 905-909 910-919
 920-924 925-929 930-939 940-949 950-957 958-959 960-979 980-989 990-995 996-999
E000-E999: E000 E001-E030 E800-E807 E810-E819 E820-E825 E826-E829 E830-E838 E840-E845 E846-E849 E850-E858 E860-E869
 E870-E876 E878-E879 E880-E888 E890-E899 E900-E909 E910-E915 E916-E928 E929 E930-E949 E950-E959 E960-E969 E970-E979
 E980-E989 E990-E999
V01-V91: V01-V09 V10-V19 V20-V29 V30-V39 V40-V49 V50-V59 V60-V69 V70-V82 V83-V84 V85 V86 V87 V88 V89 V90 V91
"""
"""Chapters and their sections; a code is a category of three digits, or of V and two, or of E and three."""


def icd_9_cm() -> list[tuple[str, str, str, str]]:
    """Return category, section, chapter, root."""
    rows = []
    for line in ICD_9_CM.strip().replace("\n ", " ").splitlines():
        chapter, sections = line.split(": ")
        for section in sections.split():
            first, last = section.split("-") if "-" in section else (section, section)
            letter = first[0] if first[0].isalpha() else ""
            width = len(first) - len(letter)
            for number in range(int(first[len(letter) :]), int(last[len(letter) :]) + 1):
                rows.append((f"{letter}{number:0{width}}", section, chapter, "*"))
    return rows


def icd_10_cm() -> list[tuple[str, str, str, str]]:
    """Return category, block, chapter, root; chapters are named by their range of codes."""
    import simple_icd_10_cm as icd

    rows = {}  # a block of one category comes twice
    for code in icd.get_all_codes(True):
        if icd.is_category(code):
            block, chapter = icd.get_ancestors(code)[0], icd.get_ancestors(code)[-1]
            rows[code] = (code, block, icd.get_description(chapter).rsplit("(", 1)[1].rstrip(")"), "*")
    return list(rows.values())


SOURCE = """description = "{description}"
origin = "{origin}"
licence = "public domain (US Government work)"
date = "2026-11-21"
language = "any"
script = "scripts/build_hierarchies.py"
"""


def main() -> None:
    for name, rows, description, origin in (
        (
            "icd-9-cm",
            icd_9_cm(),
            "Categories of ICD-9-CM in their sections and chapters",
            "ICD-9-CM (US National Center for Health Statistics), its table of contents written down for this project",
        ),
        (
            "icd-10-cm",
            icd_10_cm(),
            "Categories of ICD-10-CM in their blocks and chapters",
            "ICD-10-CM (US National Center for Health Statistics) by way of simple-icd-10-cm 1.5.0",
        ),
    ):
        folder = FOLDER / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hierarchy.csv").write_text(format_hierarchy(hierarchy_from_rows(rows, name)), encoding="utf-8")
        (folder / "source.toml").write_text(SOURCE.format(description=description, origin=origin), encoding="utf-8")


if __name__ == "__main__":
    main()
