"""Every page: nothing that axe-core finds, light or dark; light to load; big enough to tap; German; safe with names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from device.orders import DrawCard, NewGame, Roll
from scorer.cards import Card
from tests.browser.conftest import PHONE, TABLET
from tests.browser.served import MIDGAME, C, D, M, P, S, Served, X

Page = Any
PATHS = ("/", "/history", "/setup", "/live", "/join", "/games", "/status", "/nowhere")
FIRST_LOAD = 150_000
"""Bytes that the first page may take in all."""


def midgame(served: Served) -> None:
    """Seven raids on the pad, and a raid in progress."""
    served.begin()
    served.play(MIDGAME)
    served.do(DrawCard(Card.PIRATE))
    served.see("settled")
    served.roll(C, C, C, D, M, X, P, X)


def violations(page: Page, *, colours_only: bool = False) -> list[str]:
    """What axe-core finds."""
    from axe_playwright_python.sync_playwright import Axe

    options = (
        {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}} if colours_only else None
    )
    found = Axe().run(page, options=options).response["violations"]
    return [f"{v['id']}: {v['help']}: {[n['target'] for n in v['nodes']]}" for v in found]


def settle(page: Page) -> None:
    """Wait until the page shows the state, and nothing moves any more."""
    page.wait_for_timeout(350)
    page.evaluate("() => document.fonts.ready")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(
    served: Served, open_page: Callable[..., Page], screen: Callable[[Page, str], None], dark: bool
) -> None:
    midgame(served)
    shade = "dark" if dark else "light"

    def check(page: Page) -> list[str]:  # what is not colour is the same by night
        return violations(page, colours_only=dark)

    # bypass_csp: axe-core itself is an inline script; the pages' own scripts are tested with the policy elsewhere
    page = open_page(dark=dark, reduced_motion="reduce", bypass_csp=True, expect=("404",))
    found: dict[str, list[str]] = {}
    for path in PATHS:
        page.goto(served.url + path, wait_until="domcontentloaded")
        settle(page)
        if path == "/history":
            page.locator("details.fold summary").first.click()
        if path == "/setup":
            page.locator(".more summary").click()
        found[path] = check(page)
        screen(page, f"30-{path.strip('/') or 'table'}-{shade}")
    page.goto(served.url + "/", wait_until="domcontentloaded")
    settle(page)
    page.locator(".how summary").click()
    for name, opener in {"die": ".raid .die >> nth=3", "tap": "[data-act=tap]", "card": ".card-button"}.items():
        page.locator(opener).click()
        settle(page)
        found[name] = check(page)
        screen(page, f"31-{name}-{shade}")
        page.keyboard.press("Escape")
    page.locator("#menu").click()
    found["menu"] = check(page)
    screen(page, f"32-menu-{shade}")
    page.locator("#menu").click()
    served.do(Roll((X, M), (3, 4)))
    settle(page)
    found["bust"] = check(page)
    screen(page, f"33-bust-{shade}")
    served.do(NewGame(("Anna", "Ben")), DrawCard(Card.WATCHWOMAN))
    served.ask_die()
    settle(page)
    found["question"] = check(page)
    screen(page, f"34-question-{shade}")
    assert {place: list_ for place, list_ in found.items() if list_} == {}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_on_a_tablet(
    served: Served, open_page: Callable[..., Page], screen: Callable[[Page, str], None], dark: bool
) -> None:
    midgame(served)
    page = open_page(size=TABLET, dark=dark, reduced_motion="reduce", bypass_csp=True)
    page.locator(".raid .die").first.wait_for()
    settle(page)
    screen(page, f"35-scoreboard-{'dark' if dark else 'light'}")
    assert violations(page) == []


def test_the_first_load_is_small_and_everything_comes_from_the_table(
    served: Served, open_page: Callable[..., Page]
) -> None:
    midgame(served)
    page = open_page()
    for locale in ("en-GB", "de-DE"):
        context = page.context.browser.new_context(locale=locale, viewport={"width": 360, "height": 740})
        fresh = context.new_page()
        answers: list[Any] = []
        fresh.on("response", lambda answer, kept=answers: kept.append(answer))
        fresh.goto(served.url + "/", wait_until="domcontentloaded")
        fresh.locator(".raid .die img").last.wait_for()
        fresh.wait_for_timeout(500)
        sizes = {
            a.url.removeprefix(served.url): a.request.sizes()["responseBodySize"]
            for a in answers
            if "/api/events" not in a.url
        }
        state = len(served.table.snapshot.json.encode())
        context.close()
        assert sum(sizes.values()) + state <= FIRST_LOAD, sizes
        assert len(sizes) < 40


def test_whatever_is_tapped_is_big_enough(served: Served, open_page: Callable[..., Page]) -> None:
    midgame(served)
    page = open_page(expect=("404",))
    small = """() => [...document.querySelectorAll('button, a, summary, label.tool, input, select')]
        .filter(e => e.checkVisibility() && !e.closest('.skip, label') && !e.matches('.skip, .hidden'))
        .map(e => [e.outerHTML.slice(0, 80), e.getBoundingClientRect()])
        .filter(([, r]) => r.width && (r.width < 44 || r.height < 44)).map(([h, r]) => `${h} ${r.width}×${r.height}`)"""
    for path in PATHS:
        page.goto(served.url + path, wait_until="domcontentloaded")
        settle(page)
        assert page.evaluate(small) == [], path


@pytest.mark.parametrize("size", [PHONE, TABLET])
def test_strange_names_are_only_names(
    served: Served, open_page: Callable[..., Page], screen: Callable[[Page, str], None], size: tuple[int, int]
) -> None:
    names = ("<script>alert(1)</script>", "👩‍👩‍👧‍👦 Familie 🏴‍☠️", "W" * 30, "ﷺ العربية", "a", "Bartholomäus-Maximilian")
    served.begin(*names, max_players=8)
    served.play([(Card.PIRATE, (C, C, C, D, M, M, P, S))] * 7)
    page = open_page(size=size)
    page.locator(".tile").nth(5).wait_for()
    shown = [page.locator(".tile bdi").nth(i).inner_text() for i in range(6)]
    assert shown == list(names)
    for path in ("/", "/history", "/setup", "/games"):
        page.goto(served.url + path, wait_until="domcontentloaded")
        settle(page)
        wide = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"{path} is {wide} px too wide"
    page.goto(served.url + "/", wait_until="domcontentloaded")
    settle(page)
    screen(page, "36-names")


def test_german_by_request_and_by_choice(
    served: Served, open_page: Callable[..., Page], screen: Callable[[Page, str], None]
) -> None:
    midgame(served)
    page = open_page(locale="de-DE", reduced_motion="reduce")
    page.locator(".worth .value").get_by_text("1.000").wait_for()
    assert page.locator("html").get_attribute("lang") == "de"
    assert page.locator("#foot .end").inner_text().startswith("Raubzug beenden")
    page.locator(".how summary").click()
    assert "Satz: 3 Münzen" in page.locator(".lines").inner_text()
    screen(page, "37-german")
    for path in ("/setup", "/history", "/status", "/live"):
        page.goto(served.url + path, wait_until="domcontentloaded")
        settle(page)
        screen(page, f"38-german-{path.strip('/')}")
    page.locator("#menu").click()
    page.get_by_role("button", name="English").click()
    page.get_by_role("heading", name="Live picture").wait_for()
    page.goto(served.url + "/", wait_until="domcontentloaded")
    page.locator(".worth .value").get_by_text("1,000").wait_for()


def test_the_keyboard_is_enough(served: Served, open_page: Callable[..., Page]) -> None:
    midgame(served)
    page = open_page()
    page.locator(".raid .die").first.wait_for()
    page.locator(".raid .die").nth(3).focus()
    page.keyboard.press("Enter")
    page.locator("dialog [data-face=monkey]").focus()
    page.keyboard.press("Space")
    page.locator("dialog").wait_for(state="detached")
    assert served.state["raid"]["dice"][3]["face"] == "monkey"
    assert page.evaluate("() => document.activeElement.dataset.die") == "3"
    page.locator("#photo").focus()  # the picture button is a real file field
    assert page.evaluate("() => document.activeElement.id") == "photo"


def test_nothing_moves_for_whom_motion_is_a_burden(served: Served, open_page: Callable[..., Page]) -> None:
    served.begin()
    served.do(DrawCard(Card.PIRATE))
    served.ask_die()
    page = open_page(reduced_motion="reduce")
    page.locator("section.question").wait_for()
    moving = "() => document.getAnimations().filter(a => a.playState === 'running').length"
    page.wait_for_timeout(400)
    assert page.evaluate(moving) == 0


def test_the_live_picture_is_the_newest_and_numbered(
    served: Served, open_page: Callable[..., Page], screen: Callable[[Page, str], None]
) -> None:
    served.begin()
    served.see("settled", (C, C, C, D, M, M, P, S))
    page = open_page("/live")
    assert served.live.count == 0  # only on request
    page.get_by_role("button", name="Show the live picture").click()
    page.wait_for_function("() => /[3-9]/.test(document.querySelector('#number').textContent)")
    screen(page, "39-live")
    page.get_by_role("button", name="Stop").click()
    page.wait_for_timeout(400)
    count = served.live.count
    page.wait_for_timeout(500)
    assert served.live.count == count
    assert page.locator(f"#number:has-text('{count}')").count() == 1


def test_trouble_is_told_on_the_page(
    served: Served, open_page: Callable[..., Page], screen: Callable[[Page, str], None]
) -> None:
    served.begin()
    served.table.show_message("power_weak", "The power supply is too weak: …", {}, level="warning")
    sentence = "the camera does not answer – check the cable"
    served.table.show_status("camera", {"state": "silent", "name": "Pi camera", "message": sentence})
    page = open_page()
    page.get_by_text("The power supply is too weak: use the official one.").wait_for()
    page.get_by_text(sentence).wait_for()
    screen(page, "40-trouble")
    page.goto(served.url + "/status", wait_until="domcontentloaded")
    page.locator(".parts .bad", has_text=sentence).wait_for()
    assert "No button and no lights" in page.locator("#parts").inner_text()
    served.table.clear_message("power_weak")
    page.get_by_text("The power supply is too weak").wait_for(state="detached")
