"""kernel.yama.ptrace_scope above 0, as on Debian, Ubuntu and in most pods: in a kernel that has it, since this machine's may not."""
import re

import pytest

from kit import jvm, parts, uml

SCRIPT = """
as="setpriv --reuid 65534 --regid 65534 --clear-groups"
scope() { echo $1 >/proc/sys/kernel/yama/ptrace_scope; echo; echo "== $1"; }
record() { $as build/sparkprof -e cpu -i 10ms -d $1 --python=on --all-threads -f /tmp/$2.jfr -f /tmp/$2.collapsed $jvm 2>&1 | cat; echo "exit ${PIPESTATUS[0]}"; cat /tmp/$2.collapsed; }
$as """ + "{java} -XX:+UseSerialGC -Xmx64m -cp build/targets Parent /usr/bin/python3 tests/python/targets/work.py 1" + """ >/tmp/out 2>&1 &
jvm=$!
until grep -q ready /tmp/out; do sleep 0.1; done
child=$(cat /proc/$jvm/task/*/children)
scope 1
$as build/sparkprof -e wall -d 1 -f /tmp/x.jfr $child; echo "exit $?"
record 3 one
$as build/sparkprof report -f - /tmp/one.jfr | tr -s '\\n ' ' '
$as build/sparkprof stack $jvm
scope 2
record 2 two
scope 0
$as build/sparkprof stack $child; echo "exit $?"
"""
FROM_THE_START = """
echo 1 >/proc/sys/kernel/yama/ptrace_scope
as="setpriv --reuid 65534 --regid 65534 --clear-groups"
$as {java} -XX:+UseSerialGC -Xmx64m -agentpath:build/libsparkprof.so=start,event=cpu,interval=10ms,python=on,file=/tmp/own.jfr -cp build/targets \\
    Parent /usr/bin/python3 tests/python/targets/work.py >/tmp/out 2>&1 &
until $as build/sparkprof report -q -o collapsed --all-threads /tmp/own.jfr 2>/tmp/said | grep "c (work.py);burn"; do sleep 0.5; done
cat /tmp/out /tmp/said
"""
REFUSED = "the kernel does not let this user read its memory: run as root, in a pod with the capability SYS_PTRACE, or set kernel.yama.ptrace_scope to 0"


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """{scope: what was printed in it}"""
    jvm.compiled()
    text = uml.run(tmp_path_factory.mktemp("uml"), SCRIPT.replace("{java}", str(parts.jdk(17) / "bin/java")))
    return dict(re.findall(r"^== (\d)\n(.*?)(?=^== |\Z)", text, re.M | re.S)), text


def test_its_own_user_is_refused_in_one_line(said):
    scopes, text = said
    assert re.match(rf"sparkprof: pid \d+: {REFUSED}\nexit 3\n", scopes["1"]), text


def test_the_jvm_that_started_them_reads_them_for_us(said):
    """Where a stranger of the same user may not, an ancestor may: the agent does."""
    scopes, text = said
    lines = re.findall(r"^<module> \(work\.py\);main \(work\.py\);[abc] \(work\.py\);burn \(work\.py\) (\d+)$", scopes["1"], re.M)
    assert len(lines) == 3 and sum(map(int, lines)) > 20, text
    assert scopes["1"].count("exit 0") == 1 and "was not sampled" not in scopes["1"], text


def test_stack_sees_them_too(said):
    """This kernel does not tell what system calls threads are in, so that it shows no thread of the JVM."""
    scopes, text = said
    shown = scopes["1"].partition("From the top down")[2]
    assert re.search(r"^python3\.11-\d+, Python 3\.11.*\n  thread \d+, running.*\n    burn \(.*work\.py:\d+\)$", shown, re.M), text


def test_where_nobody_may_it_is_said_and_the_jvm_goes_on(said):
    scopes, text = said
    assert scopes["2"].count("was not sampled: " + REFUSED) == 1 and "exit 0" in scopes["2"] and "work.py" not in scopes["2"], text


def test_without_it_all_is_well(said):
    scopes, text = said
    assert "main (" in scopes["0"] and "exit 0" in scopes["0"], text


@pytest.mark.long  # a Linux of its own once more; collect has the agent read them, too
def test_from_the_start_of_a_jvm(tmp_path):
    jvm.compiled()
    text = uml.run(tmp_path, FROM_THE_START.replace("{java}", str(parts.jdk(17) / "bin/java")))
    assert re.search(r"^<module> \(work\.py\);main \(work\.py\);c \(work\.py\);burn \(work\.py\) \d+$", text, re.M), text
    assert "was not sampled" not in text, text
