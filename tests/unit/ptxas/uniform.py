"""Uniform registers of a disassembled cubin. There is one set for a warp: where its lanes have parted, whoever goes on next may write them.
So what a part of a warp reads there must have been written since the last place where the lanes may change over. ptxas 12.8 forgets that for
a function that begins with an atomic: it takes the descriptor that its callers had, across a YIELD, and the other lanes' vote leaves a
mask there (CUDA error 715 on H100s)."""
import re

INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@(?P<guard>!?U?P[T\d]+)\s+)?(?P<op>[A-Z][\w.]*)\s*(?P<operands>.*?)\s*;")
FUNCTION, LABEL = re.compile(r"^(\$?[A-Za-z_][\w$]*):$"), re.compile(r"^(\.L_\w+):$")
MAY_CHANGE_OVER = {"YIELD", "CALL", "WARPSYNC", "NANOSLEEP", "BAR", "BSYNC"}
ENDS = {"BRA", "BRX", "JMP", "RET", "EXIT"}


def functions(text):
    """(name, [(label, op, guard, operands)…]) of each function; an instruction has no label, a label nothing else."""
    name, body = None, []
    for line in text.splitlines():
        line = line.strip()
        begins, label, instruction = FUNCTION.match(line), LABEL.match(line), INSTRUCTION.search(line)
        if begins:
            if body:
                yield name, body
            name, body = begins[1], []
        elif label:
            body.append((label[1], None, None, None))
        elif instruction:
            body.append((None, instruction["op"], instruction["guard"], instruction["operands"]))
    if body:
        yield name, body


def written(op, operands):
    first = re.match(r"UR(\d+)", operands)
    if not first or not op.startswith(("U", "R2UR", "S2UR")):
        return set()
    at = int(first[1])
    return {at, at + 1} if ".64" in op or ".WIDE" in op else {at}


def read(op, operands):
    rest = operands.partition(",")[2] if written(op, operands) else operands
    found = set()
    for descriptor, number, wide in re.findall(r"(desc\[)?UR(\d+)(\.64)?", rest):
        found |= {int(number), int(number) + 1} if descriptor or wide else {int(number)}
    return found


def is_descriptor(op, operands):
    """The one that all accesses to global memory have: whoever writes it writes the same."""
    return op.startswith("R2UR") or (op.startswith("ULDC") and "c[0x0][0x208]" in operands)


def fresh(body):
    """For each place of a function, what was written on every way there since the lanes may have changed over; None: no way."""
    target = {label: i for i, (label, *_) in enumerate(body) if label}
    before, work = [None] * len(body), [0]
    before[0] = frozenset()
    while work:
        i = work.pop()
        label, op, guard, operands = body[i]
        now, after = before[i], [i + 1]
        if not label:
            kind = op.partition(".")[0]
            now = (frozenset() if kind in MAY_CHANGE_OVER else now) | written(op, operands)
            if kind != "BSSY":
                after += [target[name] for name in re.findall(r"`\((\.L_\w+)\)", operands) if name in target]
            if kind in ENDS and not guard and not operands.startswith(("P", "!P", "U", "!U")) and op not in ("BRA.DIV", "BRA.CONV"):
                after.remove(i + 1)
        for j in after:
            if j < len(body) and (before[j] is None or not before[j] <= now):
                before[j] = now if before[j] is None else before[j] & now
                work.append(j)
    return before


def reached_whole(bodies, whole):
    """Names of functions that run for all lanes of a warp or none: those that `whole` says, and what these alone call."""
    callers = {}
    for name, body in bodies:
        for _, op, _, operands in body:
            if op and op.startswith("CALL"):
                for called in re.findall(r"`\((\$?[\w$]+)\)", operands):
                    callers.setdefault(called, set()).add(name)
    found, more = set(), {name for name, _ in bodies if whole(name)}
    while more:
        found |= more
        more = {name for name, by in callers.items() if by <= found} - found
    return found


def stale(text, ours, whole):
    """(function, register, instruction) of each read that other lanes may have written over. ours: is a name one of the runtime's
    functions, of which each kernel has its own, `$KERNEL$FUNCTION`; whole: does it run for all lanes of a warp or none."""
    everything = list(functions(text))
    bodies, differs, safe = [(name, body) for name, body in everything if ours(name)], {}, reached_whole(everything, whole)
    for name, body in bodies:
        there = differs.setdefault(name.rpartition("$")[0], set())
        there.update(r for _, op, _, operands in body if op and not is_descriptor(op, operands) for r in written(op, operands))
    for name, body in bodies:
        if name in safe:
            continue
        there = differs[name.rpartition("$")[0]]
        for (_, op, _, operands), since in zip(body, fresh(body)):
            for register in sorted(read(op, operands) & there) if op and since is not None else ():
                if register not in since:
                    yield name, register, f"{op} {operands}"
