"""An install, and a build, whose path has what the dynamic loader takes for an end of a name: the program is checked, or it is said why it
cannot be, and what to do."""
import os
import shutil
import subprocess

import expect
import jobs

BUILD = os.path.dirname(os.path.realpath(jobs.BIN))
KERNELS = os.path.join(jobs.BIN, "faults_kernels")
NAMES = ("a b", "a:b", "a;b", "a$LIB", "x a: $ORIGIN;b", "plain")


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=150, **more)
    expect.need(done.returncode == 0, f"$ {' '.join(command)}\n{done.stdout}")
    return done.stdout


def install(scratch, name):
    prefix = os.path.join(scratch, name)
    run("cmake", "--install", BUILD, "--prefix", prefix)
    return prefix


def launch(scratch, prefix, program, environment=None, ranks=1):
    return jobs.Job([os.path.join(prefix, "bin", "gsan-launch"), "-n", str(ranks), "--device", "emu", "--report",
                     os.path.join(scratch, "report"), *program], scratch, environment={**jobs.Job.environment(scratch), **(environment or {})})


def checked(job, ranks=1):
    expect.need("LD_PRELOAD" not in job.err, f"the loader complains\n{job}")
    return expect.checked(job.summary(ranks=ranks))


def launched_from(scratch):
    """A race is found, and its twin is clean, wherever GSan is."""
    for name in NAMES:
        prefix = install(scratch, name)
        checked(launch(scratch, prefix, [KERNELS, "r"]).ends(jobs.FOUND))
        checked(launch(scratch, prefix, [KERNELS, "c"], ranks=2).ends(0), ranks=2)
        links = [os.path.join(root, one) for root, folders, files in os.walk(os.path.join(scratch, "cache")) if os.path.basename(root) == "links"
                 for one in folders + files]
        wanted = {"a;b": 1, "plain": 0}.get(name, 2 if name != "a b" else 1)
        expect.need(len(links) == wanted, f"links for {name!r}: {links}")
        shutil.rmtree(prefix)
        shutil.rmtree(os.path.join(scratch, "cache"))


def refused_without_a_place(scratch):
    """No folder for a link: status 2 before anything runs; the fix that is named works."""
    prefix, ran = install(scratch, "a b"), os.path.join(scratch, "ran")
    open_to_all, spaced = os.path.join(scratch, "open"), os.path.join(scratch, "c d")
    os.mkdir(open_to_all)
    os.chmod(open_to_all, 0o777)
    nothing = {"XDG_CACHE_HOME": "", "HOME": "/dev/null"}
    for environment in ({"GSAN_CACHE_DIR": spaced}, {"GSAN_CACHE_DIR": open_to_all}, nothing):
        job = launch(scratch, prefix, ["touch", ran], environment).ends(2)
        job.says(f"libgsan.so is in '{prefix}/lib", "takes no path with a space", "set GSAN_CACHE_DIR to a folder of yours", "or install to another path")
        expect.need(not os.path.exists(ran) and "\n" not in job.err.strip(), str(job))
    checked(launch(scratch, prefix, [KERNELS, "r"], {**nothing, "GSAN_CACHE_DIR": os.path.join(scratch, "mine")}).ends(jobs.FOUND))
    plain = install(scratch, "plain")  # the twin: nothing to be linked
    for environment in ({"GSAN_CACHE_DIR": spaced}, {"GSAN_CACHE_DIR": open_to_all}, nothing):
        checked(launch(scratch, plain, [KERNELS, "r"], environment).ends(jobs.FOUND))


def link_is_mended(scratch):
    """A link that leads elsewhere, by whatever accident, is set right."""
    prefix, cache = install(scratch, "a b"), os.path.join(scratch, "mine")
    for turn in range(2):
        checked(launch(scratch, prefix, [KERNELS, "r"], {"GSAN_CACHE_DIR": cache}).ends(jobs.FOUND))
        links = os.path.join(cache, "links")
        expect.need(len(os.listdir(links)) == 1, f"{os.listdir(links)}")
        link = os.path.join(links, os.listdir(links)[0])
        os.unlink(link)
        os.symlink("/nowhere", link)


def made(scratch):
    """`make install` to such a path; make itself ends no name there."""
    prefix = os.path.join(scratch, "a b")
    run("make", "-o", "build", "install", f"PREFIX={prefix}", f"BUILD={BUILD}", cwd=jobs.SOURCE)
    expect.need(os.listdir(scratch) == ["a b"], f"{os.listdir(scratch)}")
    checked(launch(scratch, prefix, [KERNELS, "r"]).ends(jobs.FOUND))
    manifest = os.path.join(scratch, "manifest.txt")
    shutil.move(os.path.join(BUILD, "install_manifest.txt"), manifest)
    run("cmake", "-P", os.path.join(jobs.SOURCE, "cmake", "uninstall.cmake"), manifest)
    left = [os.path.join(root, name) for root, _, names in os.walk(prefix) for name in names]
    expect.need(not left, f"left after uninstall: {left}")


def build_tree(scratch):
    """The same of a build that nobody has installed, in a folder of such a name."""
    place = os.path.join(scratch, "a: b")
    for part in ("bin/gsan-launch", "bin/gsan-ptxas", "lib/libgsan.so", "lib/emu"):
        os.makedirs(os.path.dirname(os.path.join(place, part)), exist_ok=True)
        (shutil.copytree if os.path.isdir(os.path.join(BUILD, part)) else shutil.copy)(os.path.join(BUILD, part), os.path.join(place, part))
    checked(launch(scratch, place, [KERNELS, "r"]).ends(jobs.FOUND))


if __name__ == "__main__":
    jobs.main({case.__name__: case for case in (launched_from, refused_without_a_place, link_is_mended, made, build_tree)})
