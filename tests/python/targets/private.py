"""work.py in a process that only root may read, as one that has changed its user is."""
import ctypes
import pathlib
import sys

PR_SET_DUMPABLE = 4
if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0):
    sys.exit("prctl failed")
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import work  # noqa: E402, F401 - it is executed
