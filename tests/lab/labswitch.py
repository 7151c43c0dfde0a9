# SPDX-License-Identifier: Apache-2.0
"""Client of a lab's switch. switch/control.c documents the requests."""

from labdefs import LabError
from labvm import connect


def ask(folder, *words, timeout=10):
    """Returns the lines of the answer without "ok". Raises LabError with the switch's error."""
    text = " ".join(str(word) for word in words)
    if any(c in text for c in "\r\n"):
        raise LabError(f"a request to the switch must be one line: {text!r}", 2)
    try:
        with connect(folder, "switch.sock", timeout) as sock, sock.makefile("rw") as file:
            file.write(text + "\n")
            file.flush()
            lines = file.read().splitlines()
    except OSError as error:
        raise LabError(f"the switch does not answer: {error}") from None
    if not lines or lines[-1]:
        raise LabError("the switch's answer was cut off")
    if lines[0] != "ok":
        raise LabError(f"the switch refuses '{text}': {lines[0].removeprefix('error: ')}", 2)
    return lines[1:-1]
