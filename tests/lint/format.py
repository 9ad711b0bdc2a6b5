"""clang-format agrees with every C source."""
import subprocess

from lint import PRODUCT, ROOT, end, files

r = subprocess.run(["clang-format", "--dry-run", *files(*PRODUCT, "tests")], capture_output=True, text=True, cwd=ROOT)
end([line.replace(str(ROOT) + "/", "") for line in r.stderr.splitlines() if "-Wclang-format-violations" in line])
