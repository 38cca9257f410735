"""Asks a service of this machine whether it lives: ``python -m deid.web.health https://127.0.0.1:8765 [--ready]``.

What watches over containers calls it, every few seconds, so it loads nothing but the standard library. The exit status
is 0 when the answer is yes, else 1; nothing is printed.
"""

from __future__ import annotations

import http.client
import ssl
import sys
from urllib.parse import urlsplit

from deid.base.network import Address

_SECONDS = 4.0


def healthy(origin: str, *, ready: bool = False) -> bool:
    """Tell whether a service on the loopback address answers that it lives.

    Parameters
    ----------
    origin : str
        Such as ``https://127.0.0.1:8765``. Its certificate is not looked at: it need not be about this address, and
        nothing secret is sent.
    ready : bool
        Ask whether it could take requests now.
    """
    place = urlsplit(origin)
    address = Address(place.hostname or "", place.port or 0)
    if place.scheme not in ("http", "https") or not address.loopback:
        return False
    if place.scheme == "https":
        # nothing leaves this machine, and nothing is told
        context = ssl._create_unverified_context()  # noqa: S323
        asked: http.client.HTTPConnection = http.client.HTTPSConnection(
            address.host, address.port, timeout=_SECONDS, context=context
        )
    else:
        asked = http.client.HTTPConnection(address.host, address.port, timeout=_SECONDS)
    try:
        asked.request("GET", "/health/ready" if ready else "/health/live")
        return asked.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asked.close()


if __name__ == "__main__":
    sys.exit(not healthy(sys.argv[1], ready="--ready" in sys.argv[2:]))
