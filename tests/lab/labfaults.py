# SPDX-License-Identifier: Apache-2.0
"""The table of the lab's faults: how to cause and how to repair each.

Most faults are two shell scripts for the guest. In a script, $1, $2, ... are the words after the
fault's name, with defaults filled in, and $index is the node's number. Scripts can call the
functions of guest/healthy. Faults that act from outside the guest have Python functions instead.
"""

import dataclasses
import ipaddress
import re
import time
from typing import Callable, Union

import labvm
from labdefs import RAILS, LabError

PRELUDE = """set -e
. /etc/lab/healthy
index=$(hostname); index=${index#n}
own() { echo "10.10.${1#rail}.$index/24"; }
"""


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    params: tuple  # "KIND" or "KIND=DEFAULT"; KINDS lists the kinds
    help: str
    apply: Union[str, Callable]
    repair: Union[str, Callable]
    repair_needs: int = 0  # number of params that --repair needs

    def usage(self):
        words = [f"[{p}]" if "=" in p else p for p in self.params]
        return " ".join([self.name, *words])


def is_address(text):
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


def is_number(low, high):
    return lambda text: bool(re.fullmatch(r"\d+(\.\d+)?", text)) and low <= float(text) <= high


# Description and check of each kind of parameter. NODE is also checked against the lab.
KINDS = {
    "RAIL": ("one of " + ", ".join(RAILS), RAILS.__contains__),
    "MTU": ("a whole number from 68 to 4200",
            lambda text: text.isdigit() and 68 <= int(text) <= 4200),
    "ADDR": ("an IPv4 address", is_address),
    "NODE": ("a node of the lab", lambda text: bool(re.fullmatch(r"n\d+", text))),
    "HOW": ("cable or admin", ("cable", "admin").__contains__),
    "WHAT": ("entry or trust", ("entry", "trust").__contains__),
    "PRIOS": ("a comma-separated list of priorities 0 to 7",
              lambda text: bool(re.fullmatch(r"[0-7](,[0-7])*", text))),
    "COUNTER": ("the name of a counter",
                lambda text: bool(re.fullmatch(r"[a-z0-9_]+", text))),
    "VALUE": ("a number, or + and a number to add to the value",
              lambda text: bool(re.fullmatch(r"\+?\d{1,19}", text))),
    "PERCENT": ("a number from 0 to 100", is_number(0, 100)),
    "LOCK": ("free or held", ("free", "held").__contains__),
    "MBIT": ("Mbit/s, from 1 to 10000",
             lambda text: text.isdigit() and 1 <= int(text) <= 10000),
    "MS": ("milliseconds, from 0 to 10000", is_number(0, 10000)),
}


def link_down(lab, node, args, up):
    rail, how = args
    if how == "cable":
        labvm.monitor(lab.folder / node, "set_link", name=rail, up=up)
    else:
        lab.shell(node, f"ip link set {rail} {'up' if up else 'down'}")


def freeze(lab, node, args):
    del args
    labvm.monitor(lab.folder / node, "stop")


def thaw(lab, node, args):
    """Also sets the guest's clock, which stopped, as an NTP client would."""
    del args
    labvm.monitor(lab.folder / node, "cont")
    lab.shell(node, f"date -u -s @{time.time():.0f}")


NETEM = "[ -e /sys/module/sch_netem ] || insmod /lib/modules/sch_netem.ko; "
# Blocks the sender as a card does. With netem's rate, megabytes would queue and be retransmitted.
TBF = "[ -e /sys/module/sch_tbf ] || insmod /lib/modules/sch_tbf.ko; "
NO_QDISC = "tc qdisc del dev $1 root 2>/dev/null || :"
OWN_ADDRESS = "ip address flush dev $1 scope global; ip address add $(own $1) dev $1"

TABLE = [
    Fault("mtu", ("RAIL", "MTU=1500"), "change the card's MTU",
          "ip link set $1 mtu $2", "ip link set $1 mtu 4200", 1),
    Fault("link-down", ("RAIL", "HOW=cable"), "pull the cable, or set the card down (admin)",
          lambda lab, node, args: link_down(lab, node, args, False),
          lambda lab, node, args: link_down(lab, node, args, True), 1),
    Fault("address", ("RAIL", "ADDR=10.99.0.1"), "change the card's address",
          "ip address flush dev $1 scope global; ip address add $2/24 dev $1", OWN_ADDRESS, 1),
    Fault("duplicate-address", ("RAIL", "NODE"), "add another node's address to the card",
          "ip address add 10.10.${1#rail}.${2#n}/24 dev $1", OWN_ADDRESS, 1),
    Fault("gid-loss", ("RAIL",), "remove the card's address, and with it the RoCE v2 IPv4 GID",
          "ip address flush dev $1 scope global", OWN_ADDRESS, 1),
    Fault("pfc-off", ("RAIL",), "turn PFC off for all priorities",
          "dcb pfc set dev $1 prio-pfc all:off", "healthy_pfc $1", 1),
    Fault("pfc", ("RAIL", "PRIOS"), "turn PFC on for exactly these priorities",
          "dcb pfc set dev $1 prio-pfc all:off $(echo $2, | sed 's/,/:on /g')",
          "healthy_pfc $1", 1),
    Fault("dscp-missing", ("RAIL", "WHAT=entry"),
          "map DSCP 26 to priority 0, or do not trust DSCP (trust)",
          'if [ $2 = trust ]; then dcb app flush dev $1 dscp-prio; '
          'else dcb app del dev $1 dscp-prio 26:3; fi', "healthy_dscp $1", 1),
    Fault("counter", ("RAIL", "COUNTER", "VALUE"), "set an ethtool counter (repair: 0)",
          'echo "$1 $2 $3" >/proc/labnic', 'echo "$1 $2 0" >/proc/labnic', 2),
    Fault("loss", ("RAIL", "PERCENT"), "drop frames that the card sends",
          NETEM + "tc qdisc replace dev $1 root netem loss $2%", NO_QDISC, 1),
    Fault("delay", ("RAIL", "MS"), "delay frames that the card sends",
          NETEM + "tc qdisc replace dev $1 root netem delay ${2}ms", NO_QDISC, 1),
    Fault("slow", ("RAIL", "MBIT"), "limit the card's send rate",
          TBF + "tc qdisc replace dev $1 root tbf rate ${2}mbit burst 32kb limit 4mb", NO_QDISC, 1),
    Fault("driver-hang", ("LOCK=free",),
          "block reads of the rails' counters, or of all netdevs (held)",
          "[ $1 = free ] && hang=1 || hang=2; echo $hang >/sys/module/labnic/parameters/hang",
          "echo 0 >/sys/module/labnic/parameters/hang"),
    Fault("peermem-unload", (), "unload the module nvidia_peermem",
          "rmmod nvidia_peermem", "insmod /lib/modules/nvidia_peermem.ko"),
    Fault("kill-agent", (), "kill fabric-agent and do not restart it",
          "touch /run/agent-held; [ ! -e /run/agent.pid ] || "
          "kill -9 $(cat /run/agent.pid) 2>/dev/null || :", "rm -f /run/agent-held"),
    Fault("freeze", (), "pause the whole node",
          freeze, thaw),
]
FAULTS = {fault.name: fault for fault in TABLE}

# The faults that `lab up` plants, as examples: node (-1: the last), fault, words. PFC for one more
# priority differs from the other nodes but still covers the RoCE traffic.
PLANTED = [(2, "mtu", ["rail0"]), (-1, "pfc", ["rail1", "3,4"])]


def planted(names):
    """The planted faults of a lab with these nodes."""
    return [(names[-1] if which < 0 else names[min(which, len(names)) - 1], fault, words)
            for which, fault, words in PLANTED]


def help_text():
    width = max(len(fault.usage()) for fault in TABLE)
    kinds = "\n".join(f"  {kind:8} {what}" for kind, (what, _) in KINDS.items())
    return "faults:\n" + "\n".join(f"  {f.usage():{width}}  {f.help}" for f in TABLE) \
        + "\n\nwords:\n" + kinds


def check(fault, words, repair, nodes):
    """Returns the words with defaults filled in. Raises LabError for an invalid word."""
    if len(words) > len(fault.params):
        raise LabError(f"fault '{fault.name}': expected at most {len(fault.params)} words, saw "
                       f"{len(words)}: {fault.usage()}", 2)
    full = []
    for number, param in enumerate(fault.params):
        kind, _, default = param.partition("=")
        if number < len(words):
            word = words[number]
        elif default:
            word = default
        elif repair and number >= fault.repair_needs:
            break
        else:
            raise LabError(f"fault '{fault.name}' needs {kind}: {fault.usage()}", 2)
        what, good = KINDS[kind]
        if not good(word) or (kind == "NODE" and word not in nodes):
            raise LabError(f"fault '{fault.name}': expected {what}, saw '{word}'", 2)
        full.append(word)
    return full


def inject(lab, node, name, words, repair=False):
    """Causes a fault on a node of a lab (fabriclab.Lab), or repairs it."""
    if name not in FAULTS:
        raise LabError(f"unknown fault '{name}'; expected one of {', '.join(FAULTS)}", 2)
    fault = FAULTS[name]
    words = check(fault, [str(word) for word in words], repair, lab.nodes)
    action = fault.repair if repair else fault.apply
    if callable(action):
        action(lab, node, words)
    else:
        lab.shell(node, PRELUDE + action, *words)
