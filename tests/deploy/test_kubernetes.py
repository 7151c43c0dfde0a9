#!/usr/bin/env python3
"""The Helm chart and the kustomize base give the same objects, and the programs accept the
arguments of their containers."""

import atexit
import copy
import functools
import json
import shutil
import sys
import tempfile

import yaml

from deploytest import DEPLOY, ROOT, DeployTest, main

sys.path.insert(0, str(ROOT / "tests/deploy/helm"))
import chart  # pylint: disable=wrong-import-position

JOIN = {"controller": {"joinSecret": "fabricd-join"}, "agent": {"join": {"enabled": True}}}


class TestKubernetes(DeployTest):
    def setUp(self):
        rendered = self.run_well(self.tool("kubectl"), "kustomize", DEPLOY / "kubernetes")
        self.objects = [made for made in yaml.safe_load_all(rendered) if made]

    def one(self, kind, name):
        found = [made for made in self.objects
                 if (made["kind"], made["metadata"]["name"]) == (kind, name)]
        self.assertEqual(len(found), 1, f"{kind} {name}")
        return found[0]

    def pod(self, kind, name):
        return self.one(kind, name)["spec"]["template"]["spec"]

    def pods(self):
        return {"fabric-agent": self.pod("DaemonSet", "fabric-agent"),
                "fabricd": self.pod("StatefulSet", "fabricd")}

    def settings(self, name):
        """The settings that a program reads from its container's arguments."""
        arguments = [word.replace("$(NODE_NAME)", "node-7")
                     for word in self.pods()[name]["containers"][0]["args"]]
        self.assertFalse([word for word in arguments if "$(" in word], "an unknown variable")
        return self.settings_of(name, *arguments)

    def test_all_is_in_one_namespace(self):
        namespace = self.one("Namespace", "fabricd")["metadata"]["name"]
        for made in self.objects:
            if made["kind"] != "Namespace":
                self.assertEqual(made["metadata"].get("namespace"), namespace, made["kind"])

    def test_only_the_agent_of_the_base_is_privileged(self):
        """To open uverbs. With the component device-plugin it is not privileged."""
        for name, pod in self.pods().items():
            with self.subTest(name):
                self.check_pod(pod, privileged=name == "fabric-agent")
        self.render_with_device_plugin()
        [container] = self.pods()["fabric-agent"]["containers"]
        self.check_pod(self.pods()["fabric-agent"], privileged=False)
        self.assertEqual(["IPC_LOCK", "NET_RAW", "SYSLOG"],
                         container["securityContext"]["capabilities"]["add"])
        for part in ("limits", "requests"):
            self.assertEqual(container["resources"][part]["rdma/hca_shared_devices_a"], "1")

    def render_with_device_plugin(self):
        self.render_with("device-plugin")

    def render_with(self, *components):
        folder = self.folder()
        shutil.copytree(DEPLOY / "kubernetes", folder / "base")
        text = (folder / "base/kustomization.yaml").read_text()
        (folder / "base/kustomization.yaml").write_text(
            text + f"components: [{', '.join(components)}]\n")
        rendered = self.run_well(self.tool("kubectl"), "kustomize", folder / "base")
        self.objects = [made for made in yaml.safe_load_all(rendered) if made]

    def check_pod(self, pod, privileged):
        self.assertIs(pod.get("automountServiceAccountToken"), False)
        self.assertNotIn("hostPID", pod)
        for container in pod["containers"]:
            security = container["securityContext"]
            self.assertIs(security["readOnlyRootFilesystem"], True)
            self.assertIn("memory", container["resources"]["limits"])
            if privileged:  # The API server refuses other settings with it.
                self.assertEqual(set(security), {"privileged", "readOnlyRootFilesystem"})
                continue
            self.assertIs(security["allowPrivilegeEscalation"], False)
            self.assertEqual(security["capabilities"]["drop"], ["ALL"])
            self.assertNotIn("privileged", security)

    def test_agent_sees_the_host_and_runs_on_every_node(self):
        pod = self.pods()["fabric-agent"]
        self.assertIs(pod["hostNetwork"], True)
        self.assertEqual(pod["dnsPolicy"], "ClusterFirstWithHostNet")
        self.assertIn({"operator": "Exists"}, pod["tolerations"])
        devices = [volume["hostPath"]["path"] for volume in pod["volumes"]]
        self.assertIn("/dev/infiniband", devices)

    def test_rest_accepts_the_names_of_the_service(self):
        service = f"fabricd.{self.one('Namespace', 'fabricd')['metadata']['name']}.svc"
        names = self.settings("fabricd")["rest-hosts"].strip('"').split(",")
        self.assertEqual(names, ["fabricd", service, f"{service}.cluster.local"])

    def test_mounts_are_of_volumes(self):
        for name, pod in self.pods().items():
            volumes = {volume["name"] for volume in pod.get("volumes", [])}
            if name == "fabricd":
                claims = self.one("StatefulSet", "fabricd")["spec"]["volumeClaimTemplates"]
                volumes |= {claim["metadata"]["name"] for claim in claims}
            mounts = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
            self.assertEqual(mounts, volumes, name)

    def test_agent_reaches_the_controller(self):
        """The agent's controller address is the service, whose port is fabricd's."""
        host, _, port = self.settings("fabric-agent")["controller"].rpartition(":")
        service, namespace = host.split(".")[:2]
        made = self.one("Service", service)
        self.assertEqual(made["metadata"]["namespace"], namespace)
        [entry] = [entry for entry in made["spec"]["ports"] if str(entry["port"]) == port]
        [target] = [port for port in self.pods()["fabricd"]["containers"][0]["ports"]
                    if port["name"] == entry["targetPort"]]
        listened = self.settings("fabricd")["grpc"]
        self.assertEqual(listened, f"0.0.0.0:{target['containerPort']}")
        labels = self.one("StatefulSet", "fabricd")["spec"]["template"]["metadata"]["labels"]
        self.assertLessEqual(made["spec"]["selector"].items(), labels.items())

    def test_node_has_its_kubernetes_name(self):
        self.assertEqual(self.settings("fabric-agent")["node"], "node-7")
        [variable] = self.pods()["fabric-agent"]["containers"][0]["env"]
        self.assertEqual(variable["valueFrom"]["fieldRef"]["fieldPath"], "spec.nodeName")

    def test_metrics_are_where_the_annotations_say(self):
        for kind, name, setting in (("DaemonSet", "fabric-agent", "metrics"),
                                    ("StatefulSet", "fabricd", "health")):
            template = self.one(kind, name)["spec"]["template"]
            port = template["metadata"]["annotations"]["prometheus.io/port"]
            ports = [entry["containerPort"] for entry in template["spec"]["containers"][0]["ports"]]
            self.assertIn(int(port), ports)
            self.assertEqual(self.settings(name)[setting], f"0.0.0.0:{port}")

    def test_state_is_on_the_volume(self):
        mounts = self.pods()["fabricd"]["containers"][0]["volumeMounts"]
        state = self.settings("fabricd")["state"]
        self.assertTrue(any(state.startswith(mount["mountPath"] + "/") for mount in mounts), state)

    def test_each_container_has_the_probes_it_needs(self):
        for name, wanted in (("fabricd", ("startupProbe", "readinessProbe", "livenessProbe")),
                             ("fabric-agent", ("startupProbe", "livenessProbe"))):
            [container] = self.pods()[name]["containers"]
            ports = {port["name"] for port in container["ports"]}
            for probe in wanted:
                self.assertIn(container[probe]["httpGet"]["port"], ports, f"{name} {probe}")

    def test_namespace_permits_what_the_agent_needs(self):
        labels = self.one("Namespace", "fabricd")["metadata"]["labels"]
        for mode in ("enforce", "audit", "warn"):
            self.assertEqual(labels[f"pod-security.kubernetes.io/{mode}"], "privileged")

    def test_nodes_that_join_have_no_files_of_their_own(self):
        """The agent gets its certificate with a token from a fabricd that has the CA's key."""
        self.render_with_join()
        self.test_mounts_are_of_volumes()
        self.assertEqual(self.settings("fabricd")["join-ca"], "/etc/fabricd/join/ca.pem")
        self.assertEqual(self.settings("fabricd")["join-ca-key"], "/etc/fabricd/join/ca-key.pem")
        agent = self.settings("fabric-agent")
        self.assertEqual(agent["join-token"], "/etc/fabricd/join/token")
        pod = self.pods()["fabric-agent"]
        mounts = {mount["mountPath"]: mount for mount in pod["containers"][0]["volumeMounts"]}
        self.assertNotIn("readOnly", mounts[agent["join-dir"]])
        self.assertNotIn("/etc/fabricd/tls", mounts)
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        self.assertEqual(volumes["certificate"]["hostPath"]["type"], "DirectoryOrCreate")
        # The agent refuses a token that others can read. Nodes start again without the token.
        self.assertEqual(volumes["join"]["secret"], {"secretName": "fabric-join",
                                                     "defaultMode": 0o400, "optional": True})

    def render_with_join(self):
        self.render_with("join")

    def test_the_network_policy_opens_only_the_ports_of_fabricd(self):
        policy = self.one("NetworkPolicy", "fabricd")["spec"]
        [rule] = policy["ingress"]
        ports = {port["name"] for port in self.pods()["fabricd"]["containers"][0]["ports"]}
        self.assertEqual({entry["port"] for entry in rule["ports"]}, ports)
        self.assertNotIn("egress", policy)  # None is permitted. The API server drops an empty list.
        self.assertEqual(sorted(policy["policyTypes"]), ["Egress", "Ingress"])
        labels = self.one("StatefulSet", "fabricd")["spec"]["template"]["metadata"]["labels"]
        self.assertLessEqual(policy["podSelector"]["matchLabels"].items(), labels.items())


@functools.cache
def rendered_once():
    folder = tempfile.TemporaryDirectory(prefix="fabric-chart-")
    atexit.register(folder.cleanup)
    return chart.Chart("go", folder.name)


# With all parts of the chart
ALL = {**chart.MONITORED, **chart.NODES,
       "agent": {**JOIN["agent"], **chart.DISCOVERED["agent"], "devices": "plugin"},
       "controller": JOIN["controller"]}


def paths_of(values, above=()):
    """The paths of all values, also those of maps. Resources are one value."""
    for key, value in values.items():
        yield (*above, key)
        if isinstance(value, dict) and key != "resources":
            yield from paths_of(value, (*above, key))


def without(values, path):
    """A copy of the values without that at the path."""
    left = copy.deepcopy(values)
    inner = left
    for key in path[:-1]:
        inner = inner.get(key, {})
    inner.pop(path[-1], None)
    return left


def by_name(objects):
    return {(made["kind"], made["metadata"]["name"]): made for made in objects}


class TestChart(TestKubernetes):
    """The same tests with the objects of the chart, and those of its values."""

    def setUp(self):
        self.tool("go")
        self.tool("kubectl")
        self.chart = rendered_once()
        self.render_with_values()

    def render_with_values(self, values=None):
        """As the kustomize base, which has the namespace."""
        self.objects = self.chart.objects({**chart.NAMESPACED, **(values or {})})

    def render_with_device_plugin(self):
        self.render_with_values({"agent": {"devices": "plugin"}})

    def render_with_join(self):
        self.render_with_values(JOIN)

    def test_the_kustomize_base_is_written_from_the_chart(self):
        for path, text in chart.generated(self.chart).items():
            self.assertEqual((DEPLOY / "kubernetes" / path).read_text(), text,
                             f"{path}: run python3 tests/deploy/helm/chart.py")
        for name, source in chart.COPIED.items():
            self.assertEqual((chart.CHART / "files" / name).read_text(),
                             (DEPLOY / source).read_text(),
                             f"{name}: run python3 tests/deploy/helm/chart.py")

    def test_components_give_what_the_values_give(self):
        for component, values in (
                ("device-plugin", {"agent": {"devices": "plugin"}}),
                ("join", JOIN), ("monitoring", chart.MONITORED), ("nfd", chart.DISCOVERED)):
            with self.subTest(component):
                super().render_with(component)
                expected = by_name(self.chart.objects({**chart.NAMESPACED, **values}))
                rendered = by_name(self.objects)
                # kustomize puts all objects into the namespace, also those without one.
                rendered.get(("NodeFeatureRule", "fabric-rdma"),
                             {"metadata": {}})["metadata"].pop("namespace", None)
                self.assertEqual(rendered, expected)

    def test_values_change_what_they_name(self):
        objects = by_name(self.chart.objects({
            "networkPolicy": {"enabled": False},
            "images": {"agent": {"repository": "registry.example/agent", "tag": "7"},
                       "pullSecrets": [{"name": "pull"}]},
            "controller": {"settings": {"mesh": "on"}, "storageClass": "fast"},
            "agent": {"nodeSelector": {"pool": "gpu"}, "metricsPort": 9517}}, "rdma"))
        self.assertEqual(sorted(objects), [("DaemonSet", "fabric-agent"),
                                           ("Service", "fabric-agent"), ("Service", "fabricd"),
                                           ("StatefulSet", "fabricd")])
        for made in objects.values():
            self.assertEqual(made["metadata"]["namespace"], "rdma")
        pod = objects["DaemonSet", "fabric-agent"]["spec"]["template"]["spec"]
        self.assertEqual(pod["nodeSelector"], {"pool": "gpu"})
        self.assertEqual(pod["imagePullSecrets"], [{"name": "pull"}])
        [container] = pod["containers"]
        self.assertEqual(container["image"], "registry.example/agent:7")
        self.assertIn("--controller=fabricd.rdma.svc:9418", container["args"])
        self.assertIn("--metrics=0.0.0.0:9517", container["args"])
        controller = objects["StatefulSet", "fabricd"]["spec"]
        self.assertIn("--mesh=on", controller["template"]["spec"]["containers"][0]["args"])
        self.assertEqual(controller["volumeClaimTemplates"][0]["spec"]["storageClassName"], "fast")

    def test_values_of_an_older_chart_get_the_defaults(self):
        """helm upgrade --reuse-values gives the values of the old chart only."""
        used = chart.merged(self.chart.defaults, ALL)
        paths = list(paths_of(self.chart.defaults))
        self.assertIn(("agent", "join", "by"), paths)
        for path in paths:
            with self.subTest(".".join(path)):
                self.assertEqual(self.whole(base=without(used, path)),
                                 self.whole(without(ALL, path)))
        self.assertEqual(self.whole(base={}), self.whole())

    def whole(self, changes=None, base=None):
        return self.chart.print([*self.chart.templates, "NOTES.txt"], changes, base=base)

    def test_values_of_an_older_chart_keep_false_and_nothing(self):
        chosen = {"networkPolicy": {"enabled": False},
                  "controller": {"manual": "", "resources": {"limits": None}},
                  "agent": {"tolerations": [], "metricsPort": 9517}}
        expected = self.chart.objects(chosen)
        self.assertEqual([made["kind"] for made in expected if made["kind"] in
                          ("Namespace", "NetworkPolicy")], [])
        [container] = by_name(expected)["StatefulSet", "fabricd"]["spec"]["template"]["spec"][
            "containers"]
        self.assertNotIn("limits", container["resources"])
        self.assertFalse([word for word in container["args"] if word.startswith("--manual")])
        used = chart.merged(self.chart.defaults, chosen)
        for path in (("monitoring",), ("agent", "join"), ("agent", "pods"), ("images",)):
            with self.subTest(".".join(path)):
                self.assertEqual(self.whole(base=without(used, path)), self.whole(chosen))

    def test_a_value_instead_of_a_map_is_an_error(self):
        with self.assertRaisesRegex(chart.ChartError, "agent.join: expected a map, saw true"):
            self.chart.objects({"agent": {"join": True}})

    def test_an_unknown_choice_is_an_error(self):
        for agent, message in (
                ({"devices": "all"}, "agent.devices: expected privileged or plugin, saw all"),
                ({"join": {"by": "mail"}}, "agent.join.by: expected token or approval, saw mail")):
            with self.assertRaisesRegex(chart.ChartError, message):
                self.chart.objects({"agent": agent})

    def test_an_agent_that_waits_for_approval_has_the_ca(self):
        self.objects = self.chart.objects({"agent": {"join": {"enabled": True, "by": "approval"}}})
        agent = self.settings("fabric-agent")
        self.assertEqual(agent["tls-ca"], "/etc/fabricd/join/ca.pem")
        self.assertEqual(agent.get("join-token", ""), "")
        [secret] = [volume["secret"] for volume in self.pods()["fabric-agent"]["volumes"]
                    if volume["name"] == "join"]
        self.assertNotIn("optional", secret)

    def test_a_namespace_of_others_gets_its_labels_by_hand(self):
        """The agent gets no Pods without them where PodSecurity is enforced."""
        labels = [f"pod-security.kubernetes.io/{mode}=privileged"
                  for mode in ("enforce", "audit", "warn")]
        notes = self.chart.text("NOTES.txt", {}, "rdma")
        page = (ROOT / "docs/KUBERNETES.md").read_text()
        for text, namespace in ((notes, "rdma"), (page, "fabricd")):
            words = text.replace("\\\n", " ").split()
            at = words.index("label")
            self.assertEqual(words[at - 1:at + 6],
                             ["kubectl", "label", "namespace", namespace, *labels])
        self.assertNotIn("kubectl label", self.chart.text("NOTES.txt", chart.NAMESPACED))

    def test_notes_name_the_secrets_of_the_values(self):
        notes = self.chart.text("NOTES.txt", JOIN)
        for secret in ("fabricd-tls", "fabricd-join", "fabric-join"):
            self.assertIn(f"kubectl create secret generic {secret} -n fabricd", notes)
        self.assertNotIn("pki issue node", notes)
        self.assertIn("pki issue node", self.chart.text("NOTES.txt"))

    def test_values_add_what_the_agent_can_see(self):
        """Those that fabric-agent doctor names."""
        scratch = {"name": "scratch", "emptyDir": {}}
        mount = {"name": "scratch", "mountPath": "/scratch"}
        visible = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}
        self.objects = self.chart.objects({"agent": {
            "hostPID": True, "runtimeClassName": "nvidia", "debugfs": True, "extraEnv": [visible],
            "extraVolumes": [scratch], "extraVolumeMounts": [mount]}})
        self.test_mounts_are_of_volumes()
        pod = self.pods()["fabric-agent"]
        self.assertEqual((pod["hostPID"], pod["runtimeClassName"]), (True, "nvidia"))
        [container] = pod["containers"]
        self.assertIn(visible, container["env"])
        self.assertIn(mount, container["volumeMounts"])
        self.assertIn({"name": "debugfs", "mountPath": "/sys/kernel/debug", "readOnly": True},
                      container["volumeMounts"])
        self.assertIn(scratch, pod["volumes"])

    def test_values_let_the_agent_ask_for_pods(self):
        sockets = {"kubelet": "/var/lib/kubelet/pod-resources/kubelet.sock",
                   "runtime": "/run/containerd/containerd.sock"}
        self.assertNotIn("cri-socket", self.settings("fabric-agent"))
        self.objects = self.chart.objects({"agent": {"hostPID": True, "pods": sockets}})
        self.test_mounts_are_of_volumes()
        settings = self.settings("fabric-agent")
        self.assertEqual(settings["kubelet-pod-resources"], sockets["kubelet"])
        self.assertEqual(settings["cri-socket"], sockets["runtime"])
        pod = self.pods()["fabric-agent"]
        mounts = {mount["mountPath"]: mount for mount in pod["containers"][0]["volumeMounts"]}
        paths = {volume["name"]: volume["hostPath"]["path"] for volume in pod["volumes"]
                 if "hostPath" in volume}
        for path in ("/var/lib/kubelet/pod-resources", "/run/containerd"):
            self.assertTrue(mounts[path]["readOnly"])
            self.assertEqual(paths[mounts[path]["name"]], path)
        self.assertEqual(mounts["/run/containerd"]["mountPropagation"], "HostToContainer")

    def test_monitoring_names_the_ports_and_the_jobs_of_the_alerts(self):
        objects = by_name(self.chart.objects(chart.MONITORED))
        for name, port in (("fabricd", "health"), ("fabric-agent", "metrics")):
            monitor = objects["ServiceMonitor", name]["spec"]
            service = objects["Service", name]
            self.assertLessEqual(monitor["selector"]["matchLabels"].items(),
                                 service["metadata"]["labels"].items())
            [endpoint] = monitor["endpoints"]
            self.assertEqual(endpoint["port"], port)
            self.assertIn(port, [entry["name"] for entry in service["spec"]["ports"]])
            self.assertEqual(service["metadata"]["labels"][monitor["jobLabel"]], name)
        self.assertEqual(objects["PrometheusRule", "fabricd"]["spec"],
                         self.rules_with("https://fabricd.fabricd.svc:9419/docs/runbooks/"))

    def rules_with(self, runbooks):
        text = (DEPLOY / "prometheus/alerts.yml").read_text()
        return yaml.safe_load(text.replace("http://127.0.0.1:9419/docs/runbooks/", runbooks))

    def test_runbooks_are_where_a_value_says(self):
        for value in ("https://wiki.example/fabric", "https://wiki.example/fabric/"):
            objects = by_name(self.chart.objects(
                {"monitoring": {"enabled": True, "runbooks": value}}))
            self.assertEqual(objects["PrometheusRule", "fabricd"]["spec"],
                             self.rules_with("https://wiki.example/fabric/"))

    def test_fabricd_serves_the_runbooks_of_its_image(self):
        self.assertEqual(self.settings("fabricd")["manual"], "/usr/share/fabricd/manual")
        self.assertIn("usr/share/fabricd/manual", (ROOT / "debian/fabricd.install").read_text())

    def test_node_feature_rule_names_the_four_vendors(self):
        objects = by_name(self.chart.objects(chart.DISCOVERED))
        [rule] = objects["NodeFeatureRule", "fabric-rdma"]["spec"]["rules"]
        self.assertEqual(rule["labels"], {"fabric-rdma": "true"})
        [feature] = rule["matchFeatures"]
        self.assertEqual(feature["matchExpressions"]["vendor"]["value"],
                         ["15b3", "14e4", "8086", "1dd8"])
        pod = objects["DaemonSet", "fabric-agent"]["spec"]["template"]["spec"]
        self.assertIn("feature.node.kubernetes.io/fabric-rdma", json.dumps(pod["affinity"]))

    def test_chart_has_the_version_of_the_program(self):
        about = yaml.safe_load((chart.CHART / "Chart.yaml").read_text())
        self.assertIn(f"VERSION {about['version']} ", (ROOT / "CMakeLists.txt").read_text())
        self.assertEqual(about["version"], about["appVersion"])


if __name__ == "__main__":
    main()
