"""The agent, inside the launcher and as a file of its own: the one that was built, without what only a debugger needs."""
import re
import subprocess

from kit import parts


def test_it_has_the_same_build_id_and_no_debug_information():
    launcher = parts.SPARKPROF.read_bytes()
    notes = subprocess.run(["readelf", "-n", parts.ROOT / "build/libsparkprof.so"], capture_output=True, text=True, check=True)
    assert bytes.fromhex(re.search(r"Build ID: (\w+)", notes.stdout)[1]) in launcher
    assert b".debug_info" not in launcher


def test_the_library_is_small_and_its_symbols_lie_beside_it():
    library = parts.ROOT / "build/libsparkprof.so"
    sections = subprocess.run(["readelf", "-SW", library], capture_output=True, text=True, check=True).stdout
    assert library.stat().st_size <= 600_000  # of these some 45,000 to read Python
    assert ".symtab" not in sections and ".gnu_debuglink" in sections
    symbols = subprocess.run(["readelf", "-sW", f"{library}.debug"], capture_output=True, text=True, check=True).stdout
    assert "sp_collector_start" in symbols
