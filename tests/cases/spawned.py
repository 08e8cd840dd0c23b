"""exchange.py by processes that one program spawns: none of them is started by a launcher, and the job has one rank.

    gsan-launch python spawned.py PROCESSES fork|forkserver|spawn|exec [exchange.py's arguments]     (PYTHONPATH: the examples folder)

With exec each process, once it is spawned, becomes another program, as Ray's workers do.
"""
import multiprocessing
import os
import socket
import sys


def work(rank, size, port, arguments, become):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    if become:
        there = next(folder for folder in sys.path if os.path.exists(os.path.join(folder, "exchange.py")))
        os.execv(sys.executable, [sys.executable, os.path.join(there, "exchange.py"), *arguments])
    sys.argv = ["exchange.py", *arguments]
    import exchange
    exchange.main()


def main(size, way, *arguments):
    become = way == "exec"
    size, context = int(size), multiprocessing.get_context("spawn" if become else way)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    children = [context.Process(target=work, args=(rank, size, port, arguments, become)) for rank in range(size)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    return max(abs(child.exitcode) for child in children)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
