"""The browser of these tests: Debian's Chromium, driven by Playwright. In CI its absence is a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.served import CHROMIUM, SCREENS, SWITCHES, Served, in_ci, serve

PHONE = (360, 740)
TABLET = (1280, 800)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, once for all tests."""
    if not Path(CHROMIUM).exists():
        if in_ci():
            pytest.fail("Chromium is missing: .ci/run installs it with apt")
        pytest.skip("Chromium is not installed: `apt install chromium` runs the browser tests")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield chromium
        chromium.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A table with its page."""
    with serve(tmp_path / "data") as table:
        yield table


@pytest.fixture
def open_page(browser: Any, served: Served) -> Iterator[Callable[..., Any]]:
    """`open_page(path, size=…, locale=…, dark=…, joined=…)` gives a page; afterwards: nothing on the console went
    wrong, and nothing came from another host."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def make(
        path: str = "/",
        *,
        size: tuple[int, int] = PHONE,
        locale: str = "en-GB",
        dark: bool = False,
        joined: bool = True,
        base: str | None = None,
        init: str | None = None,
        expect: tuple[str, ...] = (),
        **more: Any,
    ) -> Any:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            locale=locale,
            color_scheme="dark" if dark else "light",
            **more,
        )
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        if init:
            page.add_init_script(init)
        home = base or served.url

        def heard(message: Any) -> None:
            if message.type in ("error", "warning") and not any(word in message.text for word in expect):
                wrong.append(f"{path}: {message.text}")

        def asked(request: Any) -> None:
            if not request.url.startswith((home, "data:", "blob:")):
                wrong.append(f"{path}: foreign request {request.url}")

        page.on("console", heard)
        page.on("pageerror", lambda error: wrong.append(f"{path}: {error}"))
        page.on("request", asked)
        if joined:
            page.goto(f"{home}/join?code={served.table.store.code}", wait_until="domcontentloaded")
        if not joined or path != "/":
            page.goto(home + path, wait_until="domcontentloaded")
        page.wait_for_function("() => document.readyState !== 'loading'")
        return page

    yield make
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def screen() -> Callable[[Any, str], None]:
    """Keep a picture of a state in out/screens (not in git)."""
    SCREENS.mkdir(parents=True, exist_ok=True)

    def keep(page: Any, name: str) -> None:
        width = page.viewport_size["width"]
        page.wait_for_timeout(320)  # sheets have risen
        page.screenshot(path=str(SCREENS / f"{name}-{width}.png"))

    return keep
