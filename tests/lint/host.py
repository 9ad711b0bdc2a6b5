"""What the agent may not use in its host, for it would change what all who live in the process share. Argument: the agent.
Sources: threads are started by agent/host/own_thread.c only, and nothing is thread-local."""
import re
import subprocess
import sys

from lint import end, files, rel, without_comments

STARTS_THREADS = {"agent/host/own_thread.c", "agent/host/glibc217.h"}
# Used in one place: file → what it may use beside.
ALLOWED = {"agent/output/report_writer.c": {"posix_spawn"}}
REASONS = {
    "the process's state": "umask chdir fchdir chroot setlocale uselocale newlocale setenv putenv unsetenv clearenv tzset setrlimit "
                           "setrlimit64 prlimit prlimit64 nice setpriority setuid seteuid setreuid setresuid setgid setegid setregid "
                           "setresgid setgroups srand srandom",
    "what runs at others' exits and forks": "atexit on_exit __cxa_atexit at_quick_exit pthread_atfork __register_atfork "
                                            "pthread_key_create tss_create __cxa_thread_atexit_impl",
    "its end": "exit _exit quick_exit abort __assert_fail __assert raise",
    "its standard streams": "printf fprintf vprintf vfprintf puts fputs fputc putchar fwrite perror stdout stderr stdin __printf_chk "
                            "__fprintf_chk fflush setvbuf syslog",
    "its malloc, which leaves an arena": "malloc calloc realloc free strdup strndup posix_memalign aligned_alloc memalign valloc "
                                         "asprintf vasprintf getline getdelim open_memstream fopen fopen64 fdopen popen opendir "
                                         "fdopendir scandir scandir64 qsort qsort_r mallopt malloc_trim getcwd get_current_dir_name",
    "threads and children": "fork vfork system posix_spawn posix_spawnp execve execv execvp timer_create thrd_create clone",
    "alternate signal stacks and masks of others": "sigaltstack sigprocmask signal siginterrupt",
}
FORBIDDEN = {name: reason for reason, names in REASONS.items() for name in names.split()}
findings = []


def symbols(path):
    out = subprocess.run(["nm", "-D", "--undefined-only", path], check=True, capture_output=True, text=True).stdout
    return {line.split()[1].split("@")[0] for line in out.splitlines()}


def check_library(path):
    used = symbols(path)
    if "pthread_create" not in used:
        findings.append(f"{path}: starts no thread; is it the agent?")
    for name in sorted(used & FORBIDDEN.keys() - set().union(*ALLOWED.values())):
        findings.append(f"{path}: uses {name}: {FORBIDDEN[name]}")
    if re.search(r"^\s*TLS ", subprocess.run(["readelf", "-lW", path], check=True, capture_output=True, text=True).stdout, re.M):
        findings.append(f"{path}: has thread-local storage, which takes room in every thread of the host")


def check_source(path):
    for number, line in enumerate(without_comments(path.read_text()).splitlines(), 1):
        if rel(path) not in STARTS_THREADS and re.search(r"\b(pthread_create|pthread_detach|pthread_attr_setstacksize)\b", line):
            findings.append(f"{rel(path)}:{number}: a thread of the agent is started by agent/host/own_thread.h")
        for name in set().union(*ALLOWED.values()) - ALLOWED.get(rel(path), set()):
            if re.search(rf"\b{name}\b", line):
                findings.append(f"{rel(path)}:{number}: {name}: {FORBIDDEN[name]}")
        if re.search(r"\b(__thread|_Thread_local)\b", line):
            findings.append(f"{rel(path)}:{number}: the agent has no thread-local storage")


for f in files("agent", "src/base"):
    check_source(f)
check_library(sys.argv[1])
end(findings)
