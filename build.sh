#!/usr/bin/env bash
# One command for each thing a person does with this tree; each may be run again at any time.
#   ./build.sh deps       install the Debian packages that building and testing need
#   ./build.sh build      build/sparkprof and build/libsparkprof.so
#   ./build.sh test       set up, build and run the tests (what CI runs); more words go to pytest
#   ./build.sh test-long  version matrices, long fuzzing, soaks: test-long [PART [pytest's options]], test-long help
#   ./build.sh test-k8s   --via kubectl with a real Kubernetes, which it builds once (10 minutes and more; needs Go and root)
#   ./build.sh demo       show it on a real Spark
#   ./build.sh bench      measure beside the peers: bench [NAME [ROUNDS|quick]]
#   ./build.sh dist       source archive and a release binary
set -euo pipefail
cd "$(dirname "$0")"

build_packages=(gcc g++ libc6-dev pkg-config meson ninja-build python3 python3-venv libelf-dev zlib1g-dev libunwind-dev liblzma-dev libzstd-dev scdoc git
    openjdk-17-jdk-headless)
test_packages=(libcriterion-dev clang-format clang-tidy bash-completion zsh fish
    bubblewrap podman runc mmdebstrap iproute2 procps unzip maven shellcheck binutils strace xz-utils tmux chromium libjemalloc2 openssh-client curl)
parts=${SPARKPROF_PARTS:-$PWD/build/parts}
export SPARKPROF_PARTS=$parts

say() { printf 'build.sh: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

missing_packages() {
    local p
    for p in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || echo "$p"
    done
}

install_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing Debian packages: ${missing[*]}"
    [ "$(id -u)" = 0 ] || die "not root: run 'sudo apt-get install ${missing[*]}' and try again"
    mkdir -p build
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"; } \
        >build/apt.log 2>&1 || { tail -5 build/apt.log >&2; die "apt-get failed; see build/apt.log"; }
}

# Python things live in a private venv; the stamp makes a second call free.
venv() {
    local want='pytest==8.4.2 pytest-timeout==2.4.0 pytest-xdist==3.8.0'
    if [ "$(cat build/venv/stamp 2>/dev/null)" != "$want" ]; then
        say "making the private Python environment build/venv"
        /usr/bin/python3 -m venv build/venv
        # shellcheck disable=SC2086
        build/venv/bin/pip install -q $want
        echo "$want" >build/venv/stamp
    fi
}

setup_dir() { # name, meson options…
    local dir=build/$1
    shift
    [ -f "$dir/build.ninja" ] || meson setup "$dir" "$@" >/dev/null
    ninja -C "$dir" --quiet
}

# With sanitizers. Optimised less and with line numbers alone it takes half the time to compile.
setup_dev() { setup_dir dev -Dwerror=true -Doptimization=1 -Dc_args=-g1 -Db_sanitize=address,undefined; }

build() {
    install_packages "${build_packages[@]}"
    setup_dir release --buildtype=release -Dtests=false
    install -m 755 build/release/launcher/sparkprof build/sparkprof
    strip build/sparkprof
    # Mapped in the JVM: without symbols a fifth of the size. A debugger finds them beside it.
    objcopy --only-keep-debug build/release/agent/libsparkprof.so build/libsparkprof.so.debug
    (cd build && strip -o libsparkprof.so.new release/agent/libsparkprof.so &&
        objcopy --add-gnu-debuglink=libsparkprof.so.debug libsparkprof.so.new && chmod 644 libsparkprof.so.* &&
        mv libsparkprof.so.new libsparkprof.so)
    say "build/sparkprof and build/libsparkprof.so are ready"
}

# node may come from elsewhere than Debian, and then npm with it
node_packages() { command -v npm >/dev/null || echo nodejs npm; }

# shellcheck disable=SC2046
cmd_deps() { install_packages "${build_packages[@]}" "${test_packages[@]}" $(node_packages); }
cmd_build() { build; }

# Unit and lint tests, the C code with sanitizers.
unit_tests() {
    local failed=0
    meson test -C build/dev --print-errorlogs || failed=1
    cp build/dev/meson-logs/testlog.junit.xml build/results/dev.xml
    # ThreadSanitizer for what runs outside a JVM: only the programs of the suite "threads".
    [ -f build/tsan/build.ninja ] || meson setup build/tsan -Db_sanitize=thread -Db_lundef=false >/dev/null
    ninja -C build/tsan --quiet tests/unit/ring-stress
    meson test -C build/tsan --no-rebuild --suite threads --print-errorlogs || failed=1
    cp build/tsan/meson-logs/testlog.junit.xml build/results/tsan.xml
    return $failed
}

# marker, name of the results, pytest's options…; no test chosen is no failure
run_pytest() {
    local marker=$1 results=$2 code=0
    shift 2
    build/venv/bin/python -m pytest tests -m "$marker" --junitxml="$results" "$@" || code=$?
    [ $code -le 1 ] || [ $code = 5 ] || say "pytest ended with $code: not all tests were run"
    [ $code = 0 ] || [ $code = 5 ]
}

# Tests wait most of their time: one file more than there are cores. Each may take a Spark's memory, so not more than eight.
files_at_once() { echo $(($(nproc) < 7 ? $(nproc) + 1 : 8)); }

cmd_test() {
    cmd_deps
    venv
    rm -rf build/results
    mkdir -p build/results
    local failed=0 fetching
    say "fetching what tests need and this machine has not, into $parts"
    build/venv/bin/python tests/kit/fetch.py &
    fetching=$!
    build
    setup_dev
    unit_tests || failed=1
    wait $fetching || say "some parts could not be looked for; tests that need them fetch them or are skipped"
    # A failing test fails the run: nothing is tried a second time.
    run_pytest 'not long and not alone' build/results/pytest.xml -n "$(files_at_once)" --dist loadfile --no-loadscope-reorder "$@" || failed=1
    run_pytest 'not long and alone' build/results/alone.xml "$@" || failed=1
    build/venv/bin/python tests/kit/summary.py build/results/*.xml || failed=1
    return $failed
}

cmd_test_long() { # [part [pytest's options]]
    local part=${1:-} failed=0
    [ $# -eq 0 ] || shift
    [ -z "$part" ] || /usr/bin/python3 tests/kit/long.py "$part" || exit 2
    cmd_deps
    venv
    build
    setup_dev
    # Not a pytest: a program with progress of its own.
    if [ "$part" = mutation ]; then
        build/venv/bin/python tests/mutation/run.py "$@"
        return
    fi
    mkdir -p build/results-long
    rm -f "build/results-long/${part:-all}.xml"
    run_pytest long "build/results-long/${part:-all}.xml" --progress ${part:+--part "$part"} "$@" || failed=1
    [ -n "$part" ] || build/venv/bin/python tests/mutation/run.py || failed=1
    build/venv/bin/python tests/kit/summary.py "build/results-long/${part:-all}.xml" || failed=1
    return $failed
}

cmd_test_k8s() {
    cmd_deps
    command -v go >/dev/null || die "Kubernetes is built by Go: install it (1.24 or later) and try again"
    venv
    build
    build/venv/bin/python tests/kit/k8s.py
    mkdir -p build/results-long
    run_pytest long build/results-long/k8s.xml --part k8s "$@"
}

cmd_demo() {
    install_packages "${build_packages[@]}"
    venv
    build
    build/venv/bin/python tests/spark/demo.py "$@"
}

cmd_bench() { # [name [rounds|quick]]: one of tests/bench/*.py; all of them without a name
    cmd_deps
    venv
    build
    local name=${1:-} script
    [ $# -eq 0 ] || shift
    [ -z "$name" ] || [ -f "tests/bench/$name.py" ] || die "no benchmark $name; there are: $(basename -s .py tests/bench/*.py | grep -vx common | paste -sd' ')"
    for script in tests/bench/${name:-*}.py; do
        [ "$script" != tests/bench/common.py ] || continue
        say "$script"
        build/venv/bin/python "$script" "$@"
    done
}

cmd_dist() {
    build
    setup_dir dist -Dtests=false
    meson dist -C build/dist --no-tests
    say "archives are in build/dist/meson-dist"
}

verb=${1:-}
[ $# -gt 0 ] && shift
case $verb in
deps | build | test | demo | bench | dist) "cmd_$verb" "$@" ;;
test-long) cmd_test_long "$@" ;;
test-k8s) cmd_test_k8s "$@" ;;
*) sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
