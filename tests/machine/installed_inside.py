"""Runs as a service in the booted Debian 13 tree, beside ours: is the installed Ausguck up, shut in, and watched over?

Writes one JSON object to /result.json; tests/machine/test_installed.py judges it.
"""

import json
import os
import signal
import subprocess
import time
import traceback
import urllib.request
from pathlib import Path

PORT = 8099


def show() -> dict[str, str]:
    wanted = "ActiveState,SubState,NRestarts,MainPID,StatusText"
    text = subprocess.run(["systemctl", "show", "ausguck", "-p", wanted], capture_output=True, text=True).stdout
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def wait_for(is_so, seconds: float) -> float:
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        if is_so():
            return round(time.monotonic() - began, 1)
        time.sleep(0.2)
    return -1.0


def page(path: str) -> dict:
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{path}", timeout=10) as answer:
        return json.load(answer)


def look() -> dict:
    found: dict = {"up_after_s": wait_for(lambda: show().get("ActiveState") == "active", 120), "unit": show()}
    found["state"] = {key: page("/api/state").get(key) for key in ("version", "camera", "panel", "store")}
    pid = int(show()["MainPID"])
    status = Path(f"/proc/{pid}/status").read_text()
    words = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    found["process"] = {key: words[key].strip() for key in ("Uid", "NoNewPrivs", "Seccomp", "CapEff", "VmRSS")}
    found["data"] = sorted(one.name for one in Path("/var/lib/ausguck").iterdir())
    found["others_may_read_the_games"] = bool(Path("/var/lib/ausguck").stat().st_mode & 0o007)

    os.kill(pid, signal.SIGKILL)
    found["up_after_kill_s"] = wait_for(
        lambda: show()["ActiveState"] == "active" and int(show()["MainPID"]) not in (0, pid), 90
    )
    pid = int(show()["MainPID"])
    os.kill(pid, signal.SIGSTOP)  # it hangs: no sign of life from now on
    found["up_after_hang_s"] = wait_for(
        lambda: show()["ActiveState"] == "active" and int(show()["MainPID"]) not in (0, pid), 120
    )
    found["restarts"] = int(show()["NRestarts"])
    found["answers_after"] = page("/api/state")["version"] >= 0
    began = time.monotonic()
    subprocess.run(["systemctl", "stop", "ausguck"], check=False)
    found["stops_in_s"] = round(time.monotonic() - began, 1)
    found["ended"] = show()
    return found


try:
    result = look()
except BaseException:
    log = subprocess.run(
        ["journalctl", "-u", "ausguck", "-n", "40", "--no-pager"], capture_output=True, text=True
    ).stdout
    result = {"error": traceback.format_exc(), "unit": show(), "journal": log}
Path("/result.json").write_text(json.dumps(result))
