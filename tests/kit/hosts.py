"""Hosts with sshd: namespaces of network, processes, mounts and names on this machine, behind a bridge of their own. Needs root."""
import os
import pathlib
import subprocess
import time

import pytest

from . import jvm, parts
from .recording import Recording

PACKAGES = ["openssh-server", "libwrap0", "libnsl2", "libtirpc3"]
LIB = "usr/lib/x86_64-linux-gnu"


def programs():
    """Debian's packages, unpacked and not installed: an installed sshd would be a service of this machine."""
    return parts.debian("openssh", PACKAGES)


def needed():
    if os.geteuid() != 0:
        pytest.skip("hosts with sshd need root")


# The tree may lie below /tmp, which is another one in there, as is the user that sshd becomes.
INIT = """hostname {name}; cd '{tree}'
mount -t tmpfs -o mode=1777 none /tmp; mount -t tmpfs none /run; mount -t tmpfs none /var/tmp; mount -t tmpfs none /dev/shm; mkdir /run/sshd
[ -e '{tree}' ] || {{ mkdir -p '{tree}'; mount -c --bind . '{tree}'; }}
for f in .bashrc .profile .bash_profile; do [ ! -e /root/$f ] || mount --bind /dev/null /root/$f; done # another machine's root
(cat /etc/passwd; echo 'sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin') >/run/passwd; mount --bind /run/passwd /etc/passwd
(umask 077; printf '%s' "$HOST_KEY" >/run/sshd/hostkey; printf '%s' "$USER_KEY" >/run/sshd/keys)
exec env LD_LIBRARY_PATH={root}/{lib}:{root}/lib/x86_64-linux-gnu {root}/usr/sbin/sshd -D -e -f /dev/null -h /run/sshd/hostkey -o PidFile=none -o PasswordAuthentication=no -o UsePAM=no \
    -o PermitRootLogin=prohibit-password -o AuthorizedKeysFile=/run/sshd/keys -o StrictModes=no"""


def run(*words, **more):
    return subprocess.run([*map(str, words)], check=True, **more)


class Host:
    """One of them. Its address is what --hosts takes."""

    def __init__(self, hosts, number):
        self.hosts, self.name, self.address = hosts, f"h{number}", f"10.77.0.{10 + number}"
        self.net, veth = f"{hosts.switch}{self.name}", f"v{number}"
        run("ip", "netns", "add", self.net)
        run("ip", "-n", hosts.switch, "link", "add", veth, "type", "veth", "peer", "name", "eth0", "netns", self.net)
        run("ip", "-n", hosts.switch, "link", "set", veth, "master", "br0", "up")
        self.veth = veth
        run("ip", "-n", self.net, "addr", "add", f"{self.address}/24", "dev", "eth0")
        for dev in ("eth0", "lo"):
            run("ip", "-n", self.net, "link", "set", dev, "up")
        self.log = open(hosts.dir / f"{self.name}.log", "w+")
        env = {**os.environ, "HOST_KEY": (hosts.dir / "hostkey").read_text(), "USER_KEY": (hosts.dir / "key.pub").read_text()}
        self.proc = subprocess.Popen(["ip", "netns", "exec", self.net, "unshare", "-u", "-m", "-p", "-f", "--mount-proc", "--kill-child", "sh", "-c",
                                      INIT.format(name=self.name, root=programs(), lib=LIB, tree=parts.ROOT)], env=env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def inside(self):
        """Words before a command that is to run in there."""
        child = pathlib.Path(f"/proc/{self.proc.pid}/task/{self.proc.pid}/children").read_text().split()[0]
        return ["nsenter", "-t", child, "-m", "-p", "-n", "-u", "--"]

    def run(self, *words, **more):
        return subprocess.run([*self.inside(), *map(str, words)], capture_output=True, text=True, timeout=300, **more)

    def executor(self, number, app="app-20261119000000-0001", busy=True):
        """A JVM with the command line of an executor, whose tasks run where it is busy."""
        t = jvm.Target("org.apache.spark.executor.CoarseGrainedExecutorBackend", "--driver-url", "spark://x@10.77.0.1:1", "--executor-id", number,
                       "--hostname", self.name, "--cores", 1, "--app-id", app, wrap=self.inside())
        if busy:
            t.send("")
        return t

    def left(self):
        """What of ours is there: files, and processes of the launcher."""
        files = self.run("sh", "-c", "ls -A /tmp /var/tmp /dev/shm /root").stdout
        names = self.run("sh", "-c", "cat /proc/[0-9]*/comm").stdout
        return [f for f in files.split() if "sparkprof" in f] + [n for n in names.split() if "sparkprof" in n]

    def end(self):
        self.proc.kill()
        self.proc.wait()
        self.log.close()
        subprocess.run(["ip", "netns", "del", self.net], stderr=subprocess.DEVNULL)


class Hosts:
    def __init__(self, directory, count=2):
        self.dir, self.switch, self.list = pathlib.Path(directory), f"sp{os.getpid()}", []
        for key in ("key", "hostkey"):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.dir / key)
        run("ip", "netns", "add", self.switch)
        try:
            run("ip", "-n", self.switch, "link", "set", "lo", "up")
            run("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge")
            run("ip", "-n", self.switch, "addr", "add", "10.77.0.1/24", "dev", "br0")
            run("ip", "-n", self.switch, "link", "set", "br0", "up")
            self.list = [Host(self, i + 1) for i in range(count)]
            for host in self.list:
                self.wait_for(host)
        except BaseException:
            self.end()
            raise

    @property
    def ssh_options(self):
        return [w for o in (f"IdentityFile={self.dir}/key", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR")
                for w in ("--ssh-option", o)]

    @property
    def names(self):
        return ",".join(h.address for h in self.list)

    def wait_for(self, host):
        end = time.monotonic() + 200
        words = ["ssh", "-i", self.dir / "key", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes", f"root@{host.address}"]
        while subprocess.run(["ip", "netns", "exec", self.switch, *map(str, words), "true"], stderr=subprocess.DEVNULL).returncode:
            assert time.monotonic() < end, (self.dir / f"{host.name}.log").read_text()
            time.sleep(0.1)

    def popen(self, *words, hosts=None, **more):
        """The launcher on the switch: --via ssh and what ssh needs are put behind the action."""
        action, *rest = map(str, words)
        return subprocess.Popen(["ip", "netns", "exec", self.switch, parts.SPARKPROF, action, "--via", "ssh", "--hosts", hosts or self.names,
                                 "--user", "root", *self.ssh_options, *rest], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def sparkprof(self, *words, timeout=200, **more):
        p = self.popen(*words, **more)
        out, err = p.communicate(timeout=timeout)
        return subprocess.CompletedProcess(p.args, p.returncode, out, err)

    def end(self):
        for host in self.list:
            host.end()
        subprocess.run(["ip", "netns", "del", self.switch], stderr=subprocess.DEVNULL)


HERE = r'''#!/bin/sh
# Stands in for ssh: the host is this one. Once the program is there, somebody else replaces it by his own.
for last; do :; done
m=${last#*m=}; export THERE=/tmp/.${m%%;*} PATH="${0%/*}/there:$PATH"
exec {shell} -c "$last"
'''


def here(directory, ssh=HERE.replace("{shell}", "sh")):
    """What a call needs for its only host to be this one."""
    (directory / "ssh").write_text(ssh)
    (directory / "ssh").chmod(0o755)
    return {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}


def in_tasks(file):
    """How many samples of @file are of tasks."""
    return sum(any(f.startswith("org.apache.spark.OneStage.task ") for f in s.stack) for s in Recording(file).samples)
