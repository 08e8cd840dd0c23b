"""What a program says by the Python package, in one case each: `program.py CASE` (PYTHONPATH: the examples folder)."""
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
    assert gsan.label(id(buffer), "the host's", 4) is False
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


def alone():
    buffer = WORLD.zeros(1024, "int32")
    with gsan.ignore():
        assert gsan.label(buffer, "counters", 4096) is False


if __name__ == "__main__":
    WORLD = ranks.open_world()
    globals()[sys.argv[1]]()
    WORLD.close()
