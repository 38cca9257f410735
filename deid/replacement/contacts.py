"""Surrogates of telephone numbers, e-mail and network addresses, in ranges that belong to nobody.

Sources of the ranges: US numbers 555-0100 to 555-0199 (ATIS, NANP fictional use); British numbers set aside for drama
(Ofcom); example.com, example.net, example.org (RFC 2606); 192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24 (RFC 5737);
2001:db8::/32 (RFC 3849). Spain and other countries set no range aside: their numbers keep country and first digit,
and the rest is permuted.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from deid.reading.identity import name_key
from deid.replacement.choices import Choices
from deid.replacement.identifiers import encipher, scramble
from deid.replacement.pools import expression, read_words, words

_EXTENSION = expression("telephone_extension")
_WORD = re.compile(r"[^\W\d_]+")
_TOLL_FREE = frozenset({"800", "833", "844", "855", "866", "877", "888"})


def _put_digits(text: str, digits: str) -> str:
    """Write ``digits`` over the digits of ``text``, left to right."""
    rest = iter(digits)
    return "".join([next(rest) if char.isdecimal() else char for char in text])


def replace_phone(choices: Choices, text: str, step: int = 1) -> str:
    """Return the surrogate of a telephone, fax or pager number; separators, country, extension marks and words stay.

    Letters that are no known word (a vanity number) are replaced too.

    Parameters
    ----------
    choices : Choices
        The document's choices.
    text : str
        The original.
    step : int
        Which choice, from 1.

    Returns
    -------
    str
        Empty when nothing could be replaced.
    """
    kept = words().kept["phone"]
    if _WORD.search(text):
        text = _WORD.sub(
            lambda m: m.group() if name_key(m.group()) in kept else scramble(choices.keyed, m.group()), text
        )
    extension = _EXTENSION.search(text) if "#" in text or _WORD.search(text) else None
    main, rest = text, ""
    if extension:
        main, rest = text[: extension.start()], text[extension.start() :]
        rest = _put_digits(rest, scramble(choices.keyed, "".join(filter(str.isdecimal, rest)), "extension", step))
    digits = "".join(filter(str.isdecimal, main))
    if not digits:
        return main + rest
    surrogate = choices.claim("telephone numbers", digits, _numbers(choices, main, digits, step), words=False)
    return _put_digits(main, surrogate) + rest if surrogate else ""


def _numbers(choices: Choices, main: str, digits: str, step: int) -> Iterator[str]:
    """Yield surrogates for the digits of a number without its extension."""
    international = main.lstrip(" (").startswith("+") or digits.startswith("00")
    prefix = ""
    if international:
        national = digits[2:] if digits.startswith("00") else digits
        for country in ("1", "44", "34"):
            if national.startswith(country):
                prefix = digits[: len(digits) - len(national) + len(country)]
                national = national[len(country) :]
                break
        else:  # another country: its code and the first digit behind it stay
            yield from _permuted(choices, digits, min(3 + len(digits) - len(national), len(digits) - 4), step)
            return
        if prefix.endswith("44"):
            bare = national.lstrip("0")  # "+44 (0)20 ..." has the zero that others leave out
            zeros = national[: len(national) - len(bare)]
            yield from _behind(prefix + zeros, 1, _british(choices, "0" + bare, step))
        elif prefix.endswith("34"):
            yield from _behind(prefix, 0, _permuted(choices, national, 1, step))
        else:
            yield from _behind(prefix, 0, _american(choices, national, step))
    elif choices.language.startswith("es") and len(digits) <= 9:
        yield from _permuted(choices, digits, 1, step)
    elif not choices.language.startswith(("en", "es")):  # areas, and what is mobile, are in the first four digits
        yield from _permuted(choices, digits, 4 if digits[0] == "0" and len(digits) > 6 else 0, step)
    elif len(digits) == 11 and digits[0] == "1":
        yield from _behind("1", 0, _american(choices, digits[1:], step))
    elif len(digits) in (10, 11) and digits[0] == "0":
        yield from _british(choices, digits, step)
    else:
        yield from _american(choices, digits, step)


def _behind(prefix: str, start: int, numbers: Iterator[str]) -> Iterator[str]:
    """Yield numbers from one of their places on, behind a prefix."""
    for number in numbers:
        yield prefix + number[start:]


def _permuted(choices: Choices, digits: str, kept: int, step: int) -> Iterator[str]:
    if not digits:
        return
    kept = max(0, min(kept, len(digits) - 1))
    head, tail = digits[:kept], digits[kept:]
    for attempt in range(step, step + 64):
        yield head + encipher(choices.keyed, f"telephone\0{head}", tail, ["0123456789"] * len(tail), attempt)


def _american(choices: Choices, digits: str, step: int) -> Iterator[str]:
    """Yield ``NPA 555 01xx`` for ten digits, ``555 01xx`` for seven, another arrangement for fewer."""
    codes = _area_codes()
    if len(digits) not in (7, 10):
        yield from _permuted(choices, digits, 0, step)
        return
    for attempt in range(step, step + 200):
        number = choices.keyed.number("telephone", digits, str(attempt))
        number, line = divmod(number, 100)
        area = ""
        if len(digits) == 10:
            area = digits[:3] if digits[:3] in _TOLL_FREE else codes[number % len(codes)]
        yield f"{area}55501{line:02}"


@functools.cache
def _area_codes() -> tuple[str, ...]:
    return tuple(read_words("words.toml")["phone"]["area_codes"].split())


def _british(choices: Choices, digits: str, step: int) -> Iterator[str]:
    """Yield numbers that the regulator set aside for drama, of the same kind (area, mobile, freephone)."""
    kind = digits[:2]
    if kind == "01" and digits[2:3] == "1":
        kind = "011"
    elif kind == "01" and digits[3:4] == "1":
        kind = "01x1"
    heads = read_words("words.toml")["drama"].get(kind)
    if heads is None or len(digits) not in (10, 11):
        yield from _permuted(choices, digits, 1, step)
        return
    for attempt in range(step, step + 400):
        number = choices.keyed.number("telephone", digits, str(attempt))
        number, line = divmod(number, 1000)
        head = heads[number % len(heads)]
        # the heads with eight digits take three more, those with seven four: the first of these is 0
        full = f"{head}{line:03}" if len(head) == 8 else f"{head}0{line:03}"
        yield full[: len(digits)]


# addresses of the network

_DOMAIN = re.compile(r"[\w-]+(?:\.[\w-]+)*", re.UNICODE)
_HOSTS = ("", "mail.", "web.", "info.", "home.", "office.", "post.", "net.", "my.", "portal.", "online.", "contact.")
_ENDINGS = ("org", "com", "net")
_SUFFIX = re.compile(r"\.(?:html?|php|aspx?|jsp|pdf|png|jpe?g|gif|txt|xml|json)$", re.IGNORECASE)
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)?(?P<user>[^@/\s]+@)?(?P<host>[^/?#:\s]+)(?P<rest>.*)", re.I | re.S)
_V4 = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\d)")  # a sentence may end behind it
_NETS = ("192.0.2.", "198.51.100.", "203.0.113.")
_HEX = re.compile(r"[0-9a-f]", re.IGNORECASE)
_ADDRESS = re.compile(r"[0-9a-f:.%/\[\]\s-]+", re.IGNORECASE)
_NAMES_A_HOST = re.compile(r"\d|[^\W\d_]{3}")


def _domain(choices: Choices, domain: str) -> str:
    """Return a reserved domain for ``domain``, always the same one; empty when none is left."""

    def candidates() -> Iterator[str]:
        for attempt in range(200):
            number = choices.keyed.number("domain", domain.lower(), str(attempt))
            number, ending = divmod(number, len(_ENDINGS))
            number, host = divmod(number, len(_HOSTS))
            # the first tries are plain; later ones carry a number, so that they do not run out
            extra = "" if attempt < 24 else f"s{number % 1000}."
            yield f"{_HOSTS[host]}{extra}example.{_ENDINGS[ending]}"

    found = choices.claim("domains", f"@{domain.lower()}", candidates(), words=False)
    return found.upper() if domain.isupper() else found


def replace_username(choices: Choices, text: str, step: int = 1) -> str:
    """Return the surrogate of a login: what is built from names follows the surrogate names, digits change.

    Arguments as those of `replace_phone`.
    """
    return choices.names.username(text, step)


def replace_email(choices: Choices, text: str, step: int = 1) -> str:
    """Return the surrogate of an e-mail address: the local part like a login, the domain reserved by RFC 2606.

    Arguments as those of `replace_phone`; empty when nothing could be replaced.
    """
    local, at, domain = text.rpartition("@")
    if not at or not local:
        return replace_url(choices, text, step) if "." in text else replace_username(choices, text, step)
    found = _DOMAIN.search(domain)
    if found is None:
        return ""
    host = _domain(choices, found.group())
    if not host:
        return ""
    return f"{replace_username(choices, local, step)}@{domain[: found.start()]}{host}{domain[found.end() :]}"


def replace_url(choices: Choices, text: str, step: int = 1) -> str:
    """Return the surrogate of a web address: a reserved host, and a path and query of the same layout.

    Arguments as those of `replace_phone`; empty when the host cannot be replaced.
    """
    match = _URL.fullmatch(text.strip())
    if match is None:
        return scramble(choices.keyed, text, "url", step)
    host = match["host"]
    www = "www." if host.lower().startswith("www.") else ""
    rest = match["rest"]
    suffix = _SUFFIX.search(rest)
    tail = suffix.group() if suffix else ""
    body = rest[: len(rest) - len(tail)]
    moved = scramble(choices.keyed, body, "url", step) or body
    lead = text[: len(text) - len(text.lstrip())]
    new = _domain(choices, host[len(www) :])
    return f"{lead}{match['scheme'] or ''}{host[: len(www)]}{new}{moved}{tail}" if new else ""


def replace_ip(choices: Choices, text: str, step: int = 1) -> str:
    """Return a network address from the ranges for documentation; hardware addresses change their digits.

    Arguments as those of `replace_phone`; empty when nothing could be replaced.
    """
    if _V4.search(text):

        def candidates(address: str) -> Iterator[str]:
            for attempt in range(step, step + 2000):
                number = choices.keyed.number("ip", address, str(attempt))
                yield _NETS[number % 3] + str(1 + number // 3 % 254)

        new = {a: choices.claim("network addresses", a, candidates(a), words=False) for a in _V4.findall(text)}
        if not all(new.values()):
            return ""
        moved = _V4.sub(lambda match: new[match.group()], text)
        rest = _V4.sub("", text)
        return _scramble_around(choices, moved, step) if _NAMES_A_HOST.search(rest) else moved
    if not _ADDRESS.fullmatch(text):  # the name of a host, such as NORTHFIELD-WS12
        return scramble(choices.keyed, text, "host", step)
    places = [m.start() for m in _HEX.finditer(text)]
    if not places:
        return ""
    alphabets = ["0123456789abcdef" if not text[i].isupper() else "0123456789ABCDEF" for i in places]
    code = encipher(choices.keyed, "hex", "".join(text[i] for i in places), alphabets, step)
    chars = list(text)
    for i, char in zip(places, code, strict=True):
        chars[i] = char
    moved = "".join(chars)
    groups = moved.split(":")
    net = "DB8" if text.isupper() else "db8"
    if "::" in text:  # IPv6, shortened: the range, then what stood last
        return f"2001:{net}::" + ":".join([g for g in groups[1:] if g][-3:])
    if len(groups) == 8:  # IPv6: the first two groups name the range
        return ":".join(["2001", net, *groups[2:]])
    return moved


def _scramble_around(choices: Choices, text: str, step: int) -> str:
    """Replace letters and digits that stand beside an address (a port, a mask, a host)."""
    around = [scramble(choices.keyed, part, "port", step) or part for part in _V4.split(text)]
    pairs = zip(around, [*_V4.findall(text), ""], strict=True)
    return "".join([part + address for part, address in pairs])
