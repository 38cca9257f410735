"""A PostgreSQL server of the tests' own, where the programs are installed."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


def _programs() -> Path | None:
    """Return the folder with initdb and postgres; Debian does not put it on the path."""
    on_path = shutil.which("initdb")
    found = [Path(on_path).resolve().parent] if on_path else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in reversed(found) if (folder / "initdb").exists()), None)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Callable[[], str]]:
    """Return a function that makes an empty database and returns its URL; skips where there is no PostgreSQL."""
    psycopg = pytest.importorskip("psycopg", reason="the driver psycopg is not installed")
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL's initdb and postgres are not installed")
    user = pwd.getpwuid(os.getuid()).pw_name
    if user == "root":  # the server refuses to run as root; the package makes this account
        try:
            user = pwd.getpwnam("postgres").pw_name
        except KeyError:
            pytest.skip("the tests run as root, and there is no account postgres to run the server")
    folder = Path(tempfile.mkdtemp(prefix="deid-pg-"))  # short: it holds the socket
    shutil.chown(folder, user)
    account = {"user": user} if os.getuid() == 0 else {}
    command = [programs / "initdb", "-D", folder / "data", "-U", "deid", "-A", "trust", "--no-sync", "-E", "UTF8"]
    server = None
    try:
        made = subprocess.run(command, capture_output=True, cwd=folder, check=False, **account)
        if made.returncode:
            pytest.skip("PostgreSQL's initdb failed on this machine")
        command = [programs / "postgres", "-D", folder / "data", "-k", folder, "-c", "listen_addresses=", "-F"]
        server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **account)
        address = f"postgresql://deid@/postgres?host={folder}"
        for _ in range(100):
            try:
                psycopg.connect(address).close()
                break
            except psycopg.OperationalError:
                time.sleep(0.1)
        else:
            pytest.skip("PostgreSQL did not start within 10 s")

        def new_database() -> str:
            name = f"t{uuid.uuid4().hex}"  # a schema: as empty as a database, and made at once
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute(f"CREATE SCHEMA {name}")
            return f"{address}&options=-csearch_path%3D{name}"

        yield new_database
    finally:
        if server is not None:
            server.send_signal(signal.SIGQUIT)  # at once: its data is thrown away
            server.wait(timeout=20)
        shutil.rmtree(folder, ignore_errors=True)
