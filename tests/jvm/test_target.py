import pytest


@pytest.mark.parametrize("jdk", [17])
def test_target_starts_and_ends(target, jdk):
    t = target("Idle", jdk=jdk)
    assert t.alive()
