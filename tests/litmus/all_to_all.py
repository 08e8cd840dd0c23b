"""All-to-all among up to eight ranks on the emulated device: each CTA fills a slot of every other rank's memory and says so by a flag of
its own, or by adding to a counter that all share. Too many executions for the enumerator of the axioms, but what they mean is
plain: behind all flags everything is ordered; of one that is relaxed, the store before it races with the loads behind it, and
nothing else does. Counters of more than six ranks, which all observe each other's additions, fill a clock: there the race may
be missed, and that is counted.

    all_to_all.py --build DIR
"""
import argparse
import collections
import json
import os
import re
import sys
import tempfile

import gpu

REPEATS = 3
FORMS = (("flags", 8, 2, True), ("counters", 6, 1, True), ("counters", 8, 2, False))  # ranks, CTAs of each, is no limit reached?
LIMITS = ("lost_records", "sync_table_full", "cta_states_full", "clock_entries_collapsed", "epochs_saturated", "ambiguous_versions")


class Program:
    """If it is `racy`, the last CTA tells the first rank without release; `pairs`: the lines that race."""

    def __init__(self, ranks, ctas, counters, racy):
        self.actors = [(rank, cta) for rank in range(ranks) for cta in range(ctas)]
        self.counters, self.racy = counters, racy
        self.lines = ["litmus all-to-all", f"ranks {ranks}", "devices " + " ".join(map(str, range(ranks)))]
        self.locations()
        for rank in range(ranks):
            self.lines.append(f"launch K{rank} rank {rank}")
            for cta in range(ctas):
                self.cta((rank, cta))
        self.lines.append("exists " + " & ".join(f"K{rank}.0:r50 = 5" for rank in range(ranks)))
        self.pairs = set(self.racing("slot0_{}_{}".format(*self.actors[-1]))) if racy else set()

    def racing(self, slot):
        """Lines of the store to a slot and of each load from it."""
        store = self.lines.index(f"st.global.b32 {slot} 5") + 1
        return ((store, number) for number, line in enumerate(self.lines, 1) if line == f"ld.global.b32 r50 {slot}")

    def peers(self, actor):
        """The actors of other ranks, from the next rank on: all begin elsewhere."""
        turned = [a for a in self.actors if a > actor] + [a for a in self.actors if a < actor]
        return [a for a in turned if a[0] != actor[0]]

    def ranks_of(self, actor):
        return list(dict.fromkeys(rank for rank, _ in self.peers(actor)))

    def flag(self, actor, rank):
        return f"pad{rank}" if self.counters else f"pad{rank}_{actor[0]}_{actor[1]}"

    def locations(self):
        for rank in sorted({rank for rank, _ in self.actors}):
            others = [actor for actor in self.actors if actor[0] != rank]
            self.lines += [f"location slot{rank}_{r}_{c} rank {rank}" for r, c in others]
            self.lines += sorted({f"location {self.flag(actor, rank)} rank {rank}" for actor in others})

    def tell(self, actor, rank):
        sem = "relaxed" if self.racy and (actor, rank) == (self.actors[-1], 0) else "release"
        operation = f"red.{sem}.sys.global.add.u32" if self.counters else f"st.{sem}.sys.global.b32"
        return f"{operation} {self.flag(actor, rank)} 1"

    def cta(self, actor):
        rank, cta = actor
        self.lines.append(f"cta {cta}")
        for to in self.ranks_of(actor):
            self.lines.append(f"st.global.b32 slot{to}_{rank}_{cta} 5")
        self.lines += [self.tell(actor, to) for to in self.ranks_of(actor)]
        peers = self.peers(actor)
        for k, group in enumerate([peers] if self.counters else [[peer] for peer in peers]):
            self.lines += [f"poll ld.acquire.sys.global.b32 r{k} {self.flag(group[0], rank)} {len(group)} 400", f"if r{k} == {len(group)}"]
            self.lines += [f"ld.global.b32 r50 slot{rank}_{r}_{c}" for r, c in group]
            self.lines.append("end")


def run(build, program, ranks):
    """What the CTAs read from the last slot, and the summary."""
    with tempfile.TemporaryDirectory(prefix="all-to-all-") as place:
        path = os.path.join(place, "program.litmus")
        with open(path, "w") as file:
            file.write("\n".join(program.lines) + "\n")
        job = gpu.Emulated(build, place, ranks)(ranks, ["--repeat", str(REPEATS), "--batch", "1", "--polls", "500", path])
        if job.status not in (0, 66):
            sys.exit(f"status {job.status}: {job.err[-2000:]}")
        with open(os.path.join(job.report, "summary.json")) as file:
            return re.findall(r":r50=(\d+)", job.out), json.load(file)


def complaints(build, program, ranks, exact):
    read, summary = run(build, program, ranks)
    pairs = {(f["first"]["line"], f["second"]["line"]) for each in summary["findings"] for f in each.get("pairs", [each])}
    reached = {name: n for name, n in summary["coverage"]["counters"].items() if name in LIMITS and n}
    if len(read) != len(program.actors) * REPEATS or {int(value) for value in read} != {5}:
        yield f"not all CTAs saw all flags: {collections.Counter(read)}"
    if pairs != program.pairs and not (not exact and reached and pairs < program.pairs):
        yield f"lines that race: {sorted(pairs)}, not {sorted(program.pairs)}"
    if reached and exact:
        yield f"limits were reached: {reached}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    args = parser.parse_args()
    said = []
    for form, ranks, ctas, exact in FORMS:
        for racy in (False, True):
            name = f"{form}, {ranks} ranks of {ctas} CTAs, {'racy' if racy else 'correct'}"
            found = list(complaints(args.build, Program(ranks, ctas, form == "counters", racy), ranks, exact))
            print(f"{'FAIL' if found else 'ok  '} {name}", flush=True)
            said += [f"{name}: {what}" for what in found]
    print("\n".join(said) or "as expected")
    sys.exit(bool(said))


if __name__ == "__main__":
    main()
