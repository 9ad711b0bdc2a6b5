"""Processes that the agent must not be loaded into are named for what they are, and nothing is sent to them."""
import subprocess

from kit import strangers


def refused(sparkprof, pid, *words):
    r = sparkprof("status", pid)
    assert r.returncode == 3, r.stdout + r.stderr
    assert r.stderr.count("\n") == 1
    for w in words:
        assert w.lower() in r.stderr.lower(), r.stderr


def test_real_jdk_8(sparkprof):
    with strangers.jdk8() as p:
        refused(sparkprof, p.pid, "JDK 8")
        assert p.alive() and p.stdout() == "ready\n" and p.stderr() == ""


def test_real_aarch64_jvm_under_qemu(sparkprof):
    with strangers.aarch64() as p:
        refused(sparkprof, p.pid, "aarch64")
        assert p.alive() and p.stdout() == "ready\n" and p.stderr() == ""


def test_real_native_image_program(sparkprof):
    with strangers.native_image() as p:
        refused(sparkprof, p.pid, "native image")
        assert p.alive()


def test_fake_jvm_on_musl(sparkprof, tmp_path):
    with strangers.fake_musl(tmp_path) as p:
        refused(sparkprof, p.pid, "musl")
        assert p.alive() and p.stdout() == "ready\n"


def test_fake_openj9(sparkprof, tmp_path):
    with strangers.fake_openj9(tmp_path) as p:
        refused(sparkprof, p.pid, "OpenJ9")
        assert p.alive() and p.stdout() == "ready\n"


def test_no_jvm_at_all(sparkprof):
    p = subprocess.Popen(["sleep", "60"])
    try:
        refused(sparkprof, p.pid, "not a JVM")
        assert p.poll() is None
    finally:
        p.kill()
        p.wait()
