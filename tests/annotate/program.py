"""What a program says by the Python package, in one case each: `program.py CASE` (PYTHONPATH: the examples folder)."""
import ctypes
import sys

import ranks
import gsan
import triton
import triton.language as tl


@triton.jit
def both(at):
    tl.store(at, 7)


def race(buffer):
    both[(2,)](buffer)
    WORLD.synchronize()


def refusal(*arguments):
    try:
        gsan.label(*arguments)
    except ValueError as error:
        return str(error)


def label():
    buffer = WORLD.zeros(1024, "int32")
    assert gsan.label(buffer, "counters", 4096) is True
    assert "1 to 200 bytes" in refusal(buffer, "", 4096) and "1 to 200 bytes" in refusal(buffer, "ä" * 101, 4096)
    assert "1 to 200 bytes" in refusal(buffer, "a\0b", 4096)
    assert gsan.label(id(buffer), "the host's", 4) is False
    race(buffer)


class Array:
    def __init__(self, interface, address):
        setattr(self, interface, {"data": (address, False), "shape": (32, 32), "typestr": "<i4"})


def arrays():
    """What CuPy and Numba have, and what NumPy has; and what is neither, and names that are none."""
    buffer, host = WORLD.zeros(1024, "int32"), (ctypes.c_int * 1024)()
    assert gsan.label(Array("__cuda_array_interface__", buffer.data_ptr()), "counters") is True
    assert gsan.label(Array("__array_interface__", ctypes.addressof(host)), "the host's") is False
    for wrong in (lambda: gsan.label(3.5, "x"), lambda: gsan.label(buffer, None, 4), lambda: gsan.release(None)):
        try:
            wrong()
            assert False
        except TypeError as error:
            assert str(error).startswith("gsan"), error
    race(buffer)


def view():
    """Memory that peers map: its owner may name it."""
    buffers = WORLD.shared(1024, "int32")
    mine, peers = buffers[WORLD.rank], buffers[1 - WORLD.rank]
    assert gsan.label(mine, f"of rank {WORLD.rank}", 4096) is True and gsan.label(peers, "a peer's", 4096) is False
    WORLD.barrier()
    race(mine)
    WORLD.barrier()


def ignored():
    try:
        with gsan.ignore():
            race(WORLD.zeros(1024, "int32"))
            raise KeyError
    except KeyError:
        pass


def behind():
    ignored()
    race(WORLD.zeros(1024, "int32"))


@triton.jit
def store(at, value):
    tl.store(at, value)


def tell(word="filled", other="filled", late=True, between=0):
    """Rank 0 stores, its host releases a word, the last rank's acquires one, and stores; ranks between them pass words on."""
    buffers = WORLD.shared(1024, "int32")
    store[(1,)](WORLD.zeros(1024, "int32"), 3)  # compiles
    WORLD.synchronize()
    WORLD.barrier()
    if WORLD.rank == 0:
        store[(1,)](buffers[0], 1)
        for number in range(between):
            gsan.release(f"word {number}")
        if not late:
            gsan.release(word)
        WORLD.synchronize()
        if late and word:
            gsan.release(word)
    WORLD.barrier()
    for rank in range(1, WORLD.size):
        if WORLD.rank == rank and other:
            gsan.acquire(other if rank == 1 else f"from {rank - 1}")
            gsan.release(f"from {rank}")
        WORLD.barrier()
    if WORLD.rank == WORLD.size - 1:
        store[(1,)](buffers[0], 2)
    WORLD.synchronize()
    WORLD.barrier()


def told():
    tell()


def untold():
    tell(None, None)


def early():
    """Released before the host has seen the end."""
    tell(late=False)


def other_word():
    tell(other="fetched")


def many_words():
    """More than there are places for: the others are one."""
    tell(between=64)


def refused_words():
    for function in (gsan.release, gsan.acquire):
        for word in ("", "ä" * 101, "a\0b"):
            try:
                function(word)
                raise AssertionError("taken")
            except ValueError as error:
                assert "1 to 200 bytes" in str(error), error
    race(WORLD.zeros(1024, "int32"))


def alone():
    buffer = WORLD.zeros(1024, "int32")
    with gsan.ignore():
        assert gsan.label(buffer, "counters", 4096) is False
    gsan.release("")
    gsan.acquire("filled")


if __name__ == "__main__":
    WORLD = ranks.open_world()
    globals()[sys.argv[1]]()
    WORLD.close()
