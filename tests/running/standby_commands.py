# SPDX-License-Identifier: Apache-2.0
"""Each command of fabricctl that asks a controller, with words for one without nodes."""

import pathlib
import re

CLI = pathlib.Path(__file__).resolve().parents[2] / "docs/reference/CLI.md"

# They ask no controller.
LOCAL = ("check", "certify verify", "completion", "config current-context",
         "config delete-context", "config get-contexts", "config set-context",
         "config use-context", "explain", "explain-log", "login", "pki init", "pki issue",
         "pki renew", "pki revoke", "pki show", "probe plan", "profile check", "profile list",
         "profile show", "rules check", "rules test", "subnet diff", "token create")
# A standby answers them from the stored state, with a warning.
STORED = {
    "finding show": ("none",), "findings": (), "matrix": (), "probe list": (),
    "probe show": ("none",), "remedy list": (), "schedule list": (), "schedule show": ("none",),
    "silence list": (), "whoami": (),
}
# It prints the error in the place of the version of fabricd.
SHOWN = {"version": ()}
OTHER = {
    "audit list": (), "audit verify": (), "backup": (),
    "certify": ("--nodes", "none"), "devices": (), "diagnose": ("none",), "diff": ("none", "none2"),
    "events": (), "finding ack": ("none", "--note", "x"),
    "ibdev2netdev": ("none",), "join-certificates": (), "join-request approve": ("none",),
    "join-request deny": ("none", "--reason", "x"), "join-request list": (),
    "join-token create": ("none",), "join-token delete": ("none",), "join-token list": (),
    "mesh": (), "nccl-env": ("none",), "node": ("none",),
    "node label": ("none", "a=b"), "node maintenance": ("none", "--for", "1h", "--reason", "x"),
    "node remove": ("none", "--yes"), "nodes": (), "port": ("none/mlx5_0/1",),
    "probe cancel": ("none",), "probe recheck": (), "probe run": ("--nodes", "none"),
    "profile apply": ("PROFILE",), "profile infer": (), "reload": (),
    "remedy approve": ("none",),
    "remedy propose": ("none", "--kind", "slurm-drain", "--reason", "x"),
    "remedy report": ("none", "applied"), "remedy revert": ("none",), "rules": (),
    "schedule add": ("0 3 * * *",), "schedule remove": ("none",), "settings": (),
    "silence add": ("--rule", "port_active", "--for", "1h", "--reason", "x"),
    "silence end": ("none",), "status": (), "subnet check": (), "subnet export": ("--as", "slurm"),
    "subnet history": ("none",), "subnet links": (), "subnet list": (),
    "subnet path": ("none", "none"), "subnet plan compare": ("PLAN",),
    "subnet routes": ("none",), "subnet show": (), "subnet switches": (),
    "support-bundle": ("--out", "BUNDLE"), "top": ("--interval", "100ms"), "topology": (),
    "validate": (),
}


def commands():
    """All commands of fabricctl."""
    return set(re.findall(r"^## fabricctl (.+)$", CLI.read_text(), re.MULTILINE))
