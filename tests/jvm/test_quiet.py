"""What the target's own output shows of a visit: nothing, but the JDK's own warning from 21 on."""
import pytest

WARNED = [21, 25]


@pytest.mark.parametrize("jdk", [11, 17, *WARNED])
def test_only_the_jdk_itself_speaks(target, sparkprof, jdk):
    t = target("Idle", jdk=jdk)
    assert sparkprof("status", t.pid).returncode == 0
    assert sparkprof("status", t.pid).returncode == 0
    assert t.stdout() == "ready\n"
    lines = t.stderr().splitlines()
    if jdk in WARNED:
        assert len(lines) <= 4 and all(line.startswith("WARNING: ") for line in lines), lines
        assert "dynamically" in lines[0]
    else:
        assert lines == []


@pytest.mark.parametrize("jdk", WARNED)
def test_not_even_that_where_dynamic_loading_is_allowed(target, sparkprof, jdk):
    t = target("Idle", jdk=jdk, jvm=["-XX:+EnableDynamicAgentLoading"])
    assert sparkprof("status", t.pid).returncode == 0
    assert t.stdout() == "ready\n" and t.stderr() == ""
