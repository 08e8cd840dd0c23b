"""Pages that say what a command prints: each is run as it stands there, and must print that.

    pages.py PAGE          compares
    pages.py PAGE write    writes into the page what the commands print now

A block ```console holds commands behind "$ " and below each what it prints; a line ... there stands for any lines. A block whose
first line is a comment with a file's name, as `# sums.py`, is that file. `console gpu` is for a machine with a GPU and torch: tests/gpu/run
pages runs it, and nothing here. Pictures (pictures.py) are of what the commands made. A page's blocks run in one shell, in a folder that
has of the checkout what the page says: examples, python, .venv and what `make build` made. The page calls it HOME.
"""
import os
import re
import shutil
import subprocess
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(TESTS, "e2e"))
os.environ.setdefault("GSAN_BIN", os.path.join(TESTS, "..", "build", "dev", "bin"))  # for who writes a page by hand
import expect  # noqa: E402
import jobs  # noqa: E402
import pictures  # noqa: E402

HOME = "/home/you/gsan"
BLOCK = re.compile(r"^```([\w+]+)( gpu)?\n(.*?)^```$", re.M | re.S)
FILE = re.compile(r"(?:#|//|/\*) (\S+\.\w+)(?: \*/)?\n")
ENDS = "the-command-ended-here"


def checkout(scratch):
    place = os.path.join(scratch, "gsan")
    os.makedirs(os.path.join(place, "build"))
    for name, target in ((".venv", os.path.join(jobs.SOURCE, ".venv")), ("build/bin", jobs.BIN),
                         ("build/lib", os.path.join(os.path.dirname(os.path.realpath(jobs.BIN)), "lib"))):
        os.symlink(target, os.path.join(place, name))
    for name in ("examples", "python"):
        shutil.copytree(os.path.join(jobs.SOURCE, name), os.path.join(place, name), ignore=shutil.ignore_patterns("__pycache__"))
    return place


def commands(block):
    """[(command, [lines below it])]"""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            expect.need(found, f"a block begins with {line!r}, not with a command")
            found[-1][1].append(line)
    return found


def run(given, place, environment=None):
    """What each command prints, in one shell."""
    script = "exec 2>&1\n" + "".join(f"{command}\n{{ status=$?; echo; echo {ENDS}; (exit $status); }}\n" for command in given)
    environment = environment or jobs.Job.environment(os.path.dirname(place))
    done = subprocess.run(["bash", "-c", script], cwd=place, env=environment, stdout=subprocess.PIPE, text=True, timeout=jobs.LIMIT)
    printed = done.stdout.replace(place, HOME).split(f"\n{ENDS}\n")
    expect.need(len(printed) == len(given) + 1, f"the shell ended with status {done.returncode}:\n{done.stdout}")
    return [text.splitlines() for text in printed[:-1]]


def write_files(text, place):
    """Into place, those files that the page holds."""
    for match in BLOCK.finditer(text):
        name = FILE.match(match.group(3)) if match.group(1) != "console" else None
        if name:
            with open(os.path.join(place, name.group(1)), "w") as file:
                file.write(match.group(3))
            if name.group(1).endswith(".py"):  # which nothing may run here
                compile(match.group(3), name.group(1), "exec")


def consoles(text, gpu):
    """[(match, commands)] of the blocks that are for a machine with a GPU, or of the others"""
    return [(match, commands(match.group(3))) for match in BLOCK.finditer(text) if match.group(1) == "console" and bool(match.group(2)) == gpu]


def agrees(printed, lines):
    pattern = "\n".join("(?:.*\n)*?.*" if line == "..." else re.escape(line) for line in lines)
    return re.fullmatch(pattern, "\n".join(printed)) is not None


def check(page, place, write):
    with open(page) as file:
        text = file.read()
    write_files(text, place)
    blocks = consoles(text, gpu=False)
    expect.need(blocks, f"{page} has no commands")
    printed = iter(run([command for _, given in blocks for command, _ in given], place))
    wrong = []
    for match, given in reversed([(match, [(c, lines, next(printed)) for c, lines in given]) for match, given in blocks]):
        wrong += [f"$ {c}\nprints\n" + "\n".join(now) for c, lines, now in given if not agrees(now, lines)]
        body = "".join("\n".join([f"$ {c}", *(lines if agrees(now, lines) else now)]) + "\n" for c, lines, now in given)
        text = text[:match.start(3)] + body + text[match.end(3):]
    if write:
        with open(page, "w") as file:
            file.write(text)
    else:
        expect.need(not wrong, f"{page} is not what is printed now (pages.py {page} write):\n" + "\n".join(reversed(wrong)))


def classes(page):
    """The page's table has each class that a finding can have."""
    with open(page) as file:
        named = set(re.findall(r"^\| `([a-z-]+)` \|", file.read(), re.M))
    expect.need(named == set(expect.CLASSES), f"{page}: the table of classes differs by {named ^ set(expect.CLASSES)}")


def main(page, mode="compare"):
    def case(scratch):
        place = checkout(scratch)
        check(page, place, mode == "write")
        if pictures.of(page):
            pictures.check(page, place, HOME, mode == "write")
        if os.path.basename(page) == "reading-a-report.md":
            classes(page)
    sys.argv[1:] = [os.path.basename(page)]
    jobs.main({os.path.basename(page): case})


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), *sys.argv[2:])
