"""The gate's page in a real Chromium: what it shows is what the gate holds."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from serving.gateway import keys as key_file
from tests.process.serving.rig import (
    ENDLESS,
    PATIENCE_SECONDS,
    Served,
    ask,
    body,
    client,
    engine,
    gate,
    request,
    until_waiting,
)

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--window-size=1000,1300",
)  # fmt: skip


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    assert browser and driver, "Debian's packages chromium and chromium-driver are needed"
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    made = webdriver.Chrome(options, Service(driver))
    try:
        yield made
    finally:
        made.quit()


@pytest.fixture
def behind() -> Iterator[Served]:
    with engine() as made:
        yield made


def until(chromium: webdriver.Chrome, holds: Callable[[], bool]) -> None:
    """Wait until the page shows something; it asks the gate every second."""
    WebDriverWait(chromium, PATIENCE_SECONDS, 0.1).until(lambda _: holds())


def shown(chromium: webdriver.Chrome, name: str) -> str:
    """What a tile or meter says; empty while it is drawn anew."""
    script = "return document.querySelector(`[data-name='${arguments[0]}']`)?.innerText ?? ''"
    return chromium.execute_script(script, name).replace("\n", " ")


def drawn(chromium: webdriver.Chrome, column: str) -> int:
    """How many points of a column's line are drawn."""
    script = "return document.getElementById(`line-${arguments[0]}`)?.getAttribute('d') ?? ''"
    return chromium.execute_script(script, column).count(",")


def key(chromium: webdriver.Chrome, plot: str) -> str:
    """What stands under a plot."""
    script = "return document.querySelector(`#plot-${arguments[0]} .key`)?.innerText ?? ''"
    return chromium.execute_script(script, plot)


def complaints(chromium: webdriver.Chrome) -> list[str]:
    return [entry["message"] for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"]


def test_the_page_shows_leases_the_queue_and_how_fast_it_goes(
    chromium: webdriver.Chrome, behind: Served
) -> None:
    with gate(behind) as before:
        chromium.get(before.url)
        until(chromium, lambda: shown(chromium, "running") == "0 running")
        complaints(chromium)  # of pages before this one
        assert chromium.find_element(By.ID, "mode").text == "on, strict leases"
        assert "1,600 tokens of KV cache" in chromium.find_element(By.ID, "ranks").text
        with (
            client(before.port, request(body(pace=0.05, stream=True))) as running,
            client(before.port, request(body())),
        ):
            running.until('"content":" token"')
            until_waiting(before.port, 1)
            until(chromium, lambda: shown(chromium, "waiting") == "1 waiting, 1 for KV cache")
            assert shown(chromium, "running") == "1 running"
            assert "of 100 blocks" in shown(chromium, "run leases")
            assert int(shown(chromium, "run leases").split()[2]) > 56  # 900 tokens of output and the prompt
            until(chromium, lambda: shown(chromium, "tokens/s a stream").startswith("20.0"))
            until(chromium, lambda: drawn(chromium, "leased") > 1)
            assert drawn(chromium, "waiting") > 1
            until(chromium, lambda: "waiting 1" in key(chromium, "queue"))
        until(chromium, lambda: shown(chromium, "run leases") == "run leases 0 of 100 blocks")
        until(chromium, lambda: "left 2" in chromium.find_element(By.ID, "requests").text)
        assert chromium.find_element(By.ID, "error").text == ""
        assert complaints(chromium) == []


def test_the_page_says_when_engine_and_gate_are_away(chromium: webdriver.Chrome, behind: Served) -> None:
    with gate(behind) as before:
        chromium.get(before.url)
        until(chromium, lambda: shown(chromium, "running") == "0 running")
        before.kill()
        until(chromium, lambda: "the gate does not answer" in chromium.find_element(By.ID, "error").text)
    behind.kill()
    with gate(behind) as before:
        chromium.get(before.url)
        until(chromium, lambda: "metrics" in chromium.find_element(By.ID, "error").text)
        assert "502" in chromium.find_element(By.ID, "error").text


def test_a_gate_with_keys_shows_itself_to_who_has_one(
    chromium: webdriver.Chrome, behind: Served, tmp_path: Path
) -> None:
    path = tmp_path / "keys.jsonl"
    secret = key_file.add(path, "operator")
    with gate(behind, "--keys", str(path)) as before:
        assert ask(before.port, ENDLESS)[0] == 401
        chromium.get(before.url)
        field = chromium.find_element(By.NAME, "key")
        until(chromium, field.is_displayed)
        assert chromium.find_element(By.ID, "ranks").text == ""
        field.send_keys("wrong\n")
        until(chromium, lambda: "does not know" in chromium.find_element(By.ID, "error").text)
        field.clear()
        field.send_keys(f"{secret}\n")
        until(chromium, lambda: shown(chromium, "running") == "0 running")
        assert not field.is_displayed()
        assert chromium.find_element(By.ID, "error").text == ""


def test_the_plots_show_what_was_before_the_page_and_read_in_light_and_dark(
    chromium: webdriver.Chrome, behind: Served
) -> None:
    with gate(behind, "--floor", "5") as before:
        for _ in range(7):
            with client(before.port, request(body(40, 0.005, stream=True))) as streaming:
                streaming.until("[DONE]")
        complaints(chromium)  # of pages before this one
        chromium.get(before.url)
        until(chromium, lambda: "floor 5" in key(chromium, "depth"))
        depth = chromium.find_element(By.ID, "plot-depth")
        assert len(depth.find_elements(By.TAG_NAME, "circle")) == 1
        assert len(depth.find_elements(By.CLASS_NAME, "whisker")) == 1  # seven answers have an interval
        assert "0k-2k" in depth.text
        assert complaints(chromium) == []
        for scheme in ("light", "dark"):
            features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
            assert contrasts(chromium) >= 3, scheme  # WCAG 2.2, 1.4.11: of what a picture is read by
        for width in (1000, 390):
            metrics = {"width": width, "height": 1300, "deviceScaleFactor": 1, "mobile": False}
            chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            page = "return [document.documentElement.scrollWidth, innerWidth]"
            wide, window = chromium.execute_script(page)
            assert wide <= window  # nothing is cut off
        chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def contrasts(chromium: webdriver.Chrome) -> float:
    """The least contrast of a line's colour with its ground. Source: WCAG 2.2, relative luminance."""
    script = """
        const light = (color) => {
          const [r, g, b] = color.match(/[0-9.]+/g).map((part) => part / 255)
            .map((part) => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4);
          return .2126 * r + .7152 * g + .0722 * b;
        };
        const ground = light(getComputedStyle(document.querySelector("section")).backgroundColor);
        const marks = [...document.querySelectorAll("#plots path, #plots circle, #plots .whisker")];
        return Math.min(...marks.map((node) => {
          const style = getComputedStyle(node);
          const line = light(node.tagName === "circle" ? style.fill : style.stroke);
          return (Math.max(line, ground) + .05) / (Math.min(line, ground) + .05);
        }));
    """
    return chromium.execute_script(script)
