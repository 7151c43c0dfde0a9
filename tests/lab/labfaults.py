# SPDX-License-Identifier: Apache-2.0
"""What can be broken in a lab, and how it is mended: one table.

Most faults are two shell scripts for the guest. In them $1, $2, ... are the words after the fault's
name, with defaults filled in, and the functions of guest/healthy are known; $index is the node's
number. A fault that works from outside has functions in place of scripts.
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
    params: tuple  # of "KIND" or "KIND=DEFAULT"; kinds are in KINDS
    help: str
    apply: Union[str, Callable]
    mend: Union[str, Callable]
    mend_needs: int = 0  # how many of the params --mend must have

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


# What a parameter may be, and a test of it. NODE is tested against the lab.
KINDS = {
    "RAIL": ("one of " + ", ".join(RAILS), RAILS.__contains__),
    "MTU": ("a whole number from 68 to 4200",
            lambda text: text.isdigit() and 68 <= int(text) <= 4200),
    "ADDR": ("an IPv4 address", is_address),
    "NODE": ("a node of the lab", lambda text: bool(re.fullmatch(r"n\d+", text))),
    "HOW": ("cable or admin", ("cable", "admin").__contains__),
    "WHAT": ("entry or trust", ("entry", "trust").__contains__),
    "PRIOS": ("priorities 0 to 7 with commas between",
              lambda text: bool(re.fullmatch(r"[0-7](,[0-7])*", text))),
    "COUNTER": ("the name of a counter",
                lambda text: bool(re.fullmatch(r"[a-z0-9_]+", text))),
    "VALUE": ("a number, or + and a number to add",
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
    """The guest's clock has stood still; it is set as an NTP client would do."""
    del args
    labvm.monitor(lab.folder / node, "cont")
    lab.shell(node, f"date -u -s @{time.time():.0f}")


NETEM = "[ -e /sys/module/sch_netem ] || insmod /lib/modules/sch_netem.ko; "
# Holds back who sends, as a card does; behind netem's rate megabytes wait and are sent again.
TBF = "[ -e /sys/module/sch_tbf ] || insmod /lib/modules/sch_tbf.ko; "
NO_QDISC = "tc qdisc del dev $1 root 2>/dev/null || :"
OWN_ADDRESS = "ip address flush dev $1 scope global; ip address add $(own $1) dev $1"

TABLE = [
    Fault("mtu", ("RAIL", "MTU=1500"), "the card's MTU is another one",
          "ip link set $1 mtu $2", "ip link set $1 mtu 4200", 1),
    Fault("link-down", ("RAIL", "HOW=cable"), "the cable is pulled, or the card set down (admin)",
          lambda lab, node, args: link_down(lab, node, args, False),
          lambda lab, node, args: link_down(lab, node, args, True), 1),
    Fault("address", ("RAIL", "ADDR=10.99.0.1"), "the card has another address",
          "ip address flush dev $1 scope global; ip address add $2/24 dev $1", OWN_ADDRESS, 1),
    Fault("duplicate-address", ("RAIL", "NODE"), "the card has another node's address, too",
          "ip address add 10.10.${1#rail}.${2#n}/24 dev $1", OWN_ADDRESS, 1),
    Fault("gid-loss", ("RAIL",), "the card has no address, so the device no RoCE v2 IPv4 GID",
          "ip address flush dev $1 scope global", OWN_ADDRESS, 1),
    Fault("pfc-off", ("RAIL",), "PFC is on for no priority",
          "dcb pfc set dev $1 prio-pfc all:off", "healthy_pfc $1", 1),
    Fault("pfc", ("RAIL", "PRIOS"), "PFC is on for these priorities and no others",
          "dcb pfc set dev $1 prio-pfc all:off $(echo $2, | sed 's/,/:on /g')",
          "healthy_pfc $1", 1),
    Fault("dscp-missing", ("RAIL", "WHAT=entry"),
          "DSCP 26 goes to priority 0, or DSCP is not trusted at all (trust)",
          'if [ $2 = trust ]; then dcb app flush dev $1 dscp-prio; '
          'else dcb app del dev $1 dscp-prio 26:3; fi', "healthy_dscp $1", 1),
    Fault("counter", ("RAIL", "COUNTER", "VALUE"), "an ethtool counter has a value (mended: 0)",
          'echo "$1 $2 $3" >/proc/labnic', 'echo "$1 $2 0" >/proc/labnic', 2),
    Fault("loss", ("RAIL", "PERCENT"), "frames that the card sends are lost",
          NETEM + "tc qdisc replace dev $1 root netem loss $2%", NO_QDISC, 1),
    Fault("delay", ("RAIL", "MS"), "frames that the card sends are late",
          NETEM + "tc qdisc replace dev $1 root netem delay ${2}ms", NO_QDISC, 1),
    Fault("slow", ("RAIL", "MBIT"), "the card sends no faster than so many Mbit/s",
          TBF + "tc qdisc replace dev $1 root tbf rate ${2}mbit burst 32kb limit 4mb", NO_QDISC, 1),
    Fault("driver-hang", ("LOCK=free",),
          "the rails' driver does not answer who asks for counters; nor does any netdev (held)",
          "[ $1 = free ] && hang=1 || hang=2; echo $hang >/sys/module/labnic/parameters/hang",
          "echo 0 >/sys/module/labnic/parameters/hang"),
    Fault("peermem-unload", (), "the module nvidia_peermem is not loaded",
          "rmmod nvidia_peermem", "insmod /lib/modules/nvidia_peermem.ko"),
    Fault("kill-agent", (), "fabric-agent is killed and stays down",
          "touch /run/agent-held; [ ! -e /run/agent.pid ] || "
          "kill -9 $(cat /run/agent.pid) 2>/dev/null || :", "rm -f /run/agent-held"),
    Fault("freeze", (), "the whole node stands still",
          freeze, thaw),
]
FAULTS = {fault.name: fault for fault in TABLE}

# What `lab up` breaks, for people to see it found: node (-1: the last), fault, words.
# PFC for one more priority differs from the others but still covers the RoCE traffic.
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


def check(fault, words, mend, nodes):
    """Fills in defaults. Returns the words; says what is wrong with one."""
    if len(words) > len(fault.params):
        raise LabError(f"fault '{fault.name}' takes {len(fault.params)} words, not {len(words)}: "
                       f"{fault.usage()}", 2)
    full = []
    for number, param in enumerate(fault.params):
        kind, _, default = param.partition("=")
        if number < len(words):
            word = words[number]
        elif default:
            word = default
        elif mend and number >= fault.mend_needs:
            break
        else:
            raise LabError(f"fault '{fault.name}' needs {kind}: {fault.usage()}", 2)
        what, good = KINDS[kind]
        if not good(word) or (kind == "NODE" and word not in nodes):
            raise LabError(f"fault '{fault.name}': '{word}' is not {what}", 2)
        full.append(word)
    return full


def inject(lab, node, name, words, mend=False):
    """Breaks something on a node of a lab (fabriclab.Lab), or mends it."""
    if name not in FAULTS:
        raise LabError(f"there is no fault '{name}'; known are: {', '.join(FAULTS)}", 2)
    fault = FAULTS[name]
    words = check(fault, [str(word) for word in words], mend, lab.nodes)
    action = fault.mend if mend else fault.apply
    if callable(action):
        action(lab, node, words)
    else:
        lab.shell(node, PRELUDE + action, *words)
