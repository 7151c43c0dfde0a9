# SPDX-License-Identifier: Apache-2.0
"""Runs Prometheus with the deployed configuration and the queries of a Grafana dashboard:

    with dashboard.start_prometheus(folder, rest, {node: lab.metrics(node)}) as prometheus:
        dashboard.wait_until_scraped(prometheus)
        dashboard.empty_queries(prometheus, ROOT / "deploy/grafana/fabricd.json")
"""

import ctypes
import json
import math
import pathlib
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
PROGRAM = "/usr/bin/prometheus"
START_LIMIT = 30  # seconds until it answers
WINDOW = "30s"  # value of $__rate_interval and similar variables, for one scrape per second
# Lines of a job, as deploy/prometheus/README.md has them
TLS = """\
    scheme: https
    tls_config: {{ca_file: {0}/ca.pem, cert_file: {0}/cert.pem, key_file: {0}/key.pem}}
"""
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


class PrometheusError(Exception):
    """Prometheus failed. The text gives the reason."""


def start_prometheus(folder, fabricd_rest, agent_metrics, certificates=None):
    """fabricd_rest: HOST:PORT. agent_metrics: HOST:PORT of each node's agent. certificates: folder
    with cert.pem, key.pem and ca.pem for fabricd; None: no TLS. Use it in `with`."""
    return Prometheus(pathlib.Path(folder), fabricd_rest, agent_metrics, certificates)


class Prometheus:
    """A Prometheus that scrapes each second and ends with the block, or with this process."""

    def __init__(self, folder, fabricd_rest, agent_metrics, certificates):
        self.targets = 1 + len(agent_metrics)
        self.log = folder / "prometheus.log"
        folder.mkdir(parents=True, exist_ok=True)
        _configure(folder, fabricd_rest, agent_metrics, certificates)
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(
                [PROGRAM, f"--config.file={folder / 'prometheus.yml'}",
                 f"--storage.tsdb.path={folder / 'data'}", "--web.listen-address=127.0.0.1:0"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        try:
            self.address = self._wait_until_ready()
        except BaseException:
            self.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def get(self, path, **parameters):
        """The "data" of an answer of Prometheus's API."""
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            said = json.loads(error.read() or b"{}").get("error", error.reason)
            raise PrometheusError(f"{path} {parameters}: {said}") from error

    def query(self, expression):
        return self.get("query", query=expression)["result"]

    def _wait_until_ready(self):
        deadline = time.monotonic() + START_LIMIT
        address = None
        while True:
            log = self.log.read_text(errors="replace")
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise PrometheusError(f"{PROGRAM} did not start:\n" + log[-2000:])
            if bound := re.search(r'msg="Listening on" address=(\S+)', log):
                address = bound[1]
            if address and _answers(f"http://{address}/-/ready"):
                return address
            time.sleep(0.1)


def _configure(folder, fabricd_rest, agent_metrics, certificates):
    """Writes the deployed configuration with intervals of 1 s and these targets."""
    text = (DEPLOY / "prometheus/prometheus.yml").read_text()
    fast = re.sub(r"(scrape_interval|evaluation_interval|refresh_interval): *\w+", r"\1: 1s", text)
    if certificates:
        fast = fast.replace("job_name: fabricd\n", "job_name: fabricd\n" + TLS.format(certificates))
    (folder / "prometheus.yml").write_text(fast)
    shutil.copy(DEPLOY / "prometheus/alerts.yml", folder)
    targets = {"fabricd.json": [{"targets": [fabricd_rest]}],
               "fabric-agents.json": [{"targets": [address], "labels": {"node": node}}
                                      for node, address in agent_metrics.items()]}
    for name, groups in targets.items():
        (folder / name).write_text(json.dumps(groups))


def _answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def wait_until_scraped(prometheus, times=3, seconds=60):
    """Waits until each target has been scraped this many times without an error."""
    deadline = time.monotonic() + seconds
    scraped, trouble = {}, {}
    while len(scraped) < prometheus.targets or min(map(len, scraped.values())) <= times:
        if time.monotonic() > deadline:
            seen = {url: max(0, len(at) - 1) for url, at in scraped.items()}
            raise PrometheusError(f"after {seconds} s: {prometheus.targets} targets should have "
                                  f"been scraped {times} times, saw {seen}, errors {trouble}")
        for target in prometheus.get("targets", state="active")["activeTargets"]:
            at = scraped.setdefault(target["scrapeUrl"], set())
            if target["health"] == "up":
                at.add(target["lastScrape"])  # The first one may be from before.
            trouble[target["scrapeUrl"]] = target["lastError"]
        time.sleep(0.1)


def panels(dashboard):
    """All panels, including those in collapsed rows, without the rows."""
    for panel in dashboard["panels"]:
        yield from panel.get("panels", [])
        if panel["type"] != "row":
            yield panel


def expressions(dashboard):
    """(panel title, query) of each query, with variables replaced by values, and a query for each
    variable that lists the values of a label."""
    variables = {variable["name"]: variable.get("allValue") or ".*"
                 for variable in dashboard["templating"]["list"]}
    for variable in dashboard["templating"]["list"]:
        if values := re.fullmatch(r"label_values\((\w+), *(\w+)\)", variable.get("definition", "")):
            yield f"variable {variable['name']}", f'{values[1]}{{{values[2]}!=""}}'
    for panel in panels(dashboard):
        for target in panel.get("targets", []):
            yield panel["title"], _without_variables(target["expr"], variables)


def _without_variables(expression, variables):
    expression = re.sub(r"\$__(rate_interval|interval|range)\b", WINDOW, expression)

    def value(match):
        name = match[1] or match[2]
        if name not in variables:
            raise PrometheusError(f"{expression}: unknown variable '{name}'")
        return variables[name]

    return re.sub(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))", value, expression)


def empty_queries(prometheus, dashboard_path, healthy=False):
    """The dashboard's queries that return no number: "title: query". healthy: there are no
    findings, so that queries of what is above 0 are made without this limit."""
    dashboard = json.loads(pathlib.Path(dashboard_path).read_text())
    return [f"{title}: {expression}" for title, expression in expressions(dashboard)
            if not any(_number(series) for series in prometheus.query(
                expression.replace(" > 0)", ")") if healthy else expression))]


def _number(series):
    return not math.isnan(float(series["value"][1]))
