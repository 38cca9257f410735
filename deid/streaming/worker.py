"""The worker process: gets a recipe, then stretches of records, and answers each in turn.

It is started with a socket to the process that the user started, and ends when that one does, even in the middle of a
long record: a thread waits on the socket. Interrupts and requests to end are that process's business alone.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from deid.base.errors import DeidError
from deid.streaming.work import Request, Work


def serve(descriptor: int) -> None:
    """Answer requests until the other end closes."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    connection: Connection[Any, Any] = Connection(descriptor)
    requests: SimpleQueue[Request] = SimpleQueue()
    with suppress(EOFError, OSError):
        sys.path[:] = connection.recv()
        sent = connection.recv_bytes()
        threading.Thread(target=_receive, args=(connection, requests), daemon=True).start()
        try:
            # what is loaded stays: there is no garbage to look for in it, now or later
            gc.disable()
            work = Work(*pickle.loads(sent))  # noqa: S301  (from the process that started this one)
            gc.freeze()
            gc.enable()
            connection.send(work.pipeline.notes)
            while True:
                connection.send(work(requests.get()))
        except DeidError as error:
            connection.send(error)
        except OSError:
            raise
        except Exception as error:
            connection.send(_internal(error))


def _receive(connection: Connection[Any, Any], requests: SimpleQueue[Request]) -> None:
    with suppress(EOFError, OSError):
        while True:
            requests.put(connection.recv())
    # nobody is there to take an answer
    os._exit(0)


def _internal(error: Exception) -> DeidError:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
    return DeidError(f"internal error {type(error).__name__}{place}", "please report this")
