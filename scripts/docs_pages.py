"""Pages of the site that are made of something else: the Python reference, the changelog, the security policy.

A hook of mkdocs (`on_files`). As a program it looks at a built site: nothing may be loaded from elsewhere.

    python scripts/docs_pages.py out/site
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|<link\b(?![^>]*rel=["']?(?:canonical|edit|next|prev)\b)[^>]*\bhref=["']?(?:https?:)?//[^"'\s>]+"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//[^"')\s]+|url\(["']?(?:https?:)?//[^"')\s]+""",
    re.IGNORECASE,
)
"""What a browser loads by itself from another place; links that a reader follows are none of it."""
_OF_ROOT = {"changelog.md": "CHANGELOG.md", "security.md": "SECURITY.md"}
"""Pages of the site that stand at the root of the checkout."""
_QUOTED = re.compile(r"""(?<=: )(["'])(.+?)\1(?=[,)]| = )|(?<=-> )(["'])(.+?)\3$""")
"""Annotations in a signature, which are strings."""
_END = re.compile(r"&lt;&lt;(?:'|&\#39;)END")
"""Where a command of a page in HTML takes the lines up to END."""
_SHIM = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"></script>')


def public_names(page: str) -> list[tuple[str, list[str]]]:
    """Return the sections of docs/api.md with the names that each lists."""
    sections: list[tuple[str, list[str]]] = []
    for line in page.splitlines():
        if line.startswith("## "):
            sections.append((line[3:], []))
        elif sections and (found := re.match(r"\| `(deid[\w.]*)` \|", line)):
            sections[-1][1].append(found[1])
    return [section for section in sections if section[1]]


def find(name: str) -> Any:
    """Return what a dotted name means; None where it needs a package that is not installed."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError as error:
            if error.name and error.name.split(".")[0] != "deid":
                return None
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise LookupError(name)


def markdown(docstring: str) -> str:
    """Return a docstring in NumPy's form as Markdown: headings in bold, each parameter a line of a list."""
    lines = inspect.cleandoc(docstring).splitlines()
    out: list[str] = []
    heading = ""
    for number, line in enumerate(lines):
        after = lines[number + 1] if number + 1 < len(lines) else ""
        if line and re.fullmatch(r"-{3,}", after):
            heading = line
            out += ["", f"**{line}**", ""]
        elif re.fullmatch(r"-{3,}", line):
            continue
        elif heading and line and not line.startswith(" ") and heading not in ("Notes", "Examples"):
            name, _, kind = line.partition(" : ")
            out.append(f"* `{name}`" + (f" ({kind})" if kind else ""))
        elif heading and heading not in ("Notes", "Examples"):
            out.append(f"    {line.strip()}" if line.strip() else "")
        else:
            out.append(f"    {line}" if line.startswith(">>>") else line)
    text = "\n".join(out).strip("\n")
    return re.sub(r"``(.+?)``", r"`\1`", re.sub(r"(?<![`\w])`(deid\.[\w.]+)`", r"`\1`", text))


def signature(found: Any) -> str:
    """Return how something is called, types without quotation marks; nothing where Python does not know."""
    try:
        said = str(inspect.signature(found))
    except (TypeError, ValueError):
        return ""
    return _QUOTED.sub(lambda one: one[2] or one[4], said)


def entry(name: str) -> str:
    """Return the section of a public name: signature, docstring, public methods."""
    found = find(name)
    if found is None:
        return f"### {name}\n\nNeeds a package that is not installed here."
    kind = "class" if inspect.isclass(found) else "def"
    short = name.rsplit(".", 1)[-1]
    parts = [f"### {name}", f"```python\n{kind} {short}{signature(found)}\n```", markdown(inspect.getdoc(found) or "")]
    if inspect.isclass(found):
        for method, value in vars(found).items():
            if not method.startswith("_") and inspect.isfunction(value):
                brief = (inspect.getdoc(value) or "").splitlines()
                parts.append(f"* `{short}.{method}{signature(value)}`: {brief[0] if brief else ''}")
    return "\n\n".join(parts)


def reference() -> str:
    """Return the page of all public names."""
    parts = ["# Python reference", "Made of the docstrings of what [the Python interface](api.md) names."]
    for title, names in public_names((ROOT / "docs" / "api.md").read_text(encoding="utf-8")):
        parts += [f"## {title}", *map(entry, names)]
    return "\n\n".join(parts) + "\n"


def terminal(code: str) -> str:
    """Mark prompts and output of a terminal, so that what a reader copies is the commands alone.

    A line that begins with ``$`` is a command, which goes on behind a backslash and up to ``END``.
    """
    lines, out = code.splitlines(keepends=True), []
    while lines:
        line = lines.pop(0)
        if not line.startswith("$ "):
            out.append(f'<span class="go">{line}</span>')
            continue
        command = line.removeprefix("$ ")
        while lines and (command.endswith("\\\n") or (_END.search(command) and not command.endswith("\nEND\n"))):
            command += lines.pop(0)
        out.append(f'<span class="gp">$ </span>{command}')
    return "".join(out)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made."""
    from mkdocs.structure.files import File

    made = {
        "reference.md": reference(),
        **{name: (ROOT / file).read_text(encoding="utf-8") for name, file in _OF_ROOT.items()},
    }
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Lead links to the pages of the site; files of the checkout that are no pages are shown as their paths."""
    here = page.file.src_uri
    base = ROOT if here in _OF_ROOT else (ROOT / "docs" / here).parent
    pages = {ROOT / file: name for name, file in _OF_ROOT.items()}

    def shown(found: re.Match[str]) -> str:
        path, mark, part = found[2].partition("#")
        inside = (base / path).resolve()
        place = pages.get(
            inside, inside.relative_to(ROOT / "docs").as_posix() if inside.is_relative_to(ROOT / "docs") else ""
        )
        if place and files.get_file_from_path(place) is not None:
            return f"[{found[1]}]({os.path.relpath(place, Path(here).parent)}{mark}{part})"
        if not inside.exists() or not inside.is_relative_to(ROOT):
            return found[0]  # which mkdocs reports
        return f"{found[1]} (`{inside.relative_to(ROOT)}`)"

    return re.sub(r"(?<!!)\[([^\]\n]+)\]\((?!https?:|mailto:|#)([^)\s]+)\)", shown, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Mark what is typed in the terminals of a page."""
    return re.sub(r"(<code>)(\$ .*?)(</code>)", lambda one: one[1] + terminal(one[2]) + one[3], html, flags=re.DOTALL)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Take the script that lets search run in pages opened as files from the site itself, not from a CDN."""
    return _SHIM.sub(lambda _: f'<script src="{page.url.count("/") * "../"}assets/worker.js"></script>', output)


def on_post_template(output: str, template_name: str, config: Any) -> str:
    """Do the same for pages that are none of ours, such as that of a missing page."""
    return _SHIM.sub('<script src="assets/worker.js"></script>', output)


def on_config(config: Any) -> Any:
    """Put pages that the navigation forgets at its end, so that none is lost."""
    named = set(re.findall(r"[\w/-]+\.md", json.dumps(config.nav)))
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    decisions = sorted(f"decisions/{path.name}" for path in (ROOT / "docs" / "decisions").glob("*.md"))
    more = sorted(pages - named)
    config.nav = [*config.nav, *([{"More": more}] if more else []), {"Decisions": decisions}]
    return config


def loaded_from_elsewhere(site: Path) -> list[str]:
    """Return what pages and style sheets of a site load from other places."""
    pages = [path for path in sorted(site.rglob("*")) if path.suffix in (".html", ".css")]
    return [
        f"{path.relative_to(site)}: {found[0]}"
        for path in pages
        for found in _LOADED.finditer(path.read_text(encoding="utf-8"))
    ]


if __name__ == "__main__":
    wrong = loaded_from_elsewhere(Path(sys.argv[1]))
    sys.exit("\n".join(["these are loaded from elsewhere:", *wrong]) if wrong else 0)
