# SPDX-License-Identifier: Apache-2.0
"""Runs commands in a guest over its virtio serial ports. guest/labd.c is the guest's side."""

import contextlib
import fcntl
import os
import select
import subprocess
import time

import labvm
from labdefs import EXEC_PORTS, LabError

FRAME_MAX = 4096
ANSWER_LIMIT = 20  # seconds until a guest must answer; emulated guests can be slow
BUSY_LIMIT = 60  # seconds to wait for a free port


@contextlib.contextmanager
def free_port(folder):
    """Locks one of the guest's ports. A port carries one command at a time."""
    deadline = time.monotonic() + BUSY_LIMIT
    with contextlib.ExitStack() as stack:
        locks = [stack.enter_context(open(folder / f"exec{port}.lock", "w", encoding="ascii"))
                 for port in range(EXEC_PORTS)]
        while True:
            for port, lock in enumerate(locks):
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    yield port
                    return
            if time.monotonic() > deadline:
                raise LabError(f"{folder.name} already runs {EXEC_PORTS} commands; "
                               f"waited {BUSY_LIMIT} s for one to end")
            time.sleep(0.02)


class Channel:
    def __init__(self, folder, port):
        self.folder, self.node = folder, folder.name
        self.sock = labvm.connect(folder, f"exec{port}.sock", ANSWER_LIMIT)
        self.sock.setblocking(False)
        self.buffer = b""
        self.out = b""

    def send(self, kind, data=b""):
        self.out += kind + len(data).to_bytes(4, "big") + data

    def pump(self, deadline, more=None):
        """Waits until the channel, or the file `more`, can be read or written."""
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        readers = [self.sock] + ([more] if more is not None else [])
        ready, writable, _ = select.select(readers, [self.sock] if self.out else [], [], left)
        if writable:
            self.out = self.out[self.sock.send(self.out[:65536]):]
        if self.sock in ready:
            data = self.sock.recv(65536)
            if not data:
                raise LabError(f"{self.node} has ended")
            self.buffer += data
        return more in ready

    def greet(self):
        """Synchronises both directions: drops unfinished data of an earlier command."""
        token = os.urandom(16)
        self.out = bytes(FRAME_MAX + 5)
        self.send(b"H", token)
        answer = b"H" + len(token).to_bytes(4, "big") + token
        for limit in (2, ANSWER_LIMIT):
            deadline = time.monotonic() + limit
            try:
                while answer not in self.buffer:
                    self.pump(deadline)
                break
            except TimeoutError:
                if labvm.monitor(self.folder, "query-status")["status"] == "paused":
                    raise LabError(f"{self.node} is frozen") from None
        else:
            raise LabError(f"{self.node} does not answer within {ANSWER_LIMIT} s")
        self.buffer = self.buffer.partition(answer)[2]

    def frames(self):
        """Removes the complete frames from the received data."""
        while len(self.buffer) >= 5:
            length = int.from_bytes(self.buffer[1:5], "big")
            if len(self.buffer) < 5 + length:
                return
            kind, data = self.buffer[:1], self.buffer[5:5 + length]
            self.buffer = self.buffer[5 + length:]
            yield kind, data


def start(channel, argv):
    channel.greet()
    vector = b"".join(os.fsencode(word) + b"\0" for word in argv)
    if len(vector) > 60000:
        raise LabError(f"the command has {len(vector)} bytes; at most 60000 can be sent", 2)
    for at in range(0, len(vector), FRAME_MAX):
        channel.send(b"A", vector[at:at + FRAME_MAX])
    channel.send(b"A")


def run(folder, argv, sink, stdin=None, timeout=None):
    """Runs argv in the guest whose directory this is. Returns its exit status.

    sink(kind, data) receives output: kind is b"O" or b"R" (standard error). stdin is a file with
    fileno(), or None. Raises subprocess.TimeoutExpired after killing the command.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    with free_port(folder) as port:
        try:
            channel = Channel(folder, port)
        except OSError as error:
            raise LabError(f"{folder.name} cannot be reached: {error.strerror}") from None
        with channel.sock:
            try:
                start(channel, argv)
                if stdin is None:
                    channel.send(b"E")
                while True:
                    waiting = stdin if not channel.out else None
                    if channel.pump(deadline, waiting) and stdin is not None:
                        data = os.read(stdin.fileno(), FRAME_MAX)
                        channel.send(b"I" if data else b"E", data)
                        stdin = stdin if data else None
                    for kind, data in channel.frames():
                        if kind == b"S":
                            return data[0]
                        sink(kind, data)
            except TimeoutError:
                raise subprocess.TimeoutExpired(argv, timeout) from None
            except (ConnectionError, BrokenPipeError):
                raise LabError(f"{folder.name} has ended while it ran the command") from None
