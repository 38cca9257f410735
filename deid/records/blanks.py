"""Blank files in place of pictures and objects that nobody examined, so that a document still opens.

Formats: PNG (ISO/IEC 15948), JPEG (ITU-T T.81), GIF89a, BMP, TIFF 6.0, and [MS-EMF] 2.3.4.2, [MS-WMF] 2.3.2.
"""

from __future__ import annotations

import base64
import struct

_PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg==")
_JPEG = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI//////////////////////////////////////////"
    "//////////wAALCAABAAEBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIh"
    "MUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWG"
    "h4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/ALtf/9k="
)
_GIF = b"GIF89a\1\0\1\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"
_BMP = b"BM" + struct.pack("<IHHIIiiHHIIiiII", 58, 0, 0, 54, 40, 1, 1, 1, 24, 0, 4, 1, 1, 0, 0) + b"\xff\xff\xff\0"
_TIFF = base64.b64decode(
    "SUkqAAgAAAAJAAABBAABAAAAAQAAAAEBBAABAAAAAQAAAAIBAwABAAAACAAAAAMBAwABAAAAAQAAAAYBAwABAAAAAQAAABEBBAABAAAAegAAABYB"
    "BAABAAAAAQAAABcBBAABAAAAAQAAABwBAwABAAAAAQAAAAAAAAD/"
)
_EMF = struct.pack(
    "<II4i4iIIIIHHIIIiiii", 1, 88, 0, 0, 1, 1, 0, 0, 100, 100, 0x464D4520, 0x10000, 108, 2, 1, 0, 0, 0, 0, 1, 1, 1, 1
) + struct.pack("<5I", 14, 20, 0, 16, 20)
_PLACED = struct.pack("<IH4hHI", 0x9AC6CDD7, 0, 0, 0, 1, 1, 96, 0)


def _placed() -> bytes:
    check = 0
    for word in struct.unpack("<10H", _PLACED):
        check ^= word
    return (
        _PLACED
        + struct.pack("<H", check)
        + struct.pack("<HHHIHIH", 1, 9, 0x300, 12, 0, 3, 0)
        + struct.pack("<IH", 3, 0)
    )


_BLANKS = {
    "png": _PNG,
    "jpg": _JPEG,
    "jpeg": _JPEG,
    "gif": _GIF,
    "bmp": _BMP,
    "tif": _TIFF,
    "tiff": _TIFF,
    "emf": _EMF,
    "wmf": _placed(),
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>',
}


def blank(name: str) -> bytes:
    """Return the smallest file of the kind that a name's suffix says; of what is no picture, an empty one."""
    return _BLANKS.get(name.rpartition(".")[2].lower(), b"")
