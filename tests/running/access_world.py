# SPDX-License-Identifier: Apache-2.0
"""Callers with tokens and certificates, for tests of access on top of TlsWorld."""

import re

from tls_world import TlsWorld


class AccessWorld(TlsWorld):
    def setUp(self):
        super().setUp()
        self.make_pki()
        self.inputs = self.folder / "inputs"  # Files that have secrets
        self.inputs.mkdir(mode=0o700)

    def private(self, name, text):
        path = self.inputs / name
        path.touch(mode=0o600)
        path.write_text(text)
        return path

    def make_token(self, name, role):
        """(text of the token, its line in the file of fabricd)."""
        made = self.run_ctl("token", "create", name, "--role", role).stdout
        [line] = [one for one in made.splitlines() if one.startswith("- {name: ")]
        return re.search(r"fabric_\S+", made)[0], line + "\n"
