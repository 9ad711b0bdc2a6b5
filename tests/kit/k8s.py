"""A real Kubernetes of one node on this machine: etcd, kube-apiserver, containerd and a kubelet, all in namespaces of their own, so that ending one
process ends them and their pods. `python tests/kit/k8s.py` builds what Debian does not have, once, into SPARKPROF_PARTS/k8s: kube-apiserver, kubelet
and kubectl from Go's module proxy. That takes 10 minutes and more; ./build.sh test-k8s does it.

    with k8s.Cluster(directory) as cluster:
        cluster.kubectl("get", "pods")
        cluster.sparkprof("ps", "-n", "spark")
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from kit import jvm, parts, rootfs  # noqa: E402

VERSION = "1.33.1"
HOME = parts.PARTS / "k8s"
PROGRAMS = ["kubectl", "kube-apiserver", "kubelet"]
ADDRESS = "10.77.0.1"
SOCKET = "/run/containerd.sock"
NO_SHELL = ["sh", "dash", "bash", "rbash", "busybox"]


def build():
    """The programs, from the module proxy: a module of our own that requires Kubernetes and replaces its staging modules."""
    home = HOME / "build"
    (HOME / "bin").mkdir(parents=True, exist_ok=True)
    home.mkdir(exist_ok=True)
    env = {**os.environ, "GOPATH": str(home / "go"), "GOCACHE": str(home / "cache"), "GOFLAGS": "-modcacherw -buildvcs=false", "CGO_ENABLED": "0"}

    def go(*words, **more):
        return subprocess.run(["go", *words], cwd=home, env=env, check=True, text=True, **more)
    (home / "go.mod").write_text("module x\n")
    mod = pathlib.Path(json.loads(go("mod", "download", "-json", f"k8s.io/kubernetes@v{VERSION}", stdout=subprocess.PIPE).stdout)["GoMod"]).read_text()
    staging = sorted(set(re.findall(r"(k8s\.io/[a-z-]+) =>", mod)))
    (home / "go.mod").write_text("\n".join([
        "module x", *re.findall(r"^(?:go|godebug) .*$", mod, re.M), f"require k8s.io/kubernetes v{VERSION}", "replace (",
        *(f"{m} => {m} v0.{VERSION[2:]}" for m in staging), ")\n"]))
    imports = "\n".join(f'\t_ "k8s.io/kubernetes/cmd/{p}"' for p in PROGRAMS)
    (home / "tools.go").write_text(f"//go:build tools\n\npackage x\n\nimport (\n{imports}\n)\n")
    go("mod", "tidy")
    version = " ".join(f"-X k8s.io/component-base/version.{k}={v}" for k, v in
                       {"gitVersion": f"v{VERSION}", "gitMajor": "1", "gitMinor": VERSION.split(".")[1]}.items())
    for program in PROGRAMS:
        print(f"building {program}", file=sys.stderr, flush=True)
        go("build", "-ldflags", f"-s -w {version}", "-o", str(HOME / "bin") + "/", f"k8s.io/kubernetes/cmd/{program}")
    shutil.rmtree(home)


def needed():
    parts.needs_root("start a kubelet")
    if not all((HOME / "bin" / p).exists() for p in PROGRAMS):
        pytest.skip("no Kubernetes here: ./build.sh test-k8s builds it")


def debian():
    """etcd, containerd and its network plugins: unpacked, no services of this machine."""
    return parts.debian("k8s-debian", ["etcd-server", "containerd", "containernetworking-plugins"])


# ---- images, without a registry

def layer(path, root=None, without=()):
    with open(path, "wb") as out:
        if root:
            skipped = [f"--exclude=./{d}" for d in ("proc/*", "sys/*", "usr/share/doc", "usr/share/man", "usr/share/locale", "var/cache")]
            subprocess.run(["tar", "-C", root, "--one-file-system", *skipped, "-c", "."], stdout=out, check=True)
        else:
            with tarfile.open(fileobj=out, mode="w") as tar:
                for name in without:  # takes it away from the layers below
                    tar.addfile(tarfile.TarInfo(f"usr/bin/.wh.{name}"))
    return path


def image(path, tag, layers, command):
    """An archive as `docker save` writes it."""
    def sha(file):
        with open(file, "rb") as f:
            return hashlib.file_digest(f, "sha256").hexdigest()
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Entrypoint": command, "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"]},
                         "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha(f)}" for f in layers]}})
    directory = path.parent
    (directory / "config.json").write_text(config)
    (directory / "manifest.json").write_text(json.dumps([{"Config": "config.json", "RepoTags": [tag], "Layers": [f.name for f in layers]}]))
    with tarfile.open(path, "w") as tar:
        for name in ("config.json", "manifest.json", *[f.name for f in layers]):
            tar.add(directory / name, name)


def images():
    """Archives of the images: one that waits, a JVM's, the same without a shell."""
    def make(tmp):
        (tmp / "pause.c").write_text("#include <unistd.h>\nint main(void) { for (;;) pause(); }\n")
        (tmp / "rootfs").mkdir()
        subprocess.run(["gcc", "-static", "-Os", "-o", tmp / "rootfs/pause", tmp / "pause.c"], check=True)
        image(tmp / "pause.tar", "localhost/pause:1", [layer(tmp / "pause.layer", tmp / "rootfs")], ["/pause"])
        base = layer(tmp / "jvm.layer", rootfs.pod())
        image(tmp / "jvm.tar", "localhost/jvm:1", [base], ["sleep"])
        image(tmp / "bare.tar", "localhost/bare:1", [base, layer(tmp / "bare.layer", without=NO_SHELL)], ["sleep"])
        for file in tmp.glob("*.layer"):
            file.unlink()
    return parts._once("k8s-images", make)


INIT = """set -e
mount -t tmpfs none /run
ip link set lo up; ip link add node0 type bridge; ip addr add {address}/24 dev node0; ip link set node0 up
cd {dir}
{bin}/etcd --data-dir etcd --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \\
    --listen-peer-urls http://127.0.0.1:2380 >etcd.log 2>&1 &
{own}/kube-apiserver --etcd-servers=http://127.0.0.1:2379 --cert-dir=certs --secure-port=6443 --bind-address={address} --advertise-address={address} \\
    --service-cluster-ip-range=10.96.0.0/24 --service-account-issuer=https://kubernetes.default --service-account-key-file=sa.key \\
    --service-account-signing-key-file=sa.key --authorization-mode=RBAC --token-auth-file=tokens.csv --disable-admission-plugins=ServiceAccount \\
    --allow-privileged=true --kubelet-preferred-address-types=InternalIP >apiserver.log 2>&1 &
PATH={bin}:$PATH {bin}/containerd -c containerd.toml >containerd.log 2>&1 &
touch ready
wait
"""

CONTAINERD = """version = 2
root = "{home}/containerd"
state = "/run/containerd"
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  tolerate_missing_hugetlb_controller = true
  disable_hugetlb_controller = true
  sandbox_image = "localhost/pause:1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{dir}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
"""

KUBELET = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
           "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}}, "authorization": {"mode": "AlwaysAllow"},
           "cgroupDriver": "cgroupfs", "cgroupsPerQOS": False, "enforceNodeAllocatable": [], "failSwapOn": False,
           "containerRuntimeEndpoint": f"unix://{SOCKET}", "resolvConf": "", "evictionHard": {}, "imageGCHighThresholdPercent": 100}


class Cluster:
    def __init__(self, directory):
        self.dir, self.kubelet = pathlib.Path(directory), None
        self.bin = debian() / "usr/bin"
        self.own = HOME / "bin"
        self.images = images()
        for name in ("etcd", "certs", "cni", "kubelet"):
            (self.dir / name).mkdir(mode=0o700)
        self._configure()
        self.log = open(self.dir / "init.log", "w+")
        self.proc = subprocess.Popen(["unshare", "-m", "-n", "-p", "-f", "--mount-proc", "--kill-child", "sh", "-c",
                                      INIT.format(address=ADDRESS, dir=self.dir, bin=self.bin, own=self.own)],
                                     stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _configure(self):
        plugins = debian() / "usr/lib/cni"
        (self.dir / "containerd.toml").write_text(CONTAINERD.format(home=HOME, socket=SOCKET, plugins=plugins, dir=self.dir))
        (self.dir / "kubelet.json").write_text(json.dumps(KUBELET))
        (self.dir / "cni/10.conflist").write_text(json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [
            {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipam": {"type": "host-local", "dataDir": "/run/cni-ipam", "subnet": "10.88.0.0/24",
                                                                            "routes": [{"dst": "0.0.0.0/0"}]}}]}))
        (self.dir / "tokens.csv").write_text('admin-token,admin,1,"system:masters"\nreader-token,reader,2\neve-token,eve,3\n')
        subprocess.run(["openssl", "genrsa", "-out", self.dir / "sa.key", "2048"], check=True, capture_output=True)
        cluster = {"server": f"https://{ADDRESS}:6443", "insecure-skip-tls-verify": True}
        users = ("admin", "reader", "eve")
        (self.dir / "config").write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "admin", "clusters": [
                {"name": "c", "cluster": cluster}, {"name": "gone", "cluster": {**cluster, "server": f"https://{ADDRESS}:1"}}],
            "users": [{"name": u, "user": {"token": f"{u}-token"}} for u in users],
            "contexts": [*({"name": u, "context": {"cluster": "c", "user": u}} for u in users), {"name": "gone", "context": {"cluster": "gone", "user": "admin"}}]}))

    def inside(self):
        child = pathlib.Path(f"/proc/{self.proc.pid}/task/{self.proc.pid}/children").read_text().split()[0]
        return ["nsenter", "-t", child, "-m", "-n", "-p", "--"]

    def wait(self, happened, what, timeout=300):
        end = time.monotonic() + timeout
        while not happened():
            if self.proc.poll() is not None or time.monotonic() > end:
                logs = "".join(f"== {f.name}\n{f.read_text(errors='replace')[-1500:]}\n" for f in self.dir.glob("*.log"))
                raise RuntimeError(f"{what}: not there in time; exit {self.proc.poll()}\n{logs}")
            time.sleep(0.2)

    def _ctr(self, *words):
        return subprocess.run([*self.inside(), self.bin / "ctr", "-a", SOCKET, "-n", "k8s.io", *words], capture_output=True, text=True)

    def _begin(self):
        self.wait((self.dir / "ready").exists, "namespaces")
        self.wait(lambda: self._ctr("version").returncode == 0, "containerd")
        there = self._ctr("images", "ls", "-q").stdout.split()
        for name in ("pause", "jvm", "bare"):
            if f"localhost/{name}:1" not in there:
                r = self._ctr("images", "import", str(self.images / f"{name}.tar"))
                assert r.returncode == 0, r.stderr
        self.wait(lambda: self.kubectl("get", "--raw", "/readyz").stdout == "ok", "API server")
        with open(self.dir / "kubelet.log", "w") as log:
            self.kubelet = subprocess.Popen(
                [*self.inside(), "env", f"PATH={self.bin}:{os.environ['PATH']}", self.own / "kubelet", f"--config={self.dir}/kubelet.json",
                 f"--kubeconfig={self.dir}/config", "--hostname-override=node0", f"--node-ip={ADDRESS}", f"--cert-dir={self.dir}/certs",
                 f"--root-dir={self.dir}/kubelet"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.wait(lambda: "True" in self.kubectl("get", "node", "node0", "-o", "jsonpath={.status.conditions[?(@.type=='Ready')].status}").stdout, "node")
        self.kubectl("create", "namespace", "spark", check=True)
        for name, rules in {"reader": ["--verb=get,list", "--resource=pods"]}.items():
            self.kubectl("-n", "spark", "create", "role", name, *rules, check=True)
            self.kubectl("-n", "spark", "create", "rolebinding", name, f"--role={name}", f"--user={name}", check=True)

    def env(self):
        return {**os.environ, "KUBECONFIG": str(self.dir / "config"), "PATH": f"{self.own}:{os.environ['PATH']}", "HOME": str(self.dir)}

    def kubectl(self, *words, check=False, **more):
        r = subprocess.run([*self.inside(), self.own / "kubectl", *map(str, words)], env=self.env(), capture_output=True, text=True, timeout=300, **more)
        assert not check or r.returncode == 0, r.stderr
        return r

    def popen(self, action, *words):
        return subprocess.Popen([*self.inside(), parts.SPARKPROF, action, "--via", "kubectl", *map(str, words)], env=self.env(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def sparkprof(self, *words, timeout=300):
        p = self.popen(*words)
        out, err = p.communicate(timeout=timeout)
        return subprocess.CompletedProcess(p.args, p.returncode, out, err)

    def run(self, name, app, number, image="localhost/jvm:1", labels=None, read_only=False):
        """A pod as Spark makes it for an executor, with a JVM that looks like one: uid 185, no capabilities, the runtime's own seccomp filter;
        @read_only: a root that is so, with an emptyDir for /tmp."""
        java = rootfs.java(rootfs.pod())
        main = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
        args = ["-cp", "/classes", main, "--driver-url", "spark://x@10.1.1.1:1", "--executor-id", str(number), "--hostname", name, "--cores", "1", "--app-id", app]
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "spark", "labels": {
            "spark-role": "executor", "spark-app-selector": app, "spark-exec-id": str(number), **(labels or {})}}, "spec": {
                "nodeName": "node0", "automountServiceAccountToken": False, "enableServiceLinks": False, "restartPolicy": "Never",
                "terminationGracePeriodSeconds": 1,
                "securityContext": {"runAsUser": 185, "runAsGroup": 185, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{"name": "spark-kubernetes-executor", "image": image, "imagePullPolicy": "Never", "command": [java, "-XX:+UseSerialGC", "-Xmx64m"],
                                "args": args, "securityContext": {"readOnlyRootFilesystem": read_only, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                                "volumeMounts": [*([{"name": "tmp", "mountPath": "/tmp"}] if read_only else []), {"name": "classes", "mountPath": "/classes", "readOnly": True}]}],
                "volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "classes", "hostPath": {"path": str(jvm.compiled())}}]}}
        self.kubectl("create", "-f", "-", input=json.dumps(pod), check=True)

    def wait_running(self, *names):
        """Until the JVMs print what their tasks print."""
        for name in names:
            self.wait(lambda: "task 0" in self.kubectl("-n", "spark", "logs", name).stdout, f"pod {name}")

    def close(self):
        if self.kubelet:
            self.kubelet.terminate()
            self.kubelet.wait()
        self.proc.kill()
        self.proc.wait()
        self.log.close()
        self._drop_cgroups()

    def _drop_cgroups(self):
        """Those of its pods, at the top of each hierarchy. The last processes end a little after their namespace."""
        end = time.monotonic() + 60
        while (tops := list(pathlib.Path("/sys/fs/cgroup").glob("*/k8s.io"))) and time.monotonic() < end:
            for top in tops:
                for directory, _, _ in os.walk(top, topdown=False):
                    try:
                        os.rmdir(directory)
                    except OSError:
                        pass
            time.sleep(0.2)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


if __name__ == "__main__":
    if not all((HOME / "bin" / p).exists() for p in PROGRAMS):
        build()
