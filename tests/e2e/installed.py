"""The installed tree: it can be moved, works from there, is found by find_package and pkg-config, and goes away again.
And the gate: nothing in the tool knows the name of an example or a test."""
import os
import shutil
import subprocess

import expect
import jobs

BUILD = os.path.dirname(os.path.realpath(jobs.BIN))
CONSUMER_C = ('#include <gsan/annotate.h>\n#include <gsan/version.h>\n#include <stdio.h>\n'
              'int main(void) { return gsan_label("", 1, "none") != -ENOSYS || puts(GSAN_VERSION_STRING) < 0; }\n')
CONSUMER_CMAKE = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(GSan REQUIRED)
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE GSan::gsan)
enable_testing()
add_test(NAME version COMMAND GSan::gsan-launch --version)
"""


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200, **more)
    expect.need(done.returncode == 0, f"$ {' '.join(command)}\n{done.stdout}")
    return done.stdout


def install(scratch):
    """Installed to one prefix, moved to another; the first is gone."""
    first, second = os.path.join(scratch, "first"), os.path.join(scratch, "second", "place")
    run("cmake", "--install", BUILD, "--prefix", first)
    os.makedirs(os.path.dirname(second))
    os.rename(first, second)
    return second


def moved(scratch):
    prefix = install(scratch)
    launch, report = os.path.join(prefix, "bin", "gsan-launch"), os.path.join(scratch, "report")
    for arguments, status in ((["--order", "relaxed"], jobs.FOUND), ([], 0)):
        jobs.Job([launch, "-n", "2", "--device", "emu", "--report", report,
                  *jobs.c_form("message_passing", *arguments)], scratch).ends(status)
    program = [jobs.python(), os.path.join(prefix, "share", "gsan", "examples", "message_passing.py"), "--order", "relaxed"]
    job = jobs.Job([launch, "-n", "2", "--device", "emu", "--report", report, *program], scratch).ends(jobs.FOUND)
    expect.race(job.summary(ranks=2), program[1], ("payload-store", "payload-load"), (0, 1))
    for page in ("gsan-launch.1", "gsan-nvcc.1", "gsan-ptxas.1", "gsan-report.1"):
        expect.need(os.path.exists(os.path.join(prefix, "share", "man", "man1", page)), f"no man page {page}")
    jobs.Job([os.path.join(prefix, "bin", "gsan-report"), report], scratch).ends(0)


def consumers(scratch):
    prefix = install(scratch)
    place = os.path.join(scratch, "consumer")
    os.mkdir(place)
    for name, text in (("consumer.c", CONSUMER_C), ("CMakeLists.txt", CONSUMER_CMAKE)):
        with open(os.path.join(place, name), "w") as file:
            file.write(text)
    run("cmake", "-S", place, "-B", place + "/build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", place + "/build")
    run("ctest", "--test-dir", place + "/build")
    version = run(place + "/build/consumer").strip()
    config = next(root for root, _, names in os.walk(prefix) if "gsan.pc" in names)
    environment = {**os.environ, "PKG_CONFIG_PATH": config}
    expect.need(run("pkg-config", "--modversion", "gsan", env=environment).strip() == version, "versions differ")
    flags = run("pkg-config", "--cflags", "gsan", env=environment).split()
    run("gcc", *flags, place + "/consumer.c", "-o", place + "/by-pkg-config")
    launch = run("pkg-config", "--variable=launch", "gsan", env=environment).strip()
    expect.need(version in run(launch, "--version"), "gsan-launch has another version")


def uninstalled_from(scratch, name):
    prefix = os.path.join(scratch, name)
    os.makedirs(os.path.join(prefix, "bin"))
    own = os.path.join(prefix, "bin", "somebody-elses")
    with open(own, "w"):
        pass
    run("cmake", "--install", BUILD, "--prefix", prefix)
    manifest = os.path.join(scratch, "install_manifest.txt")
    shutil.move(os.path.join(BUILD, "install_manifest.txt"), manifest)
    shutil.move(os.path.join(BUILD, "install_prefix.txt"), os.path.join(scratch, "install_prefix.txt"))
    run("cmake", "-P", os.path.join(jobs.SOURCE, "cmake", "uninstall.cmake"), manifest)
    left = [os.path.join(root, file) for root, _, files in os.walk(prefix) for file in files]
    expect.need(left == [own], f"left after uninstall: {left}")
    folders = [root for root, _, _ in os.walk(prefix) if os.path.basename(root).lower() == "gsan" and root != prefix]
    expect.need(not folders, f"folders left after uninstall: {folders}")


def uninstalled(scratch):
    """`make uninstall` takes away what was installed and nothing else, wherever that is."""
    for name in ("prefix", "a prefix;in [two]", "gsan"):
        uninstalled_from(scratch, name)


def uninstalled_in_vain(scratch):
    """A list of files that is in pieces is an error."""
    manifest = os.path.join(scratch, "install_manifest.txt")
    with open(manifest, "w") as file:
        file.write("/tmp/gsan none\nhalf/bin/gsan-launch\n")
    done = subprocess.run(["cmake", "-P", os.path.join(jobs.SOURCE, "cmake", "uninstall.cmake"), manifest], capture_output=True, text=True, timeout=60)
    expect.need(done.returncode and "cannot be told" in done.stderr, f"{done}")


def not_built(scratch):
    """`make install` builds nothing, and says so."""
    done = subprocess.run(["make", "-C", jobs.SOURCE, "install", f"BUILD={scratch}", f"PREFIX={scratch}/prefix"], capture_output=True, text=True, timeout=60)
    expect.need(done.returncode and "run make build first" in done.stderr and not os.listdir(scratch), f"{done}")


def no_example_known(_scratch):
    """The names of the examples' and tests' files and kernels, and what these tests call things, nowhere in the tool."""
    words = {os.path.splitext(name)[0] for name in os.listdir(jobs.EXAMPLES) if name.endswith(".py")}
    words |= {"add_one", "await_flag", "raise_flag", "driver_world", "another_name"}
    words -= {"compile", "ranks"}
    searched = 0
    for folder in ("src", "launcher", "configs", "include"):
        for root, _, names in os.walk(os.path.join(jobs.SOURCE, folder)):
            for name in names:
                with open(os.path.join(root, name), errors="replace") as file:
                    text = file.read()
                searched += 1
                known = [word for word in words if word in text]
                expect.need(not known, f"{os.path.join(root, name)} knows {known}")
    expect.need(searched > 20, "nothing was searched")


if __name__ == "__main__":
    jobs.main({case.__name__: case for case in (moved, consumers, uninstalled, uninstalled_in_vain, not_built, no_example_known)})
