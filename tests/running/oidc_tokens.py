# SPDX-License-Identifier: Apache-2.0
"""OIDC tokens (JWT, ES256) and the key file (JWKS) of an issuer that only exists as a file."""

import base64
import json
import subprocess
import time


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """Settings and tokens of an issuer. `folder`: where its keys are."""

    NAME = "https://login.example.org"
    AUDIENCE = "fabricctl"

    def __init__(self, folder):
        self.key = folder / "issuer-key.pem"
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out",
                        self.key], check=True, capture_output=True)
        public = subprocess.run(["openssl", "pkey", "-in", self.key, "-pubout", "-outform", "DER"],
                                check=True, capture_output=True).stdout
        x, y = public[-64:-32], public[-32:]
        jwks = folder / "jwks.json"
        jwks.write_text(json.dumps({"keys": [{"kty": "EC", "crv": "P-256", "kid": "k",
                                              "x": base64url(x), "y": base64url(y)}]}))
        self.settings = [f"--oidc-issuer={self.NAME}", f"--oidc-audience={self.AUDIENCE}",
                         f"--oidc-keys={jwks}"]

    def token(self, name, lifetime=3600):
        claims = {"iss": self.NAME, "aud": self.AUDIENCE, "sub": name,
                  "exp": int(time.time()) + lifetime}
        text = ".".join(base64url(json.dumps(part).encode())
                        for part in ({"alg": "ES256", "typ": "JWT", "kid": "k"}, claims))
        der = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key],
                             input=text.encode(), check=True, capture_output=True).stdout
        # SEQUENCE of two INTEGERs, to 32 bytes each.
        r_size = der[3]
        r, s = der[4:4 + r_size], der[6 + r_size:]
        raw = b"".join(number[-32:].rjust(32, b"\0") for number in (r, s))
        return text + "." + base64url(raw)
