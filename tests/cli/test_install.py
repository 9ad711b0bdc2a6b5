"""meson install puts everything where a packager expects it."""
import os
import subprocess

from kit import parts


def test_install(tmp_path):
    subprocess.run(["meson", "install", "-C", parts.ROOT / "build/release", "--no-rebuild", "--quiet", "--destdir", tmp_path],
                   check=True, stdout=subprocess.DEVNULL)
    found = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()}
    share = "usr/local/share/"
    assert {"usr/local/bin/sparkprof", share + "man/man1/sparkprof.1", share + "man/man7/sparkprof-bench.7", share + "bash-completion/completions/sparkprof",
            share + "zsh/site-functions/_sparkprof", share + "fish/vendor_completions.d/sparkprof.fish"} <= found
    assert any(f.endswith("/sparkprof/libsparkprof.so") for f in found)
    page = (tmp_path / share / "man/man1/sparkprof.1").read_text()
    assert ".TH" in page and "--attach-timeout" in page.replace("\\-", "-")
    assert os.access(tmp_path / "usr/local/bin/sparkprof", os.X_OK)
