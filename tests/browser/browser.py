"""A headless Chromium that is asked over a pipe, in the DevTools protocol: JSON messages, each ended by a NUL.

    with Browser() as browser:
        browser.open(path, width=1200, dark=True)
        browser.value("document.title")
        browser.screenshot()      bytes of a PNG
"""
import base64
import json
import os
import pathlib
import select
import signal
import subprocess
import tempfile
import time

PROGRAM = "chromium-headless-shell"
SECONDS = 60


class Browser:
    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.back, back_write = os.pipe()
        # root's has no sandbox; what it opens is ours
        options = f"--remote-debugging-pipe --user-data-dir={self.profile.name} --disable-gpu --no-first-run --hide-scrollbars --no-sandbox"
        self.process = subprocess.Popen(["bash", "-c", f"exec {PROGRAM} {options} 3<&{to_read} 4>&{back_write}"], pass_fds=(to_read, back_write),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(back_write)
        self.number, self.rest, self.session, self.events = 0, b"", None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(domain + ".enable")
        return self

    def __exit__(self, *_):
        os.close(self.to)
        os.close(self.back)
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.profile.cleanup()

    def _receive(self):
        end = time.monotonic() + SECONDS
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.back], [], [], max(0, end - time.monotonic()))
            data = os.read(self.back, 1 << 20) if ready else b""
            if not data:
                raise OSError(f"{PROGRAM} does not answer")
            self.rest += data
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters, **({"sessionId": self.session} if self.session else {})}
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise ValueError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width, dark):
        self.events.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=pathlib.Path(path).as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise ValueError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def press(self, key, text=""):
        codes = {"Tab": 9, "Enter": 13}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key], text=text if kind == "keyDown" else "")

    def asked_for(self):
        """What the page had it fetch, but for itself."""
        urls = [event["params"]["request"]["url"] for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return urls[1:]

    def complaints(self):
        return [event["params"] for event in self.events if event.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")]

    def screenshot(self, clip=None):
        """Of the window, or of the rectangle {x, y, width, height} of the page."""
        given = {"clip": {**clip, "scale": 1}, "captureBeyondViewport": True} if clip else {}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **given)["data"])
