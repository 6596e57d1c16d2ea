"""The page in headless Chromium, opened from the disk: no complaint in the console, no request,
demonstrations play, step and scrub, charts have data, tables sort, and keys reach everything.

Skipped only where there is no Chromium with its driver.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="there is no Chromium with its driver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1280,900",
)
DEMOS = ("motion", "windows", "merging")
Browser = webdriver.Chrome


@pytest.fixture(scope="module")
def browser(report: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    options = Options()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    try:
        started.set_script_timeout(30)
        started.get(report.as_uri())
        yield started
    finally:
        started.quit()


def demo(browser: Browser, name: str) -> Any:
    return browser.find_element(By.CSS_SELECTOR, f'[data-demo="{name}"]')


def slider(browser: Browser, name: str) -> Any:
    return demo(browser, name).find_element(By.CSS_SELECTOR, 'input[type="range"]')


def scrub(browser: Browser, name: str, share: float) -> None:
    browser.execute_script(
        "arguments[0].value = 1000 * arguments[1]; arguments[0].dispatchEvent(new Event('input'))",
        slider(browser, name),
        share,
    )


def text(browser: Browser, name: str, selector: str = ".facts") -> str:
    return "\n".join(one.text for one in demo(browser, name).find_elements(By.CSS_SELECTOR, selector))


def test_it_loads_without_a_complaint_or_a_request(browser: Browser, report: Path) -> None:
    assert "small" in browser.title
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [one["params"] for one in messages if one["method"] == "Network.requestWillBeSent"]
    # The browser's own first page asks for things of its own.
    sent = [one["request"]["url"] for one in asked if one["documentURL"] == report.as_uri()]
    assert [url for url in sent if not url.startswith("data:")] == [report.as_uri()]
    broken = browser.execute_script("return [...document.images].filter((one) => !one.naturalWidth).length")
    assert broken == 0
    assert browser.execute_script("return [...document.images].every((one) => one.alt.length > 40)")


@pytest.mark.parametrize("name", DEMOS)
def test_it_plays_and_pauses(browser: Browser, name: str) -> None:
    scrub(browser, name, 0)
    play = demo(browser, name).find_element(By.CSS_SELECTOR, "button.play")
    browser.execute_script("arguments[0].click()", play)
    assert play.text == "Pause"
    WebDriverWait(browser, 20).until(lambda _: float(slider(browser, name).get_attribute("value")) > 20)
    browser.execute_script("arguments[0].click()", play)
    assert play.text == "Play"
    stopped = slider(browser, name).get_attribute("value")
    assert browser.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 120))") is None
    assert slider(browser, name).get_attribute("value") == stopped


@pytest.mark.parametrize("name", DEMOS)
def test_it_steps_there_and_back(browser: Browser, name: str) -> None:
    scrub(browser, name, 0)
    back, forth = demo(browser, name).find_elements(By.CSS_SELECTOR, ".controls button:not(.play)")
    seen = [slider(browser, name).get_attribute("aria-valuetext")]
    for _ in range(2):
        browser.execute_script("arguments[0].click()", forth)
        seen.append(slider(browser, name).get_attribute("aria-valuetext"))
    assert len(set(seen)) == 3
    for _ in range(2):
        browser.execute_script("arguments[0].click()", back)
    assert slider(browser, name).get_attribute("aria-valuetext") == seen[0]


def test_bytes_grow_to_those_of_the_tables_and_dots_are_under_way(browser: Browser) -> None:
    scrub(browser, "motion", 0)
    assert "0 bytes" in text(browser, "motion")
    data = browser.execute_script("return JSON.parse(document.getElementById('data').textContent)")
    first = data["motions"][0]
    dram = sum(first["links"]["dram_to_l2"]) + sum(first["links"]["l2_to_dram"])
    seen = 0
    for share in range(0, 101, 4):
        scrub(browser, "motion", share / 100)
        seen += browser.execute_script(
            "return [...arguments[0].querySelectorAll('circle')]"
            ".filter((one) => one.style.display !== 'none').length",
            demo(browser, "motion"),
        )
    assert seen > 20
    assert browser.execute_script("return size(arguments[0])", dram) in text(browser, "motion")
    assert "GB/s now" in demo(browser, "motion").text


def test_charts_of_the_window_have_data_and_follow_the_cap(browser: Browser) -> None:
    def bars() -> list[float]:
        return browser.execute_script(
            "return [...arguments[0].querySelectorAll('rect.bar:not(.missing)')]"
            ".map((one) => Number(one.dataset.value))",
            demo(browser, "windows"),
        )

    scrub(browser, "windows", 0)
    before = bars()
    assert len(before) == 18
    assert sum(before) > 0
    said = text(browser, "windows", ".said")
    assert said.startswith("No fusion")
    scrub(browser, "windows", 2 / 3)
    assert "Window of 3" in text(browser, "windows", ".said")
    caps = demo(browser, "windows").find_elements(By.CSS_SELECTOR, ".controls select")[0]
    browser.execute_script(
        "const list = arguments[0]; list.value = list.options.length - 1;"
        "list.dispatchEvent(new Event('change'))",
        caps,
    )
    scrub(browser, "windows", 0)
    assert "at most" in text(browser, "windows", ".said")


def test_strategies_say_what_merged(browser: Browser) -> None:
    scrub(browser, "merging", 1)
    assert "launches" in text(browser, "merging")
    assert "merged:" in text(browser, "merging", ".said")
    nodes = demo(browser, "merging").find_elements(By.CSS_SELECTOR, "rect.node")
    assert len(nodes) == 8


def test_a_heading_sorts_by_value_both_ways(browser: Browser) -> None:
    table = browser.find_element(By.ID, "table-kernels")
    heading = next(one for one in table.find_elements(By.TAG_NAME, "th") if one.text.startswith("cycles"))
    place = len(heading.find_elements(By.XPATH, "preceding-sibling::th"))

    def values() -> list[int]:
        return browser.execute_script(
            "return [...arguments[0].tBodies[0].rows]"
            ".map((row) => Number(row.cells[arguments[1]].dataset.value))",
            table,
            place,
        )

    button = heading.find_element(By.TAG_NAME, "button")
    button.send_keys(Keys.ENTER)
    assert heading.get_attribute("aria-sort") == "ascending"
    assert values() == sorted(values())
    button.send_keys(Keys.SPACE)
    assert heading.get_attribute("aria-sort") == "descending"
    assert values() == sorted(values(), reverse=True)


def test_keys_reach_every_control_and_everything_has_a_name(browser: Browser) -> None:
    browser.execute_script("document.getElementById('verdict').querySelector('th:last-child button').focus()")
    reached = set()
    for _ in range(7 + 6 + 9):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        reached.add(
            browser.execute_script(
                "const on = document.activeElement;"
                "return on.closest('[data-demo]')?.dataset.demo + ' ' + on.tagName"
            )
        )
    assert {f"{name} {tag}" for name in DEMOS for tag in ("BUTTON", "INPUT", "SELECT")} <= reached
    slider(browser, "motion").send_keys(Keys.HOME, Keys.ARROW_RIGHT)
    assert slider(browser, "motion").get_attribute("value") == "1"
    nameless = browser.execute_script(
        "return [...document.querySelectorAll('button, input, select, svg, img')].filter((one) => "
        "!(one.textContent.trim() || one.ariaLabel || one.alt || one.labels?.length)).length"
    )
    assert nameless == 0
    levels = browser.execute_script(
        "return [...document.querySelectorAll('h1, h2, h3')].map((one) => one.tagName)"
    )
    assert levels.count("H1") == 1


@pytest.mark.parametrize("width", [380, 1280])
def test_nothing_is_wider_than_the_window(browser: Browser, width: int) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_light_and_dark_can_be_read(browser: Browser) -> None:
    """Text against its page at 4.5 or more, as WCAG 2 asks of small text."""
    script = """
      const style = getComputedStyle(document.documentElement);
      return Object.fromEntries(['--page', '--panel', '--text', '--soft', '--accent'].map(
        (name) => [name, style.getPropertyValue(name).trim()]));
    """
    pages = {}
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        colours = pages[scheme] = browser.execute_script(script)
        for page in ("--page", "--panel"):
            for ink in ("--text", "--soft", "--accent"):
                assert contrast(colours[ink], colours[page]) >= 4.5, (scheme, ink, page)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert pages["light"]["--page"] != pages["dark"]["--page"]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_paper_has_everything_open_and_no_controls(browser: Browser) -> None:
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script("return [...document.querySelectorAll('details')].every((one) => one.open)")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    hidden = browser.execute_script("return getComputedStyle(document.querySelector('.controls')).display")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert hidden == "none"
    assert browser.get_log("browser") == []


def test_on_paper_wide_tables_stand_on_their_side(browser: Browser) -> None:
    shown = "return getComputedStyle(document.querySelector(arguments[0])).display"
    wide, paper, buttons = "#table-kernels", "table.paper", ".controls"
    assert browser.execute_script(shown, wide) == "table"
    assert browser.execute_script(shown, paper) == "none"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert browser.execute_script(shown, wide) == "none"
        assert browser.execute_script(shown, paper) == "table"
        assert browser.execute_script(shown, buttons) == "none"
        rows = "return [...document.querySelectorAll(arguments[0])].map(one => one.offsetHeight > 0)"
        browser.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        seen = browser.execute_script(rows, "#table-latency tbody tr")
        assert sum(seen) == min(60, len(seen))
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
