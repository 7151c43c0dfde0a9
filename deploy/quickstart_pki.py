"""Certificates of the quickstart and of the lab, by `fabricctl pki`."""

import shutil
import ssl
import subprocess


class PkiError(Exception):
    """fabricctl pki failed. The text gives the reason."""


class Pki:
    """A CA in `folder` and the certificates of one run. `again` keeps what is there."""

    ADMIN = "admin/quickstart"

    def __init__(self, fabricctl, folder, again=False):
        self.fabricctl, self.folder = fabricctl, folder
        if again and self.folder.exists():
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self._run("init")
        # Guests of the lab see this machine's loopback as 10.0.2.2.
        self.issue("server", "fabricd", "--dns", "localhost", "--ip", "127.0.0.1,10.0.2.2")
        self.issue(*self.ADMIN.split("/"))

    def _run(self, *words):
        done = subprocess.run([self.fabricctl, "pki", *words, "--dir", self.folder],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise PkiError(done.stderr.strip())

    def issue(self, kind, name, *words):
        """Returns the folder with cert.pem, key.pem and ca.pem."""
        self._run("issue", kind, name, *words)
        return self.folder / kind / name

    def node(self, name):
        """The folder of the certificate of a node."""
        folder = self.folder / "node" / name
        return folder if folder.exists() else self.issue("node", name)

    @staticmethod
    def flags(folder):
        """The settings of a program whose files are in `folder`."""
        return [f"--tls-cert={folder}/cert.pem", f"--tls-key={folder}/key.pem",
                f"--tls-ca={folder}/ca.pem"]

    def server_flags(self):
        return [*self.flags(self.folder / "server/fabricd"), f"--tls-crl={self.folder}/crl.pem"]

    def variables(self):
        """Environment of fabricctl."""
        folder = self.client()
        return {"FABRICCTL_TLS_CA": f"{folder}/ca.pem", "FABRICCTL_TLS_CERT": f"{folder}/cert.pem",
                "FABRICCTL_TLS_KEY": f"{folder}/key.pem"}

    def client(self):
        """The folder of the files of a person."""
        return self.folder / self.ADMIN

    def context(self):
        """For HTTPS."""
        folder = self.client()
        context = ssl.create_default_context(cafile=folder / "ca.pem")
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        return context
