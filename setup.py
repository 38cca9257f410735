"""Compiles the grammars, and what judges their candidates, by mypyc; all else of the package stands in pyproject.toml.

An installation without a compiler, or where mypyc fails, goes on with the sources, which do the same.
"""

import hashlib
import json
import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

GRAMMAR = (
    *("deid.reading.view", "deid.reading.casing", "deid.rules.patterns", "deid.rules.fields"),
    *("deid.rules.word_classes", "deid.rules.scene", "deid.rules.person_words", "deid.rules.evidence"),
    *("deid.rules.names", "deid.rules.places", "deid.rules.institutions", "deid.rules.professions"),
    *("deid.rules.layouts", "deid.rules.rules"),
    *("deid.detection.kinds", "deid.detection.numbers", "deid.detection.alone"),
    *("deid.detection.find_again", "deid.detection.overlaps"),
    *("deid.detection.edges", "deid.detection.whose", "deid.detection.joining", "deid.detection.columns"),
    *("deid.detection.legends", "deid.detection.ensemble", "deid.detection.things", "deid.detection.cut"),
    *("deid.replacement.permutation", "deid.replacement.names"),
    *("deid.replacement.places", "deid.replacement.institutions", "deid.replacement.containment"),
    *("deid.replacement.identifiers", "deid.replacement.numbers", "deid.replacement.contacts"),
    *("deid.replacement.people", "deid.replacement.date_forms", "deid.replacement.date_shifts"),
    *("deid.replacement.filling", "deid.replacement.articles", "deid.replacement.replacer"),
    *("deid.reading.identity", "deid.reading.comma_rows"),
    *("deid.records.readings", "deid.records.record", "deid.records.sweeping", "deid.records.hl7v2_codec"),
    *("deid.records.hl7v2_lists", "deid.records.hl7v2_fields", "deid.records.hl7v2", "deid.detection.known"),
    *("deid.records.xml_positions", "deid.records.ccda"),
)
SOURCES = {name: Path(*name.split(".")).with_suffix(".py") for name in GRAMMAR}


def grammar() -> list[Extension]:
    """Return what makes the compiled grammars; nothing where mypyc cannot."""
    try:
        from mypyc.build import mypycify

        # types of other packages depend on what lies beside mypyc, and take ten minutes: they are taken as unknown
        options = ["--config-file=", "--no-site-packages", "--ignore-missing-imports", "--follow-imports=silent"]
        files = [*options, *map(str, SOURCES.values())]
        # a C file a module: one file of all takes gcc three times as long, and runs no faster
        made = mypycify(
            files,
            group_name="deid._grammar",
            opt_level="2",
            debug_level="0",
            target_dir="build/mypyc",
            multi_file=True,
        )
    except (Exception, SystemExit):
        traceback.print_exc()
        print("the grammars are not compiled; their sources run", file=sys.stderr)
        return []
    for extension in made:
        extension.include_dirs.append("build/mypyc/deid")  # where mypyc puts the header of the group
        extension.optional = True
        extension.extra_compile_args = [a for a in extension.extra_compile_args if a != "-Werror"]
    return made


class Build(build_ext):
    """Builds what can be built, and tells in ``grammar.json`` from which sources grammars and loops in C were."""

    def run(self) -> None:
        """Build; a compiled grammar without the file, or beside an edited source, is refused (`deid.base.compiled`)."""
        digests = {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in SOURCES.items()}
        digests["deid._native"] = hashlib.sha256(
            b"".join(f.read_bytes() for f in sorted(Path("deid/csrc").glob("*.[ch]")))
        ).hexdigest()
        stamp = Path(self.get_ext_fullpath("deid._native")).with_name("grammar.json")
        built = [Path(self.get_ext_fullpath(name)) for name in ("deid._grammar__mypyc", *GRAMMAR)]
        for file in (stamp, *built):
            file.unlink(missing_ok=True)
        super().run()
        if all(file.exists() for file in built):
            stamp.write_text(json.dumps(digests), encoding="utf-8")
        else:
            for file in built:
                file.unlink(missing_ok=True)

    def build_extensions(self) -> None:
        """Build, several files at a time: gcc takes most of the minutes, and 200 MB a file."""
        one_by_one = self.compiler.compile

        def side_by_side(sources: list[str], *arguments: Any, **named: Any) -> list[str]:
            with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
                made = pool.map(lambda source: one_by_one([source], *arguments, **named), sources)
                return [name for names in made for name in names]

        self.compiler.compile = side_by_side
        super().build_extensions()

    def get_outputs(self) -> list[str]:
        """Name the files, that of the digests too."""
        return [*super().get_outputs(), str(Path(self.get_ext_fullpath("deid._native")).with_name("grammar.json"))]


if __name__ == "__main__":
    # pip asks for requirements and metadata before it builds, and neither needs what takes mypyc a minute each time
    asked = {"egg_info", "dist_info"}.intersection(sys.argv)
    setup(ext_modules=[] if asked else grammar(), cmdclass={"build_ext": Build})
