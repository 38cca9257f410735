"""The members of a zip archive, where they stand in its bytes, and an archive with some of them changed.

What no change touches is copied packed as it is. The days and times of members, their comments and further fields are
not: they tell when somebody saved a document, and so by how much its dates were shifted. What could be abused is
refused: encryption, other methods than deflate, members over one another, sizes and ratios beyond bounds.

Format: PKWARE, APPNOTE.TXT - .ZIP File Format Specification, 6.3.10, sections 4.3 and 4.4.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from deid.base.errors import FormatError, told_as
from deid.records.tables import Table

MOST_MEMBERS = 2000
MOST_RATIO = 400
"""Bytes that a byte of a member larger than `_SMALL` may stand for: texts of office programs stay below 100."""
_SMALL = 1 << 20
_LOCAL, _CENTRAL, _END = struct.Struct("<4s5H3I2H"), struct.Struct("<4s6H3I5H2I"), struct.Struct("<4s4H2IH")
_STORED, _DEFLATED = 0, 8
_ENCRYPTED, _UTF8 = 1, 1 << 11
_WIDE = 0xFFFFFFFF
_DAY = (1 << 5) | 1
"""The first day that the format knows, in place of each member's own."""
_HINT = "open it with the program that wrote it, and save it anew"


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive."""

    name: str = field(repr=False)
    raw_name: bytes = field(repr=False)
    utf8: bool
    method: int
    crc: int
    size: int
    """Bytes when it is unpacked."""
    start: int
    """First byte of what is packed."""
    end: int


def read_members(data: bytes, most: int) -> tuple[Member, ...]:
    """Return the members of an archive in the order of its directory.

    Parameters
    ----------
    data : bytes
    most : int
        Bytes that all of them may have when they are unpacked.

    Raises
    ------
    FormatError
        When the archive is damaged, encrypted or beyond bounds.
    """
    at = data.rfind(b"PK\x05\x06", max(0, len(data) - _END.size - (1 << 16)))
    if at < 0 or len(data) < at + _END.size:
        raise _damaged("its directory is missing, so it was cut off")
    _, disk, first_disk, here, count, size, begin, comment = _END.unpack_from(data, at)
    if count > MOST_MEMBERS:
        raise FormatError(f"a zip archive of more than {MOST_MEMBERS} members", "leave it out: no document has so many")
    if (
        disk
        or first_disk
        or here != count
        or begin == _WIDE
        or begin + size != at
        or at + _END.size + comment != len(data)
    ):
        raise _damaged("its directory is not where it should be")
    members: list[Member] = []
    total = 0
    at = begin
    for _ in range(count):
        member, at = _member(data, at, begin)
        total += member.size
        if total > most:
            raise FormatError(
                f"a zip archive of more than {most:,} bytes when unpacked",
                "split the document, or raise --max-document",
            )
        if member.size > max(_SMALL, MOST_RATIO * (member.end - member.start)):
            raise FormatError(f"a zip archive that packs more than {MOST_RATIO} bytes into one, as zip bombs do", _HINT)
        members.append(member)
    ordered = sorted(members, key=lambda m: m.start)
    if (
        any(a.end > b.start for a, b in pairwise(ordered))
        or len({m.name for m in members}) < count
        or at != begin + size
    ):
        raise _damaged("members lie over one another, or have one name")
    return tuple(members)


def _member(data: bytes, at: int, directory: int) -> tuple[Member, int]:
    """Return the member of an entry of the directory, and where the next entry begins."""
    with told_as(_damaged("an entry of its directory is cut off"), struct.error):
        sign, _, _, flags, method, _, _, crc, packed, size, name_size, extra, comment, disk, _, _, where = (
            _CENTRAL.unpack_from(data, at)
        )
        own = _LOCAL.unpack_from(data, where)
    name = data[at + _CENTRAL.size : at + _CENTRAL.size + name_size]
    start = where + _LOCAL.size + own[9] + own[10]
    if (flags | own[2]) & _ENCRYPTED:
        raise FormatError("the document is encrypted", "save it without a password")
    if method not in (_STORED, _DEFLATED):
        raise FormatError("a zip archive with members of a rare kind of compression", _HINT)
    if (
        sign != b"PK\x01\x02"
        or own[0] != b"PK\x03\x04"
        or own[3] != method
        or data[where + _LOCAL.size : where + _LOCAL.size + own[9]] != name
        or disk
        or _WIDE in (packed, size, where)
        or start + packed > directory
        or (method == _STORED and packed != size)
    ):
        raise _damaged("a member is not what its directory says")
    with told_as(_damaged("the name of a member cannot be read"), UnicodeDecodeError):
        text = name.decode("utf-8" if flags & _UTF8 else "ascii")
    if "\0" in text or "\\" in text or text.startswith("/") or ".." in text.split("/"):
        raise FormatError("a member whose name leads out of the archive", _HINT)
    end = at + _CENTRAL.size + name_size + extra + comment
    return Member(text, name, bool(flags & _UTF8), method, crc, size, start, start + packed), end


def _damaged(what: str) -> FormatError:
    return FormatError(f"the zip archive is damaged: {what}", _HINT)


def unpacked(data: bytes, member: Member) -> bytes:
    """Return the bytes of a member.

    Raises
    ------
    FormatError
        When they are not what the directory says; never more of them are made than it says.
    """
    raw = data[member.start : member.end]
    if member.method == _DEFLATED:
        machine = zlib.decompressobj(-zlib.MAX_WBITS)
        with told_as(_damaged("a member cannot be unpacked"), zlib.error):
            raw = machine.decompress(raw, member.size + 1)
        if not machine.eof and len(raw) == member.size:
            machine.decompress(b"", 1)
        if not machine.eof or machine.unused_data:
            raise _damaged("a member has another size than its directory says")
    if len(raw) != member.size or zlib.crc32(raw) != member.crc:
        raise _damaged("the checksum of a member is wrong")
    return raw


def packed(data: bytes, members: Sequence[Member], changed: Mapping[str, bytes]) -> bytes:
    """Return an archive of the same members in the same order, some with other bytes; all others packed as they were.

    Parameters
    ----------
    data : bytes
        The archive.
    members : sequence of Member
        Its members.
    changed : mapping of str to bytes
        Name -> new bytes.
    """
    out: list[bytes] = []
    directory: list[bytes] = []
    at = 0
    for member in members:
        new = changed.get(member.name)
        if new is None:
            raw, crc, size = data[member.start : member.end], member.crc, member.size
        else:
            raw, crc, size = new, zlib.crc32(new), len(new)
            if member.method == _DEFLATED:
                machine = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
                raw = machine.compress(new) + machine.flush()
        said = (20, _UTF8 * member.utf8, member.method, 0, _DAY, crc, len(raw), size, len(member.raw_name), 0)
        head = _LOCAL.pack(b"PK\x03\x04", *said) + member.raw_name
        directory.append(_CENTRAL.pack(b"PK\x01\x02", 20, *said, 0, 0, 0, 0, at) + member.raw_name)
        out += (head, raw)
        at += len(head) + len(raw)
    size = sum(map(len, directory))
    end = _END.pack(b"PK\x05\x06", 0, 0, len(directory), len(directory), size, at, 0)
    return b"".join((*out, *directory, end))


@dataclass(frozen=True, slots=True)
class Kind:
    """What a member is, by a line of the table's ``members``."""

    kind: str
    """``part``, ``keep``, ``blank`` (a picture), ``empty`` or ``refused``."""
    reason: str
    rank: int
    """Where its words stand in the text."""


def kind_of(table: Table, name: str) -> Kind:
    """Return what a member of a package is; ``refused`` where no line names it."""
    for rank, (pattern, kind, reason) in enumerate(table.facts["members"]):
        if re.fullmatch(pattern, name):
            return Kind(kind, reason, rank)
    return Kind("refused", "a member that no line of the table names", 0)
