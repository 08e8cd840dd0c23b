"""GSan for Python programs. What a program may tell the tool, which without it does nothing:

    gsan.label(counters, "counters")     findings in that tensor's memory name it
    with gsan.ignore():                  what this thread launches meanwhile is not checked, and listed as such;
        library_call()                   findings that it may order are withheld
    torch.cuda.synchronize()
    gsan.release("filled")               one process tells another by means of its own, and says so (--host-order modelled): what its
    socket.send(...)                     host has seen the end of before the release is before what the other launches behind the acquire
    gsan.acquire("filled")               in the other one, behind socket.recv(...)

`python -m gsan.emu` runs kernels over host arrays on the emulated device (gsan.emu), `torchrun --logs-specs gsan` a distributed
program under the tool (gsan.torchrun).
"""
import contextlib
import ctypes
import errno
import math

_REFUSALS = {errno.EINVAL: "a name has 1 to 200 bytes of UTF-8, none of them 0, and memory at least one", errno.ENOSPC: "the job has too many labels"}


def _find(name, *arguments):
    """A function of libgsan.so, or None: the program does not run under GSan."""
    function = getattr(ctypes.CDLL(None), "gsan_annotate_" + name, None)
    if function:
        function.argtypes = arguments
    return function


def _bytes(name):
    """As C takes it, where it ends at a 0: such a name is as good as none."""
    if not isinstance(name, str):
        raise TypeError(f"gsan: a name is a str, and not {name!r}")
    return b"" if "\0" in name else name.encode()


def _place(memory, size):
    """Its address and its bytes, if `size` is None; of an address, none."""
    if isinstance(memory, int):
        return memory, size or 0
    if hasattr(memory, "data_ptr"):
        return memory.data_ptr(), memory.numel() * memory.element_size() if size is None else size
    for name in ("__cuda_array_interface__", "__array_interface__"):
        described = getattr(memory, name, None)
        if described:
            whole = math.prod(described["shape"]) * int(described["typestr"][2:])
            return described["data"][0], whole if size is None else size
    raise TypeError(f"gsan.label: a {type(memory).__name__} is neither a tensor nor an array nor an address")


def label(memory, name, size=None):
    """Calls device memory by a name until it is freed or called something else.

    memory: a contiguous tensor or array (anything with data_ptr(), __cuda_array_interface__ or __array_interface__), or an address. Of one
    allocation of this process.
    size: bytes from there on; of a tensor or array all, if left out.
    True; False: without the tool, or in memory that it does not check or that is another process's: host arrays, for one, which gsan.emu
    calls by the kernel's parameters. ValueError: a name that it does not take, or too many of them.
    """
    address, size = _place(memory, size)
    function = _find("label", ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)
    error = -function(address, size, _bytes(name)) if function else errno.ENOSYS
    if error in _REFUSALS:
        raise ValueError(f"gsan.label({name!r}): {_REFUSALS[error]}")
    return not error


@contextlib.contextmanager
def ignore():
    """The calling thread's launches are not checked within."""
    begin, end = _find("ignore_begin"), _find("ignore_end")
    if begin:
        begin()
    try:
        yield
    finally:
        if end:
            end()


def _say(name, word):
    function = _find(name, ctypes.c_char_p)
    if function and function(_bytes(word)):
        raise ValueError(f"gsan.{name}({word!r}): a word has 1 to 200 bytes of UTF-8, none of them 0")


def release(word):
    """Tells by a word of 1 to 200 bytes of UTF-8 what this process's host has seen the end of, and what was acquired. ValueError: no such word."""
    _say("release", word)


def acquire(word):
    """This process comes behind all who have released the word. ValueError: no such word."""
    _say("acquire", word)
