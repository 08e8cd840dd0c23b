"""bench/cost.py: what its check says of figures that were changed, of rows that are missing, and its figures from two lines by hand.

    cost_test.py BUILD
"""
import copy
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import cost  # noqa: E402

BUILD = sys.argv[1]
ROW = {"x": 10.0, "own_bytes": 2.0, "own_sectors": 0.0, "parts": {"line": 9.0}, "original": 100, "accesses": 50}
QUICK = "coalesced, 4 rounds"  # a row that takes no second


def grown(figure, factor):
    return {"a": {**ROW, figure: ROW[figure] * factor}, "b": ROW}


class Compared(unittest.TestCase):
    def test_equal_and_less(self):
        self.assertEqual(cost.compared({"a": ROW, "b": ROW}, {"a": ROW, "b": ROW}, "ab"), [])
        self.assertEqual(cost.compared({"a": ROW, "b": ROW}, grown("x", 0.5), "ab"), [])

    def test_two_per_cent(self):
        for figure in ("x", "own_bytes"):
            self.assertEqual(cost.compared({"a": ROW, "b": ROW}, grown(figure, 1.019), "ab"), [])
            wrong = cost.compared({"a": ROW, "b": ROW}, grown(figure, 1.03), "ab")
            self.assertEqual(len(wrong), 1)
            self.assertIn(f"a: {figure} has grown by 3.0%", wrong[0])

    def test_from_nothing(self):
        self.assertIn("own_sectors has grown from nothing", cost.compared({"a": ROW}, {"a": {**ROW, "own_sectors": 0.001}}, "a")[0])

    def test_missing_row(self):
        self.assertEqual(cost.compared({"a": ROW}, {"a": ROW, "b": ROW}, "ab"), ["b: not in bench/results/cost.json"])
        self.assertEqual(cost.compared({"a": ROW}, {"a": ROW}, "ab"), ["b: not in bench/results/cost.json"])

    def test_says_what_to_do(self):
        self.assertIn("bench/cost.py --write", cost.said(["a: x has grown"]))
        self.assertEqual(cost.said([]), "no row has grown")


class Figures(unittest.TestCase):
    def test_by_hand(self):
        def traffic(accesses, size, sectors):
            return {"accesses": accesses, "bytes": size, "sectors": sectors}
        plain = {"instructions": 200, "program": traffic(64, 256, 8), "ours": traffic(0, 0, 0)}
        checked = {"instructions": 1000, "program": traffic(64, 256, 8), "ours": traffic(4, 128, 16),
                   "parts": {"kernel": {"instructions": 300}, "line": {"instructions": 700}}}
        self.assertEqual(cost.row_of(plain, checked), {"x": 5.0, "own_bytes": 2.0, "own_sectors": 0.25, "parts": {"inserted": 0.5, "line": 3.5},
                                                       "original": 200, "accesses": 64})

    def test_tensor_cores(self):
        """One instruction for one, and the emulated device has them."""
        path = "bench/ptx/matmul.ptx"
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            before = file.read()
        after = cost.ptx_of(path)
        self.assertEqual(len(before.splitlines()), len(after.splitlines()))
        self.assertTrue(re.search(r"\bmma\.", before) and re.search(r"\bldmatrix\.", before))
        self.assertFalse(re.search(r"\b(mma|ldmatrix)\.", after))


class File(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.kept = cost.RESULTS
        cost.RESULTS = os.path.join(self.folder.name, "cost.json")

    def tearDown(self):
        cost.RESULTS = self.kept
        self.folder.cleanup()

    def test_written(self):
        """Other rows stay, unknown ones go, the order is the table's."""
        first, second = list(cost.ALL)[:2]
        cost.write({"rows": {second: ROW, "of old": ROW}}, {first: {**ROW, "x": 3.0}}, "clang 1")
        result = cost.committed_file()
        self.assertEqual(list(result["rows"]), [first, second])
        self.assertEqual((result["clang"], result["rows"][first]["x"], result["rows"][second]["x"]), ("clang 1", 3.0, 10.0))


def check(results):
    """cost.py --check of one row against these results: its status, and what it says."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cost.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(results, file)
        program = f"import sys; sys.path.insert(0, {os.path.join(ROOT, 'bench')!r}); import cost; cost.RESULTS = {path!r}; sys.exit(cost.main())"
        done = subprocess.run([sys.executable, "-c", program, "--check", "--build", BUILD, QUICK], stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout


class Whole(unittest.TestCase):
    def setUp(self):
        self.committed = cost.committed_file()
        if self.committed["clang"] != cost.clang_of(BUILD):
            self.skipTest("the figures are of another clang")

    def test_as_committed(self):
        self.assertEqual(check(self.committed)[0], 0)

    def test_changed(self):
        for figure in cost.FIGURES:
            changed = copy.deepcopy(self.committed)
            changed["rows"][QUICK][figure] /= 1.03
            status, out = check(changed)
            self.assertEqual(status, 1)
            self.assertIn(f"{QUICK}: {figure} has grown by", out)

    def test_row_missing(self):
        changed = copy.deepcopy(self.committed)
        del changed["rows"]["gridlock, 4 CTAs"]
        status, out = check(changed)
        self.assertEqual(status, 1)
        self.assertIn("gridlock, 4 CTAs: not in", out)

    def test_other_compiler(self):
        status, out = check({**self.committed, "clang": "another"})
        self.assertEqual(status, cost.DIFFERS)
        self.assertIn("another", out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
