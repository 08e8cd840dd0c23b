"""The Debian package and the wheel: what is in them, and the demo from there, with nothing of the build in the environment.
usage: packages.py deb|wheel"""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import expect
import jobs

BUILD = os.path.dirname(os.path.realpath(jobs.BIN))
PROGRAMS = ["gsan-launch", "gsan-nvcc", "gsan-ptxas", "gsan-ptxas-blackwell", "gsan-report"]
PAGES = [f"{name}.1" for name in PROGRAMS if name != "gsan-ptxas-blackwell"]
COMPLETIONS = ["gsan-launch", "gsan-nvcc", "gsan-ptxas", "gsan-report"]


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200, **more)
    expect.need(done.returncode == 0, f"$ {' '.join(command)}\n{done.stdout}")
    return done.stdout


def one(pattern):
    found = glob.glob(pattern)
    expect.need(len(found) == 1, f"{pattern}: {found}")
    return found[0]


def holds(prefix):
    """Programs, man pages, completion, docs; no program of a test, and no word of where it was built."""
    programs = [name for name in os.listdir(os.path.join(prefix, "bin")) if name.startswith("gsan") or not os.path.exists(prefix + "/pyvenv.cfg")]
    expect.need(sorted(programs) == PROGRAMS, f"programs: {sorted(programs)}")
    for folder, names in (("share/man/man1", PAGES), ("share/bash-completion/completions", COMPLETIONS)):
        expect.need(sorted(os.listdir(os.path.join(prefix, folder))) == names, f"{folder}: {os.listdir(os.path.join(prefix, folder))}")
    for page in ("README.md", "docs/first-program.md", "docs/architecture.md", "docs/report-schema.md", "docs/pictures/flag.png", "configs/report.schema.json"):
        expect.need(os.path.exists(os.path.join(prefix, "share/doc/GSan", page)), f"no {page}")
    for root, _, names in os.walk(prefix):
        for name in names:
            with open(os.path.join(root, name), "rb") as file:
                expect.need(BUILD.encode() not in file.read() or "site-packages" in root, f"{root}/{name} names {BUILD}")


def not_installed(program):
    """`make uninstall` will not take what was only packed."""
    manifest = os.path.join(BUILD, "install_manifest.txt")
    lines = open(manifest).read().splitlines() if os.path.exists(manifest) else []
    expect.need(not any(re.fullmatch(program, line) for line in lines), f"{manifest}: {lines}")


def demo(scratch, prefix, python):
    """Both forms of the first example, and its report read again."""
    example = os.path.join(prefix, "share", "gsan", "examples", "message_passing.py")
    environment = {"PATH": f"{prefix}/bin:/usr/bin:/bin", "HOME": scratch, "PYTHONDONTWRITEBYTECODE": "1"}
    for order, status in (("relaxed", jobs.FOUND), ("release", 0)):
        command = ["gsan-launch", "-n", "2", "--device", "emu", "--report", os.path.join(scratch, "report"), python, example, "--order", order]
        summary = jobs.Job(["/usr/bin/env", *command], scratch, environment).ends(status).summary(ranks=2)
        if status:
            expect.race(summary, example, ("payload-store", "payload-load"), (0, 1))
            again = jobs.Job(["/usr/bin/env", "gsan-report", "report"], scratch, environment).ends(0)
            expect.need("payload" in again.out, str(again))
        else:
            expect.clean(summary)


def emulated(scratch, venv, python):
    """The Python package, which finds the programs, and torchrun the package."""
    kernels = os.path.join(jobs.SOURCE, "tests", "python", "kernels.py")
    environment = {"PATH": f"{venv}/bin:/usr/bin:/bin", "HOME": scratch, "PYTHONDONTWRITEBYTECODE": "1"}
    jobs.Job([python, "-m", "gsan.emu", kernels, "overlap"], scratch, environment).ends(jobs.FOUND)
    plugins = "from importlib.metadata import entry_points; print(entry_points(group='torchrun.logs_specs', name='gsan'))"
    expect.need("gsan.torchrun" in run(python, "-c", plugins), "no plug-in for torchrun")


def deb(scratch):
    run("cpack", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-G", "DEB", "-B", scratch)
    package, root = one(f"{scratch}/gsan_*_*.deb"), os.path.join(scratch, "a root")
    needs = run("dpkg-deb", "--field", package, "Depends")
    expect.need(all(name in needs for name in ("libc6 (>= ", "libcjson1", "libhwloc15")), needs)
    run("dpkg-deb", "--extract", package, root)
    holds(os.path.join(root, "usr"))
    not_installed("/usr/bin/gsan-launch")
    demo(scratch, os.path.join(root, "usr"), jobs.python())


def wheel(scratch):
    """Into a venv that has Triton by a path alone, with no index."""
    run(os.path.join(jobs.SOURCE, "scripts", "make-wheel"), BUILD, scratch)
    package, venv = one(f"{scratch}/gsan-*.whl"), os.path.join(scratch, "a venv")
    run("/usr/bin/python3", "-m", "venv", venv)
    python, before = os.path.join(venv, "bin", "python"), files(venv)
    pip = (python, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir")
    run(*pip, "install", "--no-index", package)
    expect.need("gsan" in run(*pip, "list"), "pip does not know it")
    holds(venv)
    not_installed(".*/tree/bin/gsan-launch")
    linked = re.findall(r"(libcjson|libhwloc|libudev)\S* => (.*) \(0x", run("ldd", os.path.join(venv, "bin", "gsan-launch")))
    expect.need(len(linked) == 3 and all(path.startswith(venv) for _, path in linked), f"linked with {linked}")
    triton = run(jobs.python(), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    with open(one(f"{venv}/lib/python3*/site-packages") + "/triton.pth", "w") as file:
        file.write(triton + "\n")
    demo(scratch, venv, python)
    emulated(scratch, venv, python)
    run(*pip, "uninstall", "--yes", "gsan")
    left = {path for path in files(venv) - before if not path.endswith((".pyc", ".pth"))}
    expect.need(not left, f"left behind: {left}")


def files(folder):
    return {os.path.join(root, name) for root, _, names in os.walk(folder) for name in names}


if __name__ == "__main__":
    jobs.main({case.__name__: case for case in (deb, wheel)})
