"""A real containerd with pods, as the kubelet makes them through the Container Runtime Interface.

The image has one program, which waits. curl and protoc send the requests of the interface."""

import hashlib
import json
import os
import pathlib
import struct
import subprocess
import tarfile
import time

IMAGE = "localhost/pause:1"
SETTINGS = """version = 2
root = "{folder}/root"
state = "{folder}/state"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
  address = "{folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{image}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
"""
# Names and numbers of the interface (v1), of the fields that are sent
PROTO = """syntax = "proto3";
package runtime.v1;
enum NamespaceMode { POD = 0; CONTAINER = 1; NODE = 2; }
message NamespaceOption { NamespaceMode network = 1; NamespaceMode pid = 2; }
message LinuxSandboxSecurityContext { NamespaceOption namespace_options = 1; }
message LinuxPodSandboxConfig {
  string cgroup_parent = 1;
  LinuxSandboxSecurityContext security_context = 2;
}
message PodSandboxMetadata { string name = 1; string uid = 2; string namespace = 3; }
message PodSandboxConfig { PodSandboxMetadata metadata = 1; LinuxPodSandboxConfig linux = 8; }
message RunPodSandboxRequest { PodSandboxConfig config = 1; }
message RunPodSandboxResponse { string pod_sandbox_id = 1; }
message StopPodSandboxRequest { string pod_sandbox_id = 1; }
message StopPodSandboxResponse {}
"""
POD = """config {{
  metadata {{ name: "{name}" uid: "{uid}" namespace: "{space}" }}
  linux {{
    cgroup_parent: "/{parent}/pod{uid}"
    security_context {{ namespace_options {{ network: NODE pid: NODE }} }}
  }}
}}"""
PAUSE = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n"
GROUPS = pathlib.Path("/sys/fs/cgroup")
PARENT = "kubepods/burstable"  # As the kubelet names it


def obstacle():
    """Why no pod can be started, or None."""
    if os.geteuid():
        return "containerd needs root"
    places = [GROUPS] if (GROUPS / "cgroup.procs").exists() else [
        place for place in GROUPS.glob("*") if (place / "cgroup.procs").exists()]
    if not places:
        return f"{GROUPS} has no control groups"
    for place in places:
        try:
            (place / "fabric-test").mkdir()
            (place / "fabric-test").rmdir()
        except OSError as error:
            return f"cannot make a control group: {error}"
    return None


class Containerd:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.socket = self.folder / "containerd.sock"
        (self.folder / "config.toml").write_text(SETTINGS.format(folder=folder, image=IMAGE))
        (self.folder / "cri.proto").write_text(PROTO)
        with open(self.folder / "log", "wb") as log:
            # pylint: disable=consider-using-with
            self.process = subprocess.Popen(
                ["containerd", "-c", self.folder / "config.toml"], stdout=log, stderr=log)
        self.pods, self.uids = [], []
        try:
            self._await_server()
            self._ctr("-n", "k8s.io", "images", "import", "--snapshotter", "native", self._image())
        except BaseException:
            self.close()
            raise

    def _ctr(self, *words):
        return self._run("ctr", "-a", self.socket, *words)

    @staticmethod
    def _run(*words, **options):
        done = subprocess.run([str(word) for word in words], capture_output=True, timeout=60,
                              check=False, **options)
        if done.returncode:
            raise AssertionError(f"{words}: {done.stderr.decode(errors='replace')[-2000:]}")
        return done.stdout

    def _await_server(self):
        deadline = time.monotonic() + 60
        while True:
            try:
                self._ctr("version")
                return
            except AssertionError as error:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    log = (self.folder / "log").read_text(errors="replace")[-3000:]
                    raise AssertionError(f"containerd did not start:\n{log}") from error
                time.sleep(0.1)

    def _image(self):
        """An OCI archive with one program."""
        (self.folder / "pause.c").write_text(PAUSE)
        self._run("gcc", "-static", "-O1", self.folder / "pause.c", "-o", self.folder / "pause")
        layer = self.folder / "layer.tar"
        with tarfile.open(layer, "w") as tar:
            tar.add(self.folder / "pause", "pause")
        image = self.folder / "image"
        (image / "blobs/sha256").mkdir(parents=True)

        def blob(kind, data):
            digest = hashlib.sha256(data).hexdigest()
            (image / "blobs/sha256" / digest).write_bytes(data)
            return {"mediaType": f"application/vnd.oci.image.{kind}", "size": len(data),
                    "digest": f"sha256:{digest}"}

        first = blob("layer.v1.tar", layer.read_bytes())
        config = blob("config.v1+json", json.dumps(
            {"architecture": "amd64", "os": "linux", "config": {"Entrypoint": ["/pause"]},
             "rootfs": {"type": "layers", "diff_ids": [first["digest"]]}}).encode())
        manifest = blob("manifest.v1+json", json.dumps(
            {"schemaVersion": 2, "config": config, "layers": [first]}).encode())
        (image / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
        (image / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [
            manifest | {"annotations": {"io.containerd.image.name": IMAGE}}]}))
        archive = self.folder / "image.tar"
        with tarfile.open(archive, "w") as tar:
            tar.add(image, ".")
        return archive

    def call(self, method, text):
        """A call of the interface, with a message as text. The answer as text."""
        schema = (f"--proto_path={self.folder}", self.folder / "cri.proto")
        message = self._run("protoc", f"--encode=runtime.v1.{method}Request", *schema,
                            input=text.encode())
        head, answer = self.folder / "head", self.folder / "answer"
        self._run("curl", "-sS", "--max-time", "50", "--http2-prior-knowledge", "--unix-socket",
                  self.socket, "-H", "content-type: application/grpc", "-H", "te: trailers",
                  "--data-binary", "@-", "-D", head, "-o", answer,
                  f"http://localhost/runtime.v1.RuntimeService/{method}",
                  input=b"\0" + struct.pack(">I", len(message)) + message)
        if "grpc-status: 0" not in head.read_text():
            raise AssertionError(f"{method}: {head.read_text()}")
        return self._run("protoc", f"--decode=runtime.v1.{method}Response", *schema,
                         input=answer.read_bytes()[5:]).decode()

    def run_pod(self, space, name, uid):
        """Returns the identifier of its sandbox."""
        made = self.call("RunPodSandbox", POD.format(
            space=space, name=name, uid=uid, parent=PARENT))
        self.uids.append(uid)
        self.pods.append(made.split('"')[1])
        return self.pods[-1]

    def stop_pod(self, sandbox):
        """As when a pod ends: its sandbox stays in the list, and is not ready."""
        self.call("StopPodSandbox", f'pod_sandbox_id: "{sandbox}"')
        self.pods.remove(sandbox)

    def close(self):
        try:
            for sandbox in list(self.pods):
                self.stop_pod(sandbox)
        finally:
            self.process.terminate()
            self.process.wait(30)
            for uid in self.uids:
                for place in (PARENT, f"*/{PARENT}"):
                    for group in GROUPS.glob(f"{place}/pod{uid}"):
                        group.rmdir()
