"""A torchrun of one node: how it finds and makes a LogsSpecs, then the workers' interpreter, and starts and restarts them."""
import argparse
import contextlib
import importlib.metadata
import os
import subprocess
import sys
import time
import uuid

from torch.distributed.elastic.multiprocessing.api import DefaultLogsSpecs

KILL_SECONDS = 30


def get_args_parser():
    parser = argparse.ArgumentParser()
    for name in ("--standalone", "--no-python", "--run-path"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--nproc-per-node", type=int, default=1)
    parser.add_argument("--max-restarts", type=int, default=0)
    parser.add_argument("--log-dir")
    parser.add_argument("--redirects", type=int, default=0)
    parser.add_argument("--logs-specs")
    parser.add_argument("training_script")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def specs_class(name):
    if name is None:
        return DefaultLogsSpecs
    found = importlib.metadata.entry_points().select(group="torchrun.logs_specs")
    if not found.select(name=name):
        raise ValueError(f"Could not find entrypoint under 'torchrun.logs_specs[{name}]' key")
    return found[name].load()


def start(command, args, specs, run, port, attempt):
    envs = {rank: {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(args.nproc_per_node), "MASTER_ADDR": "127.0.0.1",
                   "LOCAL_WORLD_SIZE": str(args.nproc_per_node), "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": run,
                   "TORCHELASTIC_RESTART_COUNT": str(attempt), "TORCHELASTIC_MAX_RESTARTS": str(args.max_restarts)}
            for rank in range(args.nproc_per_node)}
    dest = specs.reify(envs)
    workers = []
    for rank, environment in envs.items():
        with contextlib.ExitStack() as files:
            out, err = (files.enter_context(open(names[rank], "w")) if names[rank] else None for names in (dest.stdouts, dest.stderrs))
            workers.append(subprocess.Popen(command, env={**os.environ, **environment}, stdout=out, stderr=err, start_new_session=True))
    return workers


def finish(workers):
    """0, or the first status that is not, whereupon the other workers are ended."""
    while True:
        statuses = [worker.poll() for worker in workers]
        failed = next((status for status in statuses if status), 0)
        if failed or None not in statuses:
            break
        time.sleep(0.1)
    for worker in workers:
        if worker.poll() is None:
            worker.terminate()
    for worker in workers:
        worker.wait(KILL_SECONDS)
    return failed


def main():
    args = get_args_parser().parse_args()
    specs = specs_class(args.logs_specs)(log_dir=args.log_dir, redirects=args.redirects, tee=0, local_ranks_filter=None)
    command = [args.training_script] if args.no_python else [os.getenv("PYTHON_EXEC", sys.executable), "-u", args.training_script]
    run, port = str(uuid.uuid4()), str(20000 + os.getpid() % 10000)
    for attempt in range(args.max_restarts + 1):
        failed = finish(start([*command, *args.training_script_args], args, specs, run, port, attempt))
        if not failed:
            return
    sys.exit(f"ChildFailedError: a worker ended with status {failed}")


if __name__ == "__main__":
    main()
