"""Read by each Python that a program under gsan.emu starts, since gsan.emu puts this folder into PYTHONPATH: sees to Triton there, too,
and then reads the sitecustomize that would have been read without this one."""
import contextlib
import os
import sys

sys.path[:] = [folder for folder in sys.path if folder != os.path.dirname(__file__)]
with contextlib.suppress(ImportError):  # of an interpreter that has no gsan, and no Triton for it
    from gsan import emulated
    emulated.await_triton()

own = sys.modules.pop("sitecustomize")
try:
    import sitecustomize  # noqa: F401
except ImportError as error:
    sys.modules["sitecustomize"] = own
    if error.name != "sitecustomize":
        raise
