"""exchange.py by processes that one program spawns: none of them is started by a launcher, and the job has one rank.

    gsan-launch python spawned.py PROCESSES fork|forkserver|spawn [exchange.py's arguments]     (PYTHONPATH: the examples folder)
"""
import multiprocessing
import os
import socket
import sys


def work(rank, size, port, arguments):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    sys.argv = ["exchange.py", *arguments]
    import exchange
    exchange.main()


def main():
    size, context = int(sys.argv[1]), multiprocessing.get_context(sys.argv[2])
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    children = [context.Process(target=work, args=(rank, size, port, sys.argv[3:])) for rank in range(size)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    return max(abs(child.exitcode) for child in children)


if __name__ == "__main__":
    sys.exit(main())
