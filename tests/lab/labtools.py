# SPDX-License-Identifier: Apache-2.0
"""Compares a snapshot with the guest's own tools: rdma, ibv_devinfo, dcb, ethtool, ip.

Settings must be equal. Counters must lie between the tool's values before and after the snapshot.

Tools print more than a snapshot has. Not compared: of `rdma dev` ifindex, caps and
adaptive-moderation; of `ibv_devinfo` its limits (max_*), port_cap_flags2, the counts of bad keys
and vendor_id (the snapshot has that of PCI); of `dcb ets` cbs, bandwidth groups and recommended
values; of `ethtool` link modes except the fastest, port and transceiver; of `ip` queues, groups and
offloads; `dcb maxrate`, because its units differ between versions of iproute2. NOT_PRINTED lists
the fields of a snapshot that no tool prints.
"""

import copy
import ipaddress
import json
import re

from labdefs import LabError

# Fields of a snapshot's RDMA devices and netdevs for which the comparison cannot detect a wrong
# value, with the reason. A test checks that the list is complete: see unseen().
NOT_PRINTED = {
    "rdma.node_description": "ibv_devinfo does not print it",
    "rdma.driver": "neither rdma nor ibv_devinfo prints it",
    "rdma.protocol": "follows from link layer and node type",
    "rdma.parent_netdev": "only in sysfs; the port's netdev is compared",
    "rdma.character_devices": "ibv_devinfo opens them without printing them",
    "rdma.function": "derived by the agent",
    "rdma.ports.pkeys": "ibv_devinfo prints only the length of the table",
    "rdma.ports.pkey_indexes": "ibv_devinfo prints only the length of the table",
    "rdma.ports.speed": "the name of the speed; speed times width is compared as the rate",
    "rdma.ports.rate_max_bps": "equals the netdev's, which is compared",
    "rdma.ports.counter_lifespan_ms": "only in sysfs",
    "rdma.ports.gids.netdev": "ibv_devinfo does not print it",
    "rdma.ports.gids.link_local": "follows from the GID",
    "rdma.ports.gids.ipv4": "follows from the GID",
    "net.function": "derived by the agent",
    "net.port_index": "ip 6.1 does not print it",
    "net.lanes": "ethtool prints lanes only where they can be set",
    "net.carrier_down_count": "ip 6.1 does not print it",
    "net.dcb.app_read": "added by the agent",
    "net.dcb.trust": "follows from the APP entries",
    "net.dcb.dscp_to_priority": "follows from the APP entries",
    "net.dcb.max_rate_bps": "units differ between versions of iproute2",
    "net.dcb.cable_length_m": "equals the delay of PFC, which is compared",
    "net.dcb.source": "added by the agent",
    "net.dcb.dcbx.bits": "follows from the flags, which are compared",
}

OPER_STATES = {"LOWERLAYERDOWN": "LOWER_LAYER_DOWN", "NOTPRESENT": "NOT_PRESENT"}
TSA = {"strict": 0, "cbs": 1, "ets": 2, "vendor": 255}
# Lists of `dcb app`, and the snapshot's selector for each.
APPS = {"ethtype_prio": "ETHERTYPE", "stream_port_prio": "STREAM", "dgram_port_prio": "DGRAM",
        "port_prio": "ANY", "dscp_prio": "DSCP", "pcp_prio": "PCP"}


class Differences:
    """Collects differences. `seen` counts the comparisons."""

    def __init__(self):
        self.found, self.seen = [], 0

    def equal(self, what, tool, snapshot):
        self.seen += 1
        if tool != snapshot:
            self.found.append(f"{what}: tool {tool!r}, snapshot {snapshot!r}")

    def between(self, what, before, value, after):
        self.seen += 1
        if not before <= value <= after:
            self.found.append(f"{what}: expected {before} to {after}, saw {value}")


def devices(run, snapshot, diff):
    known = {device["name"]: device for device in snapshot["rdma_devices"]}
    listed = json.loads(run("rdma -j dev"))
    diff.equal("rdma dev", sorted(device["ifname"] for device in listed), sorted(known))
    for printed in listed:
        name, device = printed["ifname"], known[printed["ifname"]]
        diff.equal(f"{name} node_type", f"NODE_TYPE_{printed['node_type'].upper()}",
                   device["node_type"])
        for field in ("node_guid", "sys_image_guid"):
            diff.equal(f"{name} {field}", printed[field], device[field])
        diff.equal(f"{name} fw", printed.get("fw"), device.get("firmware"))
    links = json.loads(run("rdma -j -d link"))
    diff.equal("rdma link", [(printed["ifname"], printed["port"]) for printed in links],
               [(name, port["number"]) for name in sorted(known) for port in known[name]["ports"]])
    for printed in links:
        name = f"{printed['ifname']}/{printed['port']}"
        port = known[printed["ifname"]]["ports"][printed["port"] - 1]
        if "netdev_index" in printed:
            diff.equal(f"{name} netdev_index", printed["netdev_index"],
                       {n["name"]: n["index"] for n in snapshot["net_interfaces"]}[port["netdev"]])
        diff.equal(f"{name} state", f"PORT_STATE_{printed['state']}", port["state"])
        diff.equal(f"{name} physical_state", f"PHYSICAL_STATE_{printed['physical_state']}",
                   port["physical_state"])
        for field in ("netdev", "lid", "sm_lid", "lmc", "subnet_prefix"):
            if field in printed:
                diff.equal(f"{name} {field}", printed[field], port.get(field))


def verbs(run, snapshot, diff):
    for device in snapshot["rdma_devices"]:
        name, text = device["name"], run(f"ibv_devinfo -v -d {device['name']}")
        about, *ports = re.split(r"^\t\tport:\t\d+\n", text, flags=re.M)
        printed = dict(re.findall(r"^\t(\w+):[ \t]+(\S.*)$", about, re.M))
        diff.equal(f"{name} node_guid", printed["node_guid"], device["node_guid"])
        diff.equal(f"{name} sys_image_guid", printed["sys_image_guid"], device["sys_image_guid"])
        diff.equal(f"{name} fw_ver", printed["fw_ver"], device.get("firmware", "0.0.0"))
        diff.equal(f"{name} hw_ver", int(printed["hw_ver"], 16),
                   int(device.get("hardware_revision", "0"), 16))
        diff.equal(f"{name} phys_port_cnt", int(printed["phys_port_cnt"]), len(device["ports"]))
        for number, (text, port) in enumerate(zip(ports, device["ports"]), 1):
            verbs_port(f"{name}/{number}", text, port, diff)


def verbs_port(name, text, port, diff):
    printed = dict(re.findall(r"^\t+(\w+):[ \t]+(\S.*)$", text, re.M))
    word = {key: value.split()[0] for key, value in printed.items()}
    diff.equal(f"{name} state", word["state"].replace("PORT_", "PORT_STATE_"), port["state"])
    diff.equal(f"{name} phys_state", f"PHYSICAL_STATE_{word['phys_state']}",
               port["physical_state"])
    diff.equal(f"{name} link_layer", f"LINK_LAYER_{word['link_layer'].upper()}",
               port["link_layer"])
    for tool, field in (("max_mtu", "max_mtu_bytes"), ("active_mtu", "active_mtu_bytes"),
                        ("sm_lid", "sm_lid"), ("port_lid", "lid"), ("sm_sl", "sm_sl"),
                        ("gid_tbl_len", "gid_table_length")):
        diff.equal(f"{name} {tool}", int(word[tool]), port[field])
    diff.equal(f"{name} port_lmc", int(word["port_lmc"], 16), port["lmc"])
    diff.equal(f"{name} port_cap_flags", int(word["port_cap_flags"], 16), port["capability_mask"])
    width = int(word["active_width"].rstrip("X"))
    rate = float(word["active_speed"]) * width * 1e9
    up = port["state"] != "PORT_STATE_DOWN"  # While it is down, ibv_devinfo prints the last rate.
    diff.equal(f"{name} active_width", width if up else None, port.get("width"))
    diff.equal(f"{name} active_speed by active_width", rate,
               float(port["rate_bps" if up else "rate_claimed_bps"]))
    gids = [(int(index), ipaddress.IPv6Address(gid), f"GID_TYPE_{kind.upper().replace(' ', '_')}")
            for index, gid, kind in re.findall(r"GID\[\s*(\d+)\]:\s+([0-9a-f:.]+), (.*)$", text,
                                               re.M)]
    diff.equal(f"{name} GIDs", gids,
               [(gid["index"], ipaddress.IPv6Address(gid["gid"]), gid["type"])
                for gid in port["gids"]])


def dcb(run, snapshot, diff):
    for netdev in snapshot["net_interfaces"]:
        if not netdev["name"].startswith("rail"):
            diff.equal(f"{netdev['name']} has DCB", False, "dcb" in netdev)
            continue
        name, config = netdev["name"], netdev["dcb"]
        printed = {what: json.loads(run(f"dcb -j {what} show dev {name}"))
                for what in ("pfc", "ets", "app", "buffer", "dcbx")}
        pfc = printed["pfc"]
        mask = sum(1 << priority for priority, on in enumerate(pfc["prio_pfc"]) if on)
        for tool, field in ((mask, "enabled_mask"), (pfc["pfc_cap"], "capability"),
                            (pfc["macsec_bypass"], "mbc"), (pfc["delay"], "delay")):
            diff.equal(f"{name} pfc {field}", tool, config["pfc"][field])
        ets = printed["ets"]
        for tool, field in ((ets["willing"], "willing"), (ets["ets_cap"], "capability"),
                            (ets["tc_bw"], "tc_tx_bandwidth_percent"),
                            ([TSA[tsa] for tsa in ets["tc_tsa"]], "tc_algorithm"),
                            (ets["prio_tc"], "priority_to_tc")):
            diff.equal(f"{name} ets {field}", tool, config["ets"][field])
        apps = sorted((f"APP_SELECTOR_{APPS[kind]}", protocol, priority)
                      for kind, entries in printed["app"].items() if kind in APPS
                      for protocol, priority in entries)
        diff.equal(f"{name} app", apps, sorted(
            (app["selector"], app["protocol"], app["priority"]) for app in config["app"]))
        for tool, field in (("prio_buffer", "priority_to_buffer"),
                            ("buffer_size", "size_bytes"), ("total_size", "total_bytes")):
            diff.equal(f"{name} {tool}", printed["buffer"][tool], config["buffers"][field])
        for tool, field in (("host", "host"), ("lld_managed", "lld_managed"), ("cee", "cee"),
                            ("ieee", "ieee"), ("static", "static_config")):
            diff.equal(f"{name} dcbx {tool}", printed["dcbx"].get(tool, False),
                       config["dcbx"][field])


def colons(text):
    return dict(re.findall(r"^[ \t]*([^:\n]+):[ \t]+(\S.*)$", text, re.M))


def megabits(text):
    """Bits per second as text, or None if the speed is unknown."""
    number = text.removesuffix("Mb/s")
    return str(int(number) * 1_000_000) if number.isdigit() else None


def ethtool(run, snapshot, diff):
    for netdev in snapshot["net_interfaces"]:
        name = netdev["name"]
        printed = colons(run(f"ethtool -i {name}"))
        for tool, field in (("driver", "driver"), ("firmware-version", "firmware"),
                            ("bus-info", "pci_address"), ("version", "driver_version")):
            diff.equal(f"{name} {tool}", printed.get(tool), netdev.get(field))
        printed = colons(run(f"ethtool -a {name} 2>/dev/null || :"))
        pause = netdev.get("global_pause", {})
        for tool, field in (("Autonegotiate", "autonegotiate"), ("RX", "rx"), ("TX", "tx")):
            diff.equal(f"{name} pause {tool}", printed.get(tool), {True: "on", False: "off"}.get(
                pause.get(field)))
        text = run(f"ethtool {name}")
        printed = colons(text)
        diff.equal(f"{name} Speed", megabits(printed["Speed"]), netdev.get("speed_bps"))
        modes = re.search(r"Supported link modes:(.*?)\n\t(?=\S)", text, re.S).group(1)
        fastest = max((int(mode) for mode in re.findall(r"(\d+)base", modes)), default=None)
        diff.equal(f"{name} fastest of Supported link modes", megabits(f"{fastest}Mb/s"),
                   netdev.get("speed_max_bps"))
        diff.equal(f"{name} Link detected", printed["Link detected"] == "yes", netdev["carrier"])
        diff.equal(f"{name} Auto-negotiation", printed["Auto-negotiation"] == "on",
                   netdev["autonegotiation"])
        printed = colons(run(f"ethtool --get-tunable {name} pfc-prevention-tout 2>/dev/null || :"))
        diff.equal(f"{name} pfc-prevention-tout", printed.get("pfc-prevention-tout"),
                   str(netdev["pfc_storm_prevention_ms"])
                   if "pfc_storm_prevention_ms" in netdev else None)
        fec = colons(run(f"ethtool --show-fec {name} 2>/dev/null || :"))
        diff.equal(f"{name} Active FEC", fec.get("Active FEC encoding"), netdev.get("fec"))


def addresses(run, snapshot, diff):
    links = {link["ifname"]: link for link in json.loads(run("ip -j -d link"))}
    printed = {link["ifname"]: [f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"]]
            for link in json.loads(run("ip -j address"))}
    for netdev in snapshot["net_interfaces"]:
        name, link = netdev["name"], links[netdev["name"]]
        for tool, field in (("ifindex", "index"), ("mtu", "mtu_bytes"), ("address", "mac")):
            diff.equal(f"{name} {tool}", link[tool], netdev[field])
        state = OPER_STATES.get(link["operstate"], link["operstate"])
        diff.equal(f"{name} operstate", f"OPER_STATE_{state}", netdev["oper_state"])
        diff.equal(f"{name} link_type", {"ether": 1}[link["link_type"]], netdev["hardware_type"])
        diff.equal(f"{name} master", link.get("master"), netdev.get("master"))
        diff.equal(f"{name} LOWER_UP", "LOWER_UP" in link["flags"], netdev["carrier"])
        diff.equal(f"{name} addresses", sorted(printed[name]), sorted(netdev["addresses"]))
    physical = {name for name, link in links.items() if link["link_type"] != "loopback"}
    diff.equal("netdevs", sorted(physical),
               sorted(n["name"] for n in snapshot["net_interfaces"] if n["name"] in physical))


def settings(run, snapshot, diff):
    for compare in (devices, verbs, dcb, ethtool, addresses):
        compare(run, snapshot, diff)


def leaves(value, path):
    """(path, container, key) of all scalars, and of the first four elements of lists."""
    items = value.items() if isinstance(value, dict) else list(enumerate(value))[:4]
    for key, inner in items:
        below = path if isinstance(value, list) else f"{path}.{key}"
        if isinstance(inner, (dict, list)):
            yield from leaves(inner, below)
        else:
            yield below, value, key


def wrong(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return str(int(value) + 1) if value.isdigit() else value + "x"


def unseen(run, snapshot):
    """Returns the fields for which settings() would miss a wrong value, without those of
    NOT_PRINTED, and the fields of NOT_PRINTED for which it would not. `run` should cache."""
    snapshot = copy.deepcopy(snapshot)
    blind = set()
    seen = set()
    for kind, things in (("rdma", "rdma_devices"), ("net", "net_interfaces")):
        for path, container, key in list(leaves(snapshot[things], kind)):
            right = container[key]
            container[key] = wrong(right)
            diff = Differences()
            try:
                settings(run, snapshot, diff)
            except (KeyError, IndexError, ValueError, LabError):
                diff.found.append("nothing to compare with")
            (seen if diff.found else blind).add(path)
            container[key] = right
    printed = {path for path in blind | seen if any(
        path == known or path.startswith(known + ".") for known in NOT_PRINTED)}
    return sorted(blind - printed), sorted(seen & printed)


def counters_now(run, snapshot):
    """Counters of the tools: {(device or netdev, source, counter): value}."""
    now = {}
    for printed in json.loads(run("rdma -j statistic")):
        for counter, value in printed.items():
            if isinstance(value, int) and counter != "port":
                now[printed["ifname"], "COUNTER_SOURCE_HW", counter] = value
    for netdev in snapshot["net_interfaces"]:
        name = netdev["name"]
        if "dcb" not in netdev:
            continue
        for counter, value in re.findall(r"^\s+([^:\n]+): (\d+)$", run(f"ethtool -S {name}"),
                                         re.M):
            now[name, "COUNTER_SOURCE_ETHTOOL", counter] = int(value)
        pfc = json.loads(run(f"dcb -j -s pfc show dev {name}"))
        for kind in ("requests", "indications"):
            for priority, value in enumerate(pfc[kind]):
                now[name, "COUNTER_SOURCE_DCB", f"pfc_{kind}_prio{priority}"] = value
    return now


def counters(before, snapshot, after, diff):
    known = {}
    for group in snapshot["counters"]:
        for counter in group["counters"]:
            key = (group["device"] or group["netdev"], counter["source"], counter["name"])
            known[key] = int(counter["value"])
    for (name, source, counter), value in known.items():
        if source in ("COUNTER_SOURCE_HW", "COUNTER_SOURCE_ETHTOOL", "COUNTER_SOURCE_DCB"):
            key = (name, source, counter)
            diff.between(f"{name} {counter}", before.get(key, -1), value, after.get(key, -1))
    # The snapshot must have all counters of rdma.
    missing = [key for key in after if key[1] == "COUNTER_SOURCE_HW" and key not in known]
    diff.equal("counters of rdma statistic that the snapshot lacks", [], missing)
