"""The command line of gsan-ptxas: arguments_test.py GSAN_PTXAS. Which options of a real ptxas have a value, its own help says."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

from real import NEW, OLD, PTX

GSAN_PTXAS = os.path.abspath(sys.argv.pop(1))
# They say where the input is, or are answered without one.
OTHERS = {"--input-as-string", "--options-file", "--output-file", "--help", "--version"}
UNSAID = {"--def-load-cache", "--def-store-cache", "--force-load-cache", "--force-store-cache"}  # have a value


class Arguments(unittest.TestCase):
    def test_values(self):
        with tempfile.TemporaryDirectory(prefix="arguments-test-") as home:
            ptx = os.path.join(home, "a.ptx")
            with open(ptx, "w", encoding="utf-8") as file:
                file.write(PTX)
            for ptxas in (OLD, NEW):
                said = subprocess.run([ptxas, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
                options = re.findall(r"^(--\S+)( <\S.*?>\S*)?\s+\((-\S+)\)", said, re.M)
                self.assertGreater(len(options), 40)
                for name, value, short in options:
                    for option in {name, short} if name not in OTHERS else ():
                        command = [GSAN_PTXAS, "--emit-ptx", option, *(["1"] if value or name in UNSAID else []), ptx]
                        made = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
                        self.assertIn("k__gsan", made.stdout, (ptxas, option, value, made.stderr))


unittest.main()
