"""JSON over HTTP to fabricd and to Kubernetes, for the programs in deploy/kubernetes.

Python 3.9 or newer, without other packages.
"""

import argparse
import datetime
import http.client
import json
import pathlib
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request

ACCOUNT = pathlib.Path("/var/run/secrets/kubernetes.io/serviceaccount")
TIMEOUT_SECONDS = 15
ANSWER_MAX = 64 << 20  # bytes
PAGES_MAX = 1000


class Failure(Exception):
    """One line for the log, or for the object. `code`: the HTTP status, if there is one."""

    def __init__(self, text, code=None):
        super().__init__(text)
        self.code = code


class Unreachable(Failure):
    """The server did not answer, or cannot now: try again."""


def log(text):
    name = pathlib.Path(sys.argv[0]).stem.replace("_", "-")
    print(f"{name}: {text}", file=sys.stderr, flush=True)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Api:
    """JSON over HTTP, of fabricd or of Kubernetes."""

    def __init__(self, base, token=None, context=None):
        self.base, self.token, self.context = base.rstrip("/"), token, context

    def call(self, verb, path, body=None, kind="application/json"):
        request = urllib.request.Request(
            self.base + path, method=verb,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Accept": "application/json"} | ({} if body is None else
                                                      {"Content-Type": kind}))
        try:
            if self.token is not None:  # Read again: Kubernetes renews it.
                request.add_header("Authorization", f"Bearer {self.token.read_text().strip()}")
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS,
                                        context=self.context) as answer:
                text = answer.read(ANSWER_MAX + 1)
            if len(text) > ANSWER_MAX:
                raise Failure(f"{verb} {path}: the answer has more than {ANSWER_MAX} bytes")
            return json.loads(text)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read(2000).decode(errors="replace")
            try:
                text = json.loads(text)["message"]
            except (ValueError, KeyError, TypeError):
                pass
            kind = Unreachable if error.code >= 500 or error.code == 429 else Failure
            raise kind(f"{verb} {path}: {error.code}: {text}", error.code) from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Unreachable(f"{verb} {self.base}{path}: {error}") from error

    def pages(self, path, size, token, query=()):
        """All pages. size, token: names of the two query fields. token(answer): the next one."""
        (size_name, count), (token_name, next_of) = size, token
        given = ""
        for _ in range(PAGES_MAX):
            fields = [*query, (size_name, count)] + ([(token_name, given)] if given else [])
            answer = self.call("GET", f"{path}?{urllib.parse.urlencode(fields)}")
            yield answer
            given = next_of(answer)
            if not given:
                return
        raise Failure(f"GET {path}: more than {PAGES_MAX} pages")


def url(text):
    parts = urllib.parse.urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise argparse.ArgumentTypeError(f"expected https://HOST:PORT, saw '{text}'")
    return text


def fabricd_options(options, role):
    options.add_argument("--fabricd", required=True, type=url, metavar="URL",
                         help="REST address of fabricd: https://fabricd.fabricd.svc:9419")
    options.add_argument("--tls-ca", help="CA of fabricd's certificate (PEM)")
    options.add_argument("--tls-cert", help=f"certificate of this program, role {role} (PEM)")
    options.add_argument("--tls-key", help="private key of --tls-cert (PEM)")
    options.add_argument("--kubernetes", type=url, metavar="URL",
                         default="https://kubernetes.default.svc",
                         help="default: %(default)s, with the service account of the Pod")


def tls_context(options):
    """OSError or ValueError with the file."""
    for path in filter(None, (options.tls_ca, options.tls_cert, options.tls_key)):
        pathlib.Path(path).read_bytes()
    path = options.tls_ca
    try:
        context = ssl.create_default_context(cafile=path)
        path = options.tls_cert
        if path:
            context.load_cert_chain(path, options.tls_key)
    except ssl.SSLError as error:
        raise ValueError(f"{path}: expected a certificate in PEM and its key, saw: "
                         f"{error}") from error
    return context


def connect(options, token=None):
    """The APIs of Kubernetes and of fabricd."""
    fabric = None
    if options.fabricd.startswith("https:"):
        fabric = tls_context(options)
    in_pod = ACCOUNT.exists() and options.kubernetes.startswith("https:")
    return (Api(options.kubernetes, ACCOUNT / "token" if in_pod else None,
                ssl.create_default_context(cafile=ACCOUNT / "ca.crt") if in_pod else None),
            Api(options.fabricd, token, fabric))
