#!/usr/bin/env python3
"""The kustomize base renders, and the programs accept the arguments of its containers."""

import shutil

import yaml

from deploytest import DEPLOY, DeployTest, main


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
        folder = self.folder()
        shutil.copytree(DEPLOY / "kubernetes", folder / "base")
        text = (folder / "base/kustomization.yaml").read_text()
        (folder / "base/kustomization.yaml").write_text(text + "components: [device-plugin]\n")
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


if __name__ == "__main__":
    main()
