"""Settings of the programs for Slurm. docs/SLURM.md describes them."""

import re

from slurm_failure import Failure

SETTINGS = "/etc/fabricd/slurm.yaml"
DEFAULTS = {
    "act": "no", "approval": "no", "drains-per-hour": "4", "resumes-per-hour": "4",
    "partition-share-percent": "10", "certify-within": "30s", "partners": "2",
    "state-dir": "/var/lib/fabric-slurm", "slurm-users": "slurm,root", "bin": "/usr/bin",
    "slurm-conf": "", "profile": "", "controller": "", "tls-ca": "", "tls-cert": "", "tls-key": "",
    "certificate-key": ""}
NUMBERS = ("drains-per-hour", "resumes-per-hour", "partition-share-percent", "partners")


def read_settings(path):
    """Lines `name: value`. Errors have the file and the line. Only SETTINGS may be absent."""
    settings = dict(DEFAULTS)
    lines = path.read_text().splitlines() if str(path) != SETTINGS or path.exists() else ()
    for number, line in enumerate(lines, 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or name not in DEFAULTS:
            raise Failure(f"{path}:{number}: expected 'NAME: VALUE' with one of "
                          f"{', '.join(DEFAULTS)}, saw '{line}'")
        if name in NUMBERS and not re.fullmatch(r"\d{1,6}", value):
            raise Failure(f"{path}:{number}: {name}: expected a number, saw '{value}'")
        if name == "partition-share-percent" and int(value) > 100:
            raise Failure(f"{path}:{number}: {name}: expected at most 100, saw {value}")
        if name in ("act", "approval") and value not in ("yes", "no"):
            raise Failure(f"{path}:{number}: {name}: expected yes or no, saw '{value}'")
        if name == "certify-within" and not re.fullmatch(r"\d{1,4}s", value):
            raise Failure(f"{path}:{number}: {name}: expected seconds such as 30s, saw '{value}'")
        settings[name] = value
    return {name: int(value) if name in NUMBERS else value for name, value in settings.items()}
