"""The agent inside the launcher: the one that was built, without what only a debugger needs."""
import re
import subprocess

from kit import parts


def test_it_has_the_same_build_id_and_no_debug_information():
    launcher = parts.SPARKPROF.read_bytes()
    notes = subprocess.run(["readelf", "-n", parts.ROOT / "build/libsparkprof.so"], capture_output=True, text=True, check=True)
    assert bytes.fromhex(re.search(r"Build ID: (\w+)", notes.stdout)[1]) in launcher
    assert b".debug_info" not in launcher
