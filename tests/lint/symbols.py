"""What the finished files need. The agent: nothing above GLIBC_2.17 and nothing but libc's own libraries. The
launcher: static, and without the functions that load NSS modules. Arguments: the agent, then launchers of which
the first that exists is looked at."""
import os
import re
import subprocess
import sys

from lint import end

LIBC = {"libc.so.6", "libpthread.so.0", "libdl.so.2", "libm.so.6", "librt.so.1", "ld-linux-x86-64.so.2"}
NEWEST = (2, 17)
NSS = re.compile(r"(getpw|getgr(nam|gid|ent|ouplist)|getaddrinfo|gethostby|getserv|getnetby|getproto)")
findings = []


def readelf(*args):
    return subprocess.run(["readelf", "-W", *args], check=True, capture_output=True, text=True).stdout


def check_agent(path):
    for lib in re.findall(r"NEEDED.*\[(.*)\]", readelf("-d", path)):
        if lib not in LIBC:
            findings.append(f"{path}: needs {lib}")
    versions = re.findall(r" (\w+)@+GLIBC_([\d.]+|PRIVATE)", readelf("--dyn-syms", path))
    if not versions:
        findings.append(f"{path}: no symbol versions found; is it the agent?")
    for symbol, version in versions:
        if version == "PRIVATE" or tuple(map(int, version.split("."))) > NEWEST:
            findings.append(f"{path}: {symbol} needs GLIBC_{version}; bind an older one in agent/host/glibc217.h")
    for number in re.findall(r"Name: GLIBC_([\d.]+)", readelf("-V", path)):
        if tuple(map(int, number.split("."))) > NEWEST:
            findings.append(f"{path}: needs GLIBC_{number}")


def check_launcher(path):
    if "INTERP" in readelf("-l", path) or "NEEDED" in readelf("-d", path):
        findings.append(f"{path}: is not static")
    symbols = re.findall(r"FUNC\s+\S+\s+\S+\s+\d+ (\S+)", readelf("-s", path))
    if not symbols:
        findings.append(f"{path}: has no symbol table to look at")
    for name in sorted(set(symbols)):
        if NSS.match(name):
            findings.append(f"{path}: holds {name}, which loads NSS modules at run time")


check_agent(sys.argv[1])
launchers = [p for p in sys.argv[2:] if os.path.exists(p)]
if launchers:
    check_launcher(launchers[0])
elif not findings:
    print("no static launcher has been built; ./build.sh build makes one")
    sys.exit(77)
end(findings)
