"""The description of the service's interface: its page in a real browser, and requests of all kinds made from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from served import Served, serving

from deid.base.keys import Key
from deid.replacement.vault import Vault

pytest.importorskip("uvicorn", reason="the extra web is not installed")
httpx = pytest.importorskip("httpx", reason="httpx is not installed")

NOTE = "Mr. Zebulon Quartermain, 58, saw Dr. Alice Baker on 3 May 2019. MRN: 4471902."
BROWSER = "/usr/bin/chromium"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("interface")
    (folder / "data").mkdir()
    jobs = ("--job-folder", "data", "--job-store", "jobs.db", "--vault", "vault")
    Vault.create(folder / "vault", Key(b"k" * 32), who="test").close()
    with serving(folder, "--jobs", "1", *jobs, roles={"all": "all"}) as one:
        yield one


def test_the_page_shows_every_route_and_tries_it_without_anything_from_elsewhere(served: Served) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if not Path(BROWSER).exists():
        pytest.skip("Chromium is not installed")
    expect = playwright.expect
    errors, asked = [], []
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = browser.new_page()
        page.on("console", lambda message: message.type in ("error", "warning") and errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(served.url)
        expect(page.locator("main")).to_have_attribute("aria-busy", "false", timeout=60_000)
        described = httpx.get(f"{served.url}/openapi.json", trust_env=False).json()
        routes = [f"{method.upper()} {path}" for path, methods in described["paths"].items() for method in methods]
        assert page.locator("h2").all_inner_texts() == routes
        part = page.locator("section", has=page.locator("h2", has_text="/scrub"))
        part.get_by_text("Try it").click()
        part.get_by_label("Type of the body").select_option("application/json")
        part.get_by_label("Body", exact=True).fill(json.dumps({"text": f"{NOTE} <b>bold</b>"}))
        part.get_by_role("button", name="Send").click()
        expect(part.get_by_role("status")).to_contain_text("401", timeout=60_000)
        page.get_by_label("Token").fill(served.tokens["all"])
        part.get_by_role("button", name="Send").click()
        expect(part.get_by_role("status")).to_contain_text("200 application/json", timeout=60_000)
        answer = part.locator("form pre").inner_text()
        assert "<b>bold</b>" in answer
        assert "Quartermain" not in answer
        browser.close()
    assert all("401" in error for error in errors), errors
    assert asked
    assert all(url.startswith(served.url) for url in asked)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])
def test_no_request_of_the_description_is_more_than_the_service_can_take(served: Served, seed: int) -> None:
    """Schemathesis: right and wrong requests as the description says; each answer is one that it says, and no 500."""
    schemathesis = pytest.importorskip("schemathesis", reason="Schemathesis is not installed")
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

    described = httpx.get(f"{served.url}/openapi.json", trust_env=False).json()
    for path in described["paths"].values():  # it makes bodies of media types that it knows
        for said in path.values():
            content = said.get("requestBody", {}).get("content", {})
            for kind in content.keys() - {"application/json", "text/plain"}:
                del content[kind]
    schema = schemathesis.openapi.from_dict(described)
    # any bytes are a text, and that edits fit a text no schema can say
    unsaid = [negative_data_rejection, positive_data_acceptance]
    tried = set()
    headers = {"Authorization": f"Bearer {served.tokens['all']}"}
    for operation in (one.ok() for one in schema.get_all_operations()):
        modes = list(schemathesis.GenerationMode)
        for mode in modes if operation.body else modes[:1]:

            @seeded(seed)
            @settings(
                max_examples=15,
                deadline=None,
                database=None,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case) -> None:
                tried.add(case.operation.label)
                case.call_and_validate(base_url=served.url, headers=headers, excluded_checks=unsaid)

            ask()
    assert len(tried) == sum(len(methods) for methods in described["paths"].values())
