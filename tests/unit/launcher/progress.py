"""The line that says how far a job is: what a terminal shows of it, and when there is none.    usage: progress.py BIN"""
import concurrent.futures
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time

BIN = sys.argv[1]
CLEAR = "\r\033[K"
LINE = re.compile(r"gsan: (?:up to )?(\d+) findings? so far, checked (\d+) launches, (\d+) accesses")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("GSAN_")}


def run(columns, *arguments, stderr=None, **environment):
    """What comes on a terminal, piece by piece with its time."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    place = tempfile.mkdtemp(dir=".")
    process = subprocess.Popen(["setsid", "--ctty", f"{BIN}/gsan-launch", "--device", "emu", "-n", "2", "--report", place, *arguments, f"{BIN}/rank", "slow"],
                               stdin=slave, stdout=slave, stderr=stderr or slave, env={**CLEAN, "TERM": "xterm", **environment})
    os.close(slave)
    pieces = []
    try:
        while piece := os.read(master, 65536):
            pieces.append((time.monotonic(), piece.decode()))
    except OSError:  # the other end is closed
        pass
    os.close(master)
    process.communicate()
    assert process.returncode == 66, (process.returncode, pieces)
    return pieces


def screen(text):
    """Lines as they stand at the end, of what moves by returns and clears to the end of the line alone."""
    lines = [""]
    for part in re.findall(r"\033\[K|\033\[[0-9;]*m|\r|\n|[^\r\n\033]+", text):
        if part == "\n":
            lines.append("")
        elif part == "\033[K":
            lines[-1] = ""
        elif part not in "\r" and part[0] != "\033":
            lines[-1] += part
    return "\n".join(lines)


def shown():
    pieces = run(120)
    text = "".join(piece for _, piece in pieces)
    numbers = [tuple(map(int, found)) for found in LINE.findall(text)]
    assert 2 <= len(numbers) <= 4, text  # of five seconds the first two have none
    assert numbers == sorted(set(numbers)) and numbers[0][0] == 0 and numbers[-1][0] == 1 and {launches for _, launches, _ in numbers} == {4}, numbers
    times = [at for at, piece in pieces if "so far" in piece]
    assert min(after - before for before, after in zip(times, times[1:])) > 0.8, times
    assert text.count("so far") == text.count(CLEAR) - 1 == len(numbers), repr(text)
    left = screen(text)
    assert "so far" not in left and "gsan: 1 finding in 2 ranks" in left, left


def cut(columns):
    text = "".join(piece for _, piece in run(columns))
    lines = re.findall(r"gsan: (?:up to )?\d+ find[^\r\033]*(?=\r\033\[K)", text)
    assert lines and all(len(line) == columns - 1 for line in lines), (columns, lines)


def quiet(*arguments, **more):
    text = "".join(piece for _, piece in run(120, *arguments, **more))
    assert "so far" not in text and CLEAR not in text, (arguments, more, text)


with concurrent.futures.ThreadPoolExecutor(8) as pool:
    jobs = [pool.submit(shown), pool.submit(cut, 20), pool.submit(cut, 40), pool.submit(quiet, "--progress", "never"),
            pool.submit(quiet, "--log", "error"), pool.submit(quiet, TERM="dumb"), pool.submit(quiet, stderr=subprocess.PIPE)]
    for job in jobs:
        job.result()
