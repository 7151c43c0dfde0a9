#!/usr/bin/env python3
"""Each query of each dashboard returns a number from a real Prometheus that scrapes a real fabricd
and real agents on captured machines.

Captured machines have no netlink, ethtool, modules and probes: a page has the metrics of those, and
each of its names must be one of the sources. The lab proves the queries of fabricd.json on a live
fabric, too."""

import contextlib
import http.server
import json
import sys
import threading

from deploytest import DEPLOY, ROOT, DeployTest, main, metrics_in, our_metrics
from fleet import Fleet

sys.path.insert(0, str(ROOT / "tests/lab"))
sys.path.insert(0, str(DEPLOY / "grafana"))
import boards  # pylint: disable=wrong-import-position
import dashboard  # pylint: disable=wrong-import-position

# Machines that together have all metrics of agents
MACHINES = {"n1": "roce_connectx6dx", "n2": "h100_infiniband", "n3": "mi300x", "n4": "thor2_bnxt"}
# As fabricd and an agent of a RoCE node write them
PAGE = """fabric_probe_latency_seconds{rail="0",aggregate="median"} 0.000002
fabric_probe_bandwidth_bytes_per_second{rail="0",aggregate="median"} 48000000000
fabric_mesh_pings{rail="0",result="answered"} 990
fabric_mesh_pings{rail="0",result="lost"} 10
fabric_mesh_round_trip_seconds{rail="0",aggregate="median"} 0.00001
fabric_mesh_leaf_pings{leaf="leaf1",result="answered"} 990
fabric_mesh_leaf_pings{leaf="leaf1",result="lost"} 10
fabric_mesh_worst_loss_ratio{from_leaf="leaf1",to_leaf="leaf2",rail="0"} 0.01
fabric_mesh_worst_round_trip_seconds{from_leaf="leaf1",to_leaf="leaf2",rail="0"} 0.00001
fabric_subnet_port_errors_per_second{subnet="s",switch="a",port="1",peer="b",counter="c"} 2
fabric_port_info{device="mlx5_0",port="1",netdev="rail0",link_layer="ethernet"} 1
fabric_netdev_pfc_enabled{netdev="rail0",priority="3"} 1
fabric_netdev_ecn_enabled{netdev="rail0",priority="3",role="rp"} 1
fabric_dma_buf_possible{device="mlx5_0"} 1
fabric_gpu_nvlink_active{pci_address="0000:1b:00.0",nvlink="3"} 1
fabric_pci_errors_total{pci_address="0000:17:00.0",severity="correctable"} 1
""" + "".join(f'fabric_netdev_{name}{{netdev="rail0",priority="3"}} 7\n' for name in (
    "pfc_frames_received_total", "pfc_frames_sent_total", "pfc_pauses_received_seconds_total")
) + "".join(f'fabric_netdev_{name}{{netdev="rail0"}} 7\n' for name in (
    "pfc_storms_total", "receive_discards_total", "transmit_discards_total",
    "transmitted_bytes_total", "received_bytes_total", "symbol_errors_total", "fcs_errors_total",
    "fec_corrected_blocks_total", "fec_uncorrectable_blocks_total", "pcie_write_stalled_ratio",
    "pcie_buffer_overflows_total")
) + "".join(f'fabric_module_{name}{{netdev="rail0",lane="1"}} 0.5\n' for name in (
    "receive_power_watts", "temperature_celsius")
) + "".join(f'fabric_gpu_nvlink_{name}{{pci_address="0000:1b:00.0",nvlink="3"}} 0\n' for name in (
    "replay_errors_total",))


class Page(http.server.BaseHTTPRequestHandler):
    """Serves the metrics that no captured machine has."""

    def do_GET(self):  # pylint: disable=invalid-name
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


@contextlib.contextmanager
def page():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield "{}:{}".format(*server.server_address)
    finally:
        server.shutdown()
        server.server_close()


class TestDashboards(DeployTest):
    def files(self):
        return sorted((DEPLOY / "grafana").glob("*.json"), key=lambda path: path.stem)

    def test_files_are_written_from_the_tables(self):
        self.assertEqual([path.stem for path in self.files()],
                         sorted(f"fabricd-{name}".rstrip("-") for name in boards.BOARDS))
        self.run_well(sys.executable, "-B", DEPLOY / "grafana/boards.py", "--check")

    def test_panels_have_distinct_titles_and_places(self):
        for path in self.files():
            board = json.loads(path.read_text())
            for key in ("id", "title"):
                seen = [panel[key] for panel in board["panels"]]
                self.assertEqual(sorted(seen), sorted(set(seen)), path.name)
            places = [tuple(panel["gridPos"][key] for key in "xy") for panel in board["panels"]]
            self.assertEqual(len(places), len(set(places)), path.name)

    def test_the_page_has_names_of_the_sources(self):
        self.assertEqual(metrics_in(PAGE) - our_metrics(), set())

    def test_each_query_returns_a_number(self):
        self.tool("prometheus")
        topology = ROOT / "tests/fixtures/infiniband/two_leaves.txt"
        with contextlib.ExitStack() as stack:
            fleet = stack.enter_context(
                Fleet(self.folder(), self.program, f"--infiniband-topology={topology}"))
            for node, fixture in MACHINES.items():
                fleet.add(node, fixture)
            fleet.wait(lambda: len(fleet.get("/v1/findings")["findings"]) > 0, "a finding")
            probes = stack.enter_context(page())
            prometheus = stack.enter_context(dashboard.start_prometheus(
                self.folder(), fleet.health, {**fleet.metrics(), "page": probes}))
            dashboard.wait_until_scraped(prometheus, times=4)
            empty = [f"{path.name}: {query}" for path in self.files()
                     for query in dashboard.empty_queries(prometheus, path)]
            self.assertEqual(empty, [])


if __name__ == "__main__":
    main()
