"""What lies in deploy/: each file fits the program, locks its process in, and passes the linters that are there."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pages import ROOT

from deid.cli.commands import COMMANDS, load
from deid.web.health import healthy

DEPLOY = ROOT / "deploy"
ORACLES = ROOT / ".venv-oracles" / "bin"
PARSED = {name: list(yaml.safe_load_all((DEPLOY / name).read_text())) for name in ("compose.yaml", "kubernetes.yaml")}
(COMPOSE,) = PARSED["compose.yaml"]
KUBERNETES = PARSED["kubernetes.yaml"]
(POD,) = [part["spec"]["template"]["spec"] for part in KUBERNETES if part["kind"] == "Deployment"]
UNITS = sorted(DEPLOY.glob("*.service"))


def instructions(name: str) -> list[str]:
    """Return what stands behind an instruction of the Dockerfile."""
    text = re.sub(r"\\\n", " ", (DEPLOY / "Dockerfile").read_text())
    return re.findall(rf"^{name}\s+(.*)$", text, re.MULTILINE)


IMAGE = json.loads(instructions("CMD")[0])


def unit(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^(\w+)=(.*)$", path.read_text(), re.MULTILINE))


CALLED = {
    "Dockerfile": IMAGE,
    "compose.yaml": COMPOSE["services"]["deid"]["command"],
    "kubernetes.yaml": POD["containers"][0]["args"],
    **{path.name: shlex.split(unit(path)["ExecStart"])[1:] for path in UNITS},
}


@pytest.mark.parametrize("name", CALLED)
def test_what_is_called_is_a_command_with_these_options(name: str) -> None:
    command, *words = CALLED[name]
    target = next(rows[command][0] for rows in COMMANDS.values() if command in rows)
    given = [word for word in words if word.startswith("--")]
    known = {spelling for p in load(command, target).params for spelling in p.opts}
    assert {word.partition("=")[0] for word in given} <= known
    assert "--key-file" in {word.partition("=")[0] for word in given}


def test_nothing_runs_as_root_or_writes_its_own_root() -> None:
    assert instructions("USER") == ["10001:10001"]
    service = COMPOSE["services"]["deid"]
    assert service["read_only"] is True
    assert service["cap_drop"] == COMPOSE["services"]["database"]["cap_drop"] == ["ALL"]
    assert POD["securityContext"]["runAsNonRoot"] is True
    assert POD["automountServiceAccountToken"] is False
    for container in (*POD["initContainers"], *POD["containers"]):
        locked = container["securityContext"]
        assert (locked["readOnlyRootFilesystem"], locked["allowPrivilegeEscalation"]) == (True, False)
        assert locked["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"]["memory"]
    for path in UNITS:
        said = unit(path)
        assert (said["DynamicUser"], said["ProtectSystem"], said["CapabilityBoundingSet"]) == ("yes", "strict", "")


def test_nothing_goes_out_and_no_secret_stands_there() -> None:
    (policy,) = [part["spec"] for part in KUBERNETES if part["kind"] == "NetworkPolicy"]
    assert policy["egress"] == []
    assert COMPOSE["networks"]["inside"]["internal"] is True
    for path in DEPLOY.iterdir():
        assert not re.search(
            r"(?i)(password|token|secret)\s*[:=]\s*[\"']?\w{8,}$|DEID_KEY", path.read_text(), re.MULTILINE
        )


def test_the_image_gets_what_the_build_needs_and_no_more() -> None:
    """The first line of .dockerignore leaves out all; each further one lets in what a COPY names."""
    first, *let_in = [
        line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith(("#", "**"))
    ]
    assert first == "*"
    copied = [word for line in instructions("COPY") if "--from" not in line for word in line.split()[:-1]]
    assert {line.removeprefix("!") for line in let_in} == set(copied)
    assert all((ROOT / name).exists() for name in copied)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    """Start what the image starts, with its files elsewhere."""
    folder = tmp_path_factory.mktemp("run")
    openssl = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=deid"]
    names = ["-addext", "subjectAltName=DNS:deid.example", "-keyout", "tls.key", "-out", "tls.crt"]
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    subprocess.run([*openssl, *names], cwd=folder, check=True, capture_output=True)
    (folder / "key").write_text("6b" * 32)
    for name in ("key", "tls.key"):
        (folder / name).chmod(0o600)
    words = [word.replace("/run/deid", str(folder)).replace(":8765", ":0") for word in IMAGE]
    deid = [sys.executable, "-m", "deid"]
    subprocess.run(
        [*deid, "serve", "--tokens", str(folder / "tokens"), "--new-token", "lab=scrub"],
        check=True,
        capture_output=True,
    )
    run = subprocess.Popen([*deid, *words, "--model", "none"], stderr=subprocess.PIPE, text=True, cwd=folder)
    assert run.stderr is not None
    said = ""
    while "listening on " not in said:
        line = run.stderr.readline()
        assert line, said
        said += line
    yield said.rpartition("listening on ")[2].strip(), run
    run.kill()
    run.communicate()


def test_the_health_of_the_image_is_that_of_its_service(service: tuple[str, Any]) -> None:
    """The words of HEALTHCHECK, while it lives and when it does not; clients call it by its certificate's names."""
    import http.client
    import ssl

    origin, run = service
    port = origin.rpartition(":")[2]
    (words,) = re.findall(r"CMD (\[.*\])", instructions("HEALTHCHECK")[0])
    check = [word.replace("8765", port) for word in json.loads(words)]
    check[0] = sys.executable
    assert subprocess.run(check, check=False).returncode == 0
    assert healthy(f"https://127.0.0.1:{port}", ready=True)
    for host, status in (("deid.example", 401), ("else.example", 421)):
        asked = http.client.HTTPSConnection("127.0.0.1", int(port), context=ssl._create_unverified_context(), timeout=9)
        asked.request("GET", "/policies", headers={"Host": f"{host}:{port}"})
        assert asked.getresponse().status == status
        asked.close()
    run.kill()
    run.wait()
    assert subprocess.run(check, check=False).returncode == 1


@pytest.mark.parametrize("origin", ["https://192.0.2.1:8765", "ftp://127.0.0.1:1", "nothing", "http://127.0.0.1:9"])
def test_health_asks_this_machine_alone(origin: str) -> None:
    assert not healthy(origin)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_units_are_valid(path: Path, tmp_path: Path) -> None:
    (tmp_path / path.name).write_text(
        path.read_text().replace("/opt/deid/bin/deid", shutil.which("true") or "/bin/true")
    )
    said = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / path.name)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert path.name not in said.stderr, said.stderr


@pytest.mark.skipif(not (ORACLES / "hadolint").exists(), reason="scripts/setup_oracles has not been run")
def test_the_linter_of_dockerfiles_has_nothing_to_say() -> None:
    said = subprocess.run([ORACLES / "hadolint", DEPLOY / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (said.stdout, said.returncode) == ("", 0)


@pytest.mark.skipif(not (ORACLES / "kubernetes-validate").exists(), reason="scripts/setup_oracles has not been run")
def test_kubernetes_knows_what_is_asked_of_it() -> None:
    said = subprocess.run(
        [ORACLES / "kubernetes-validate", "--strict", DEPLOY / "kubernetes.yaml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stdout + said.stderr
