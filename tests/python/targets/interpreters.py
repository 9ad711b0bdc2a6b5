"""A thread that works in an interpreter of its own."""
import threading
import time

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

CODE = """
def inside():
    print("ready", flush=True)
    while True:
        sum(range(1000))
inside()
"""


def run():
    made = interpreters.create()
    (interpreters.exec if hasattr(interpreters, "exec") else interpreters.run_string)(made, CODE)


threading.Thread(target=run, daemon=True).start()
time.sleep(1000)
