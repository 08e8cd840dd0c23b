"""The rows of matrix instructions for generate.py, with a few others, and what they must compute: exact arithmetic, by the layouts
that the PTX ISA draws (9.7.14.5, 9.7.15.5), written down apart from the executor's code. A row that no GPU has recorded yet is judged
by this.

    matrices.py > reference.txt        lines as in vectors.txt

Rows named …_exact multiply small integers, and every sum is exact; those named …_near multiply numbers around one (integers: add
to what nearly overflows), where hardware cuts off what a rounded sum would keep: there the reference is the exact sum, rounded once.
Those named …_odd have subnormal numbers, and a few infinite ones and NaNs.
"""
import collections
import math
import struct
import sys

THREADS = 64
FIELDS = {"f64": (52, 11), "f16": (10, 5), "bf16": (7, 8), "tf32": (10, 8), "f32": (23, 8), "e4m3": (3, 4), "e5m2": (2, 5)}
BYTES = {"f64": 8, "f16": 2, "bf16": 2, "tf32": 4, "e4m3": 1, "e5m2": 1, "s8": 1, "u8": 1}
FLOATS = ("f16", "bf16", "tf32", "e4m3", "e5m2")
# Of mma: shape, type of the sum, type of the factors.
SHAPES = [("m16n8k8", "f32", "f16"), ("m16n8k8", "f16", "f16"), ("m16n8k16", "f32", "f16"), ("m16n8k16", "f16", "f16"),
          ("m16n8k8", "f32", "bf16"), ("m16n8k16", "f32", "bf16"), ("m16n8k4", "f32", "tf32"), ("m16n8k8", "f32", "tf32"),
          ("m16n8k16", "s32", "s8"), ("m16n8k32", "s32", "s8"), ("m16n8k16", "s32", "u8"), ("m16n8k32", "s32", "u8"),
          ("m16n8k32", "f32", "e4m3"), ("m16n8k32", "f16", "e4m3"), ("m16n8k32", "f32", "e5m2"), ("m16n8k32", "f16", "e5m2")]
GROUPS = [("f32", "f16"), ("f16", "f16"), ("f32", "bf16"), ("f32", "tf32"), ("s32", "s8"), ("s32", "u8"), ("f32", "e4m3"),
          ("f16", "e4m3"), ("f32", "e5m2"), ("f16", "e5m2")]
SPANS = {"0": 16, "128": 128, "64": 64, "32": 32}  # bytes of a line that lie together, by swizzle
MODES = {"0": 0, "128": 1, "64": 2, "32": 3}


# ---- numbers -------------------------------------------------------------------------------------------------------
def decode(bits, kind):
    """The number that an element stands for."""
    if kind in ("s8", "u8"):
        return bits - 256 if kind == "s8" and bits > 127 else bits
    mantissa, exponent = FIELDS[kind]
    if kind == "tf32":
        bits >>= 13
    field, rest = bits >> mantissa & (1 << exponent) - 1, bits & (1 << mantissa) - 1
    if field == (1 << exponent) - 1 and (kind != "e4m3" or rest == 7):
        return math.nan if rest else math.inf * (1 - 2 * (bits >> mantissa + exponent & 1))
    whole = rest if not field else rest | 1 << mantissa
    value = math.ldexp(whole, max(field, 1) - (1 << exponent - 1) + 1 - mantissa)
    return -value if bits >> mantissa + exponent & 1 else value


def encode(value, kind):
    """The element nearest to a number; among its neighbours the even one."""
    if kind in ("s8", "u8"):
        return int(value) & 0xFF
    mantissa, exponent = FIELDS[kind]
    size = abs(value)
    if not math.isfinite(value):
        bits = (1 << exponent) - 1 << mantissa | ((1 << mantissa) - 1 if math.isnan(value) else (value < 0) << mantissa + exponent)
        return bits << 13 if kind == "tf32" else bits
    unit = max(math.frexp(size)[1] - 1, 2 - (1 << exponent - 1)) - mantissa
    whole = round(math.ldexp(size, -unit))
    bits = whole + (unit + mantissa + (1 << exponent - 1) - 2 << mantissa) if size else 0
    bits |= (value < 0 or math.copysign(1, value) < 0) << mantissa + exponent
    return bits << 13 if kind == "tf32" else bits


def number(drawn, kind, how):
    """A factor or an accumulator of a row."""
    if how == "near":
        return (drawn.random() * 2 - 1) * 2.0 ** drawn.randint(-4, 4)
    if how == "odd":
        roll, (mantissa, exponent) = drawn.random(), FIELDS[kind]
        if roll < 0.006:
            return drawn.choice([math.nan if kind == "e4m3" else math.inf, -math.inf if kind != "e4m3" else math.nan, math.nan])
        if roll < 0.2:
            return drawn.choice([1, -1]) * math.ldexp(drawn.getrandbits(mantissa), 2 - (1 << exponent - 1) - mantissa)
    return drawn.randint(0 if kind == "u8" else -4, 4)


def packed(drawn, kind, how):
    """64 bits of elements."""
    if kind == "s32":
        far = [drawn.choice([2**31 - 1 - drawn.randint(0, 9999), drawn.randint(0, 9999) - 2**31]) for _ in range(2)]
        return sum((far[i] if how == "near" else drawn.randint(-99, 99)) % 2**32 << 32 * i for i in range(2))
    if kind in ("s8", "u8") and how == "near":
        return drawn.getrandbits(64)
    width = 8 * {"f32": 4, **BYTES}[kind]
    return sum(encode(number(drawn, kind, how), kind) << i for i in range(0, 64, width))


def total(products, accumulator, into, saturates):
    if not all(map(math.isfinite, [accumulator, *products])):
        return encode(sum(products, accumulator), into)
    exact = accumulator + math.fsum(products)
    if into == "s32":
        return max(min(int(exact), 2**31 - 1), -2**31) & 0xFFFFFFFF if saturates else int(exact) & 0xFFFFFFFF
    return encode(exact, into)


def elements(words, kind):
    """Those of a list of 32-bit registers, in order."""
    data = struct.pack(f"<{len(words)}I", *words)
    size = BYTES[kind]
    return [decode(int.from_bytes(data[i:i + size], "little"), kind) for i in range(0, len(data), size)]


# ---- mma -----------------------------------------------------------------------------------------------------------
def factor(lanes, kind, rows):
    """Rows of A (columns of B: 8 rows) from each lane's registers: lane 4g + i has bytes 4i to 4i + 3 of every 16."""
    lines = [[] for _ in range(rows)]
    for chunk in range(len(lanes[0]) * 8 // rows):
        for row in range(rows):
            register = chunk * (rows // 8) + row // 8
            words = [lanes[row % 8 * 4 + i][register] for i in range(4)]
            lines[row] += elements(words, kind)
    return lines


def sums(a, b, before, into, saturates=False):
    """Each lane's registers of A B + C; `before` gives C by lane and position."""
    results = []
    for lane in range(32):
        values = []
        for v in range(4):
            row, column = lane // 4 + 8 * (v // 2), lane % 4 * 2 + v % 2
            values.append(total([x * y for x, y in zip(a[row], b[column])], before(lane, v), into, saturates))
        results.append(values)
    return results


def halves(word):
    return [word & 0xFFFFFFFF, word >> 32]


def registers(shape, kind):
    """Of A and of B."""
    b = int(shape.split("k")[1]) * BYTES[kind] // 16
    return 2 * b, b


def accumulator(word, sum_kind):
    """By position: four numbers; of the 64 bits, f16 has them side by side, the others each twice."""
    if sum_kind == "f16":
        return [decode(word >> 16 * v & 0xFFFF, "f16") for v in range(4)]
    pair = [bits - (bits >> 31 << 32) if sum_kind == "s32" else decode(bits, "f32") for bits in halves(word)]
    return [pair[0], pair[1], pair[1], pair[0]]


def mma_lines(rows, shape, sum_kind, kind, saturates):
    """The two results of each thread."""
    out, (many, few) = [], registers(shape, kind)
    for warp in range(0, THREADS, 32):
        threads = rows[warp:warp + 32]
        a = factor([(halves(t[0]) + halves(t[1]))[:many] for t in threads], kind, 16)
        b = factor([halves(t[2])[:few] for t in threads], kind, 8)
        c = [accumulator(t[3], sum_kind) for t in threads]
        out += [joined(v, sum_kind) for v in sums(a, b, lambda lane, v: c[lane][v], sum_kind, saturates)]
    return out


def joined(values, sum_kind):
    if sum_kind == "f16":
        return sum(v << 16 * i for i, v in enumerate(values)), 0
    return values[0] | values[1] << 32, values[2] | values[3] << 32


def mma_text(shape, sum_kind, kind, saturates):
    many, few = registers(shape, kind)
    split = ["mov.b64 {{%m0, %m1}}, {a};", "mov.b64 {{%m2, %m3}}, {b};", "mov.b64 {{%m4, %m5}}, {c};", "mov.b64 {{%m6, %m7}}, {x};"]
    two = sum_kind == "f16"
    c, d = ("%m6, %m7", "%m8, %m9") if two else ("%m6, %m7, %m7, %m6", "%m8, %m9, %m10, %m11")
    operands = f"{{{{{d}}}}}, {{{{{listed(0, many)}}}}}, {{{{{listed(4, few)}}}}}, {{{{{c}}}}}"
    word = f"mma.sync.aligned.{shape}.row.col.{'satfinite.' if saturates else ''}{sum_kind}.{kind}.{kind}.{sum_kind}"
    return "\n".join([*split, f"{word} {operands};", "mov.b64 {d}, {{%m8, %m9}};", *([] if two else ["mov.b64 {e}, {{%m10, %m11}};"])])


def listed(first, count):
    return ", ".join(f"%m{first + i}" for i in range(count))


# ---- mma of f64: m8n8k4, lane 4g + i has element i of line g ---------------------------------------------------------
def double_lines(rows):
    out = []
    for warp in range(0, THREADS, 32):
        a, b, *c = ([decode(t[k], "f64") for t in rows[warp:warp + 32]] for k in range(4))
        for lane in range(32):
            row, column = lane // 4 * 4, lane % 4 * 8
            out.append(tuple(total([a[row + k] * b[column + 4 * v + k] for k in range(4)], c[v][lane], "f64", False) for v in range(2)))
    return out


# ---- what else came later ------------------------------------------------------------------------------------------
def upper_half(value):
    """Of an f64 that is normal; subnormal ones are zero."""
    bits = encode(value, "f64") & ~0xFFFFFFFF
    return decode(bits if bits >> 52 & 0x7FF else bits & 1 << 63, "f64")


def coarse_lines(rows, root):
    """1 / a, or that of its root, by upper halves."""
    out = []
    for t in rows:
        a = upper_half(decode(t[0], "f64"))
        of = (math.nan if a < 0 else math.sqrt(a)) if root and a else a
        result = math.nan if math.isnan(of) else math.copysign(math.inf, of) if not of else upper_half(1 / of)
        out.append((encode(result, "f64"), 0))
    return out


COMPARE = {"eq": lambda a, b: a == b, "ne": lambda a, b: a < b or a > b, "lt": lambda a, b: a < b, "ge": lambda a, b: a >= b,
           "equ": lambda a, b: not (a < b or a > b), "nan": lambda a, b: a != a or b != b}


def pair_lines(rows, compare, kind):
    """1 or 0 for each of two halves."""
    one = encode(1, kind)
    return [(sum(one << i for i in (0, 16) if COMPARE[compare](*(decode(v >> i & 0xFFFF, kind) for v in t[:2]))), 0) for t in rows]


def later_rows():
    for op, root in (("rcp", False), ("rsqrt", True)):
        yield (f"{op}_approx_ftz_f64", "f64", 1, ["f64"] * 4, lambda _, v=op: f"{v}.approx.ftz.f64 {{d}}, {{a}};",
               lambda rows, v=root: coarse_lines(rows, v))
    for kind in ("f16", "bf16"):
        for compare in COMPARE:
            yield (f"set_{compare}_{kind}x2_{kind}x2", "u", 1, [f"{kind}x2"] * 4, lambda _, v=f"set.{compare}.{kind}x2.{kind}x2": "\n".join(
                       ["cvt.u32.u64 %m0, {a};", "cvt.u32.u64 %m1, {b};", f"{v} %m2, %m0, %m1;", "cvt.u64.u32 {d}, %m2;"]),
                   lambda rows, v=(compare, kind): pair_lines(rows, *v))


# ---- ldmatrix, stmatrix --------------------------------------------------------------------------------------------
def stored(rows):
    """Each warp's 1,024 bytes of shared memory: every lane's 32 bytes of input."""
    return [b"".join(struct.pack("<4Q", *t) for t in rows[warp:warp + 32]) for warp in range(0, THREADS, 32)]


def row_of(lane):
    """Whose 32 bytes lane's address names: a permutation, so that rows of a matrix do not lie in order."""
    return lane * 5 % 32


def load_lines(rows, count, transposed):
    out = []
    for memory in stored(rows):
        for lane in range(32):
            words = []
            for k in range(count):
                pair = [(lane // 4, lane % 4 * 2 + i) for i in range(2)]
                at = [(c, r) if transposed else (r, c) for r, c in pair]
                found = [struct.unpack_from("<H", memory, row_of(8 * k + r) * 32 + 2 * c)[0] for r, c in at]
                words.append(found[0] | found[1] << 16)
            words += [0] * (4 - count)
            out.append((words[0] | words[1] << 32, words[2] | words[3] << 32))
    return out


def store_lines(rows, count, transposed):
    """stmatrix into the lanes' own input, of which each then reads the first 16 bytes."""
    out = []
    for warp, memory in zip(range(0, THREADS, 32), map(bytearray, stored(rows))):
        for k in range(count):
            for lane in range(32):
                word = (halves(rows[warp + lane][0]) + halves(rows[warp + lane][1]))[k]
                for i in range(2):
                    near, far = lane // 4, lane % 4 * 2 + i
                    r, c = (far, near) if transposed else (near, far)
                    struct.pack_into("<H", memory, row_of(8 * k + r) * 32 + 2 * c, word >> 16 * i & 0xFFFF)
        out += [struct.unpack_from("<2Q", memory, 32 * lane) for lane in range(32)]
    return out


def shared_text(word, count, transposed, load):
    """The lanes' input lies in shared memory, at 1,024 bytes for each warp."""
    keep = ["mov.u32 %m8, tile;", "shl.b32 %m9, %n, 5;", "add.u32 %m9, %m8, %m9;", "st.shared.v2.b64 [%m9], {{{a}, {b}}};",
            "st.shared.v2.b64 [%m9+16], {{{c}, {x}}};", "bar.warp.sync -1;", "mul.lo.u32 %m10, %n, 5;", "and.b32 %m10, %m10, 31;",
            "shr.u32 %m11, %n, 5;", "shl.b32 %m11, %m11, 5;", "add.u32 %m10, %m10, %m11;", "shl.b32 %m10, %m10, 5;",
            "add.u32 %m10, %m8, %m10;"]
    operation = f"{word}.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}.shared.b16"
    vector = f"{{{{{listed(0, count)}}}}}"
    if load:
        clear = [f"mov.b32 %m{i}, 0;" for i in range(4)]
        return "\n".join([*keep, *clear, f"{operation} {vector}, [%m10];", "mov.b64 {d}, {{%m0, %m1}};", "mov.b64 {e}, {{%m2, %m3}};"])
    split = ["mov.b64 {{%m0, %m1}}, {a};", "mov.b64 {{%m2, %m3}}, {b};"]
    return "\n".join([*keep, *split, f"{operation} [%m10], {vector};", "bar.warp.sync -1;", "ld.shared.v2.b64 {{{d}, {e}}}, [%m9];"])


# ---- wgmma ---------------------------------------------------------------------------------------------------------
PIECES = 640  # of 16 bytes: 8 KiB of A, 2 KiB of B
B_AT = 8192


def fill(rows):
    """Shared memory as the 128 threads of a group fill it: the first halves of all inputs, in each KiB in another order."""
    return b"".join(struct.pack("<2Q", *rows[(i + i // 64 * 7) % 64][:2]) for i in range(PIECES))


def steps(kind, swizzle, across):
    """(leading, stride) in bytes, so that a matrix of 64 lines fits into 8 KiB."""
    if across:
        return (16 * 64, 128) if swizzle == "0" else (1024, 8 * SPANS[swizzle])
    return (128, 256) if swizzle == "0" else (16, 8 * SPANS[swizzle])


def placed(base, kind, swizzle, across, line, k):
    """Where an element lies: the layouts of the PTX ISA, 9.7.15.5.1.2, in units of pieces of 16 bytes."""
    leading, stride = steps(kind, swizzle, across)
    size, span = BYTES[kind], SPANS[swizzle]
    inner, outer = (line * size, k) if across else (k * size, line)
    if swizzle == "0":
        groups = inner // 16 * stride + outer // 8 * leading if across else outer // 8 * stride + inner // 16 * leading
        return base + groups + outer % 8 * 16 + inner % 16
    at = base + inner // span * leading + outer // 8 * stride + outer % 8 * span + inner % span
    piece, row = at // 16, at // 128
    return at + ((piece ^ row % (span // 16)) - piece) * 16


def group_matrix(memory, base, kind, swizzle, across, lines):
    count = 32 // BYTES[kind]
    where = [[placed(base, kind, swizzle, across, line, k) for k in range(count)] for line in range(lines)]
    return [[decode(int.from_bytes(memory[at:at + BYTES[kind]], "little"), kind) for at in line] for line in where]


# Types of the sum and of the factors; how A (None: in registers) and B lie; whether D is added to; columns by eight, of which the last
# have results; the sign of A.
Group = collections.namedtuple("Group", "sum kind a b adds blocks sign", defaults=[1, 1])


def group_lines(rows, g):
    memory, out = fill(rows), []
    b = group_matrix(memory, B_AT, g.kind, *g.b, 8 * g.blocks)[-8:]
    whole = group_matrix(memory, 0, g.kind, *g.a, 64) if g.a else None
    for warp in range(THREADS // 32):
        threads = rows[32 * warp:32 * warp + 32]
        a = whole[16 * warp:16 * warp + 16] if whole else factor([halves(t[0]) + halves(t[1]) for t in threads], g.kind, 16)
        c = [accumulator(t[3], g.sum) for t in threads]
        before = (lambda lane, v: c[lane][v]) if g.adds else lambda lane, v: 0
        out += [joined(v, g.sum) for v in sums([[g.sign * v for v in line] for line in a], b, before, g.sum)]
    return out


def descriptor(name, base, kind, way):
    leading, stride = (step // 16 for step in steps(kind, *way))
    rest = leading << 16 | stride << 32 | MODES[way[0]] << 62
    return [f"add.u32 %m12, %m8, {base};", "bfe.u32 %m12, %m12, 4, 14;", f"cvt.u64.u32 {name}, %m12;",
            f"or.b64 {name}, {name}, 0x{rest:x};"]


def group_operation(g):
    each = 2 if g.sum == "f16" else 4
    d = listed(4 - each * (g.blocks - 1), each * g.blocks)
    signs = f", {g.sign}, 1" if g.kind in FLOATS else ""
    across = "".join(f", {int(way[1])}" for way in (g.a, g.b) if way) if BYTES[g.kind] == 2 else ""
    a = "%q8" if g.a else f"{{{{{listed(0, 4)}}}}}"
    shape = f"m64n{8 * g.blocks}k{32 // BYTES[g.kind]}"
    return f"wgmma.mma_async.sync.aligned.{shape}.{g.sum}.{g.kind}.{g.kind} {{{{{d}}}}}, {a}, %q9, %p9{signs}{across};"


def group_text(table, g):
    copy = ["mov.u32 %m8, tile;", "mov.u32 %m9, %tid.x;", "COPY:", "shr.u32 %m10, %m9, 6;", "mul.lo.u32 %m10, %m10, 7;",
            "add.u32 %m10, %m10, %m9;", "and.b32 %m10, %m10, 63;", "mul.wide.u32 %v, %m10, 32;", f"mov.u64 %q8, {table};",
            "add.s64 %v, %v, %q8;", "ld.global.v2.b64 {{%q8, %q9}}, [%v];", "shl.b32 %m10, %m9, 4;", "add.u32 %m10, %m8, %m10;",
            "st.shared.v2.b64 [%m10], {{%q8, %q9}};", "add.u32 %m9, %m9, 128;", f"setp.lt.u32 %p9, %m9, {PIECES};", "@%p9 bra COPY;",
            "fence.proxy.async;", "bar.sync 0;"]
    split = ["mov.b64 {{%m0, %m1}}, {a};", "mov.b64 {{%m2, %m3}}, {b};", "mov.b64 {{%m4, %m5}}, {x};", "mov.b32 %m6, %m5;", "mov.b32 %m7, %m4;"]
    return "\n".join([*copy, *split, *(descriptor("%q8", 0, g.kind, g.a) if g.a else []), *descriptor("%q9", B_AT, g.kind, g.b),
                      f"setp.ne.u32 %p9, {int(g.adds)}, 0;", "wgmma.fence.sync.aligned;", group_operation(g),
                      "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;", "mov.b64 {d}, {{%m4, %m5}};",
                      *([] if g.sum == "f16" else ["mov.b64 {e}, {{%m6, %m7}};"])])


def ways(kind):
    """How A and B may lie: (swizzle, across) each; A None: in registers."""
    along = [(swizzle, False) for swizzle in SPANS]
    found = [(way, way) for way in along] + [(None, ("64", False))]
    if BYTES[kind] == 2:
        found += [((s, True), (s, True)) for s in ("0", "64", "32")] + [(("128", False), ("0", True)), (None, ("0", True))]
    return found


def way_name(way):
    return "r" if not way else way[0] + ("t" if way[1] else "")


def groups(how):
    for s, t in GROUPS if how != "odd" else []:
        for a, b in ways(t) if (s, how) == ("f32", "exact") else ways(t)[1:2]:
            yield Group(s, t, a, b, b[0] != "64")
    if how == "exact":
        for s in ("f32", "f16"):
            yield Group(s, "f16", ("128", False), ("128", False), True, 2, -1)


# ---- rows ----------------------------------------------------------------------------------------------------------
RESULTS = {"f32": "f32x2", "f16": "f16x4", "s32": "u"}


def all_rows():
    """(name, kind of the results, number of results, classes of the inputs, text by the name of their table, lines by the inputs)."""
    for how in ("exact", "near", "odd"):
        for shape, s, t in SHAPES:
            for sat in (False, True)[:1 + (s == "s32")]:
                if s != "s32" or how != "odd":
                    yield (f"mma_{shape}_{s}_{t}{'_satfinite' if sat else ''}_{how}", "u" if how == "exact" else RESULTS[s], 1 + (s != "f16"),
                           [f"{how}_{k}" for k in (t, t, t, s)], lambda _, v=(shape, s, t, sat): mma_text(*v),
                           lambda rows, v=(shape, s, t, sat): mma_lines(rows, *v))
        for g in groups(how):
            more = ("" if g.blocks == 1 else f"_n{8 * g.blocks}") + ("" if g.sign == 1 else "_negated")
            yield (f"wgmma_{g.sum}_{g.kind}_{way_name(g.a)}_{way_name(g.b)}{more}_{how}", "u" if how == "exact" else RESULTS[g.sum],
                   1 + (g.sum != "f16"), [f"{how}_{k}" for k in (g.kind, g.kind, g.kind, g.sum)], lambda table, v=g: group_text(table, v),
                   lambda rows, v=g: group_lines(rows, v))
    for how in ("exact", "near"):
        yield (f"mma_m8n8k4_f64_{how}", "f64", 2, [f"{how}_f64"] * 4,
               lambda _: "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{d}, {e}}}, {{{a}}}, {{{b}}}, {{{c}, {x}}};", double_lines)
    for count in (1, 2, 4):
        for transposed in (False, True):
            for word, load, lines in (("ldmatrix", True, load_lines), ("stmatrix", False, store_lines)):
                yield (f"{word}_x{count}{'_trans' if transposed else ''}", "u", 2, ["i64"] * 4,
                       lambda _, v=(word, count, transposed, load): shared_text(*v), lambda rows, v=(count, transposed), f=lines: f(rows, *v))
    yield from later_rows()


def main():
    import generate
    generate.all_rows()
    for name, kind, _, classes, _, lines in all_rows():
        results = lines(generate.CLASSES[tuple(classes)][1])
        second = [f"{r[1]:x}" for r in results]
        print(f"{name}__{kind}", *(f"{r[0]:x}" for r in results), *(["|", *second] if any(r[1] for r in results) else []))


if __name__ == "__main__":
    sys.exit(main())
