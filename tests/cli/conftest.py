import pytest

from kit import peers


@pytest.fixture(scope="session")
def recordings(tmp_path_factory):
    """cpu with allocations and locks, and wall, of the same program."""
    tmp = tmp_path_factory.mktemp("recordings")
    peers.recording(tmp / "cpu.jfr", "event=cpu,interval=1ms,alloc=64k,lock=1us", "Mixture", 3)
    peers.recording(tmp / "wall.jfr", "event=wall,interval=2ms", "Mixture", 3)
    return tmp
