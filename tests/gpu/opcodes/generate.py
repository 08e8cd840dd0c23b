#!/usr/bin/env python3
"""Writes the PTX module of the opcode vectors to standard output.

One tiny kernel per opcode, type and modifiers; kernel NAME__KIND says what it computes and how results compare (u exact,
f16 f16x2 bf16 bf16x2 f32 f64: any NaN equals any NaN). Each takes one pointer: 64 threads each leave two 64-bit
results there, and may use the 16 bytes per thread behind all results as scratch. Inputs, special values and random
ones from a fixed seed, are tables in the module itself, so runner and test need nothing but this text.
"""
import random
import re
import struct
import sys

import matrices

THREADS = 64
RANDOM = random.Random(20240917)
ROWS = []


def bits32(v):
    return struct.unpack("<I", struct.pack("<f", v))[0]


def bits64(v):
    return struct.unpack("<Q", struct.pack("<d", v))[0]


def integers(width):
    top = 1 << (width - 1)
    return [0, 1, 2, 3, 7, 31, 32, top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, 0x5A, 0x80, 0xFF, 100]


SPECIAL = {
    "i16": integers(16), "i32": integers(32) + [0xFFFF, 0x10000, 0x12345678, 0x80808080],
    "i64": integers(64) + [0xFFFFFFFF, 1 << 32, 0x8000000080000000, 0x123456789ABCDEF0],
    "f16": [0, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0x0001, 0x8001, 0x03FF, 0x0400, 0x7BFF, 0xFBFF, 0x3555, 0x4248, 0x3800],
    "bf16": [0, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 0x0001, 0x8001, 0x007F, 0x0080, 0x7F7F, 0xFF7F, 0x3EAB, 0x4049, 0x3F00],
    "f32": [0, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x80000001, 0x007FFFFF, 0x00800000,
            0x7F7FFFFF, 0xFF7FFFFF, bits32(0.5), bits32(1.5), bits32(2.5), bits32(-0.5), bits32(-2.5), bits32(3.14159274),
            bits32(2147483648.0), bits32(4294967296.0), bits32(65504.0), bits32(65520.0), bits32(448.0), bits32(1e-30), bits32(127.49)],
    "f64": [0, 1 << 63, bits64(1), bits64(-1), bits64(float("inf")), bits64(-float("inf")), 0x7FF8000000000000, 1, 0x000FFFFFFFFFFFFF,
            0x0010000000000000, 0x7FEFFFFFFFFFFFFF, bits64(0.5), bits64(2.5), bits64(-2.5), bits64(2.0**31), bits64(2.0**63),
            bits64(1e300), bits64(1e-40), bits64(1.00000005960464477), bits64(3.141592653589793)],
}
ONE = {"f16": 0x3C00, "bf16": 0x3F80, "f32": 0x3F800000, "f64": bits64(1.0)}
WIDTH = {"i16": 16, "i32": 32, "i64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}


def value(kind):
    if kind.endswith("x2"):
        return value(kind[:-2]) | value(kind[:-2]) << 16
    roll = RANDOM.random()
    if roll < 0.45:
        return RANDOM.choice(SPECIAL[kind])
    if kind in ONE and roll < 0.85:  # near one in size, where arithmetic rounds
        near = (RANDOM.random() * 2 - 1) * 2.0 ** RANDOM.randint(-6, 6)
        if kind == "f64":
            return bits64(near)
        wide = bits32(near)
        return wide if kind == "f32" else wide >> 16 if kind == "bf16" else struct.unpack("<H", struct.pack("<e", near))[0]
    return RANDOM.getrandbits(WIDTH[kind])


def moderate(low, high):
    return bits32(low + RANDOM.random() * (high - low))


def word(kind):
    """One 64-bit input of a class."""
    if kind.startswith(("exact_", "near_", "odd_")):
        how, element = kind.split("_")
        return matrices.packed(RANDOM, element, how)
    if kind in ("shift", "shift64"):
        return RANDOM.randint(0, 80)
    if kind == "lane":
        return RANDOM.randint(0, 31)
    if kind == "few":
        return RANDOM.randint(0, 3)
    if kind == "angle":
        return moderate(-3.14, 3.14)
    if kind == "positive":
        return moderate(0.001, 1000.0)
    if kind == "power":
        return moderate(-20.0, 20.0)
    if kind == "divisor16" or kind == "divisor32" or kind == "divisor64":
        width = int(kind[7:])
        v = value(f"i{width}")
        return v if v not in (0, (1 << width) - 1) else 3
    return value(kind)


CLASSES = {}


def table(kinds):
    """Inputs a, b, c, d of every thread; each combination of classes is one table."""
    kinds = (tuple(kinds) + ("i32",) * 4)[:4]
    if kinds not in CLASSES:
        rows = []
        for _ in range(THREADS):
            rows.append([word(k) for k in kinds])
        CLASSES[kinds] = ("in_" + "_".join(kinds), rows)
    return CLASSES[kinds][0]


REGISTER = {"h": "%h", "r": "%r", "q": "%q", "p": "%p"}


def row(text, kind, outs, ins, kinds, name=None, more=()):
    """text uses {d} {e} for results and {a} {b} {c} {x} for inputs; outs and ins give each one's register class. more: lines of
    declarations."""
    name = name or re.sub(r"[^A-Za-z0-9]+", "_", text.split()[0].rstrip(";"))
    lines = [f".visible .entry {name}__{kind}(.param .u64 out)", "{", *more,
             ".reg .pred %p<10>;", ".reg .b16 %h<10>;", ".reg .b32 %r<10>;", ".reg .b64 %q<10>;", ".reg .b64 %in<4>;",
             ".reg .b64 %o, %s, %t, %v;", ".reg .b32 %n;",
             "ld.param.u64 %o, [out];", "mov.u32 %n, %tid.x;", f"and.b32 %n, %n, {THREADS - 1};",
             "mul.wide.u32 %t, %n, 32;",
             f"mov.u64 %v, {table(kinds)};", "add.s64 %t, %t, %v;"]
    names = {}
    for k, c in enumerate(ins):
        reg = REGISTER[c] + str(k)
        names["abcx"[k]] = reg
        lines.append(f"ld.global.b64 %in{k}, [%t+{8 * k}];")
        if c == "h":
            lines.append(f"cvt.u16.u64 {reg}, %in{k};")
        elif c == "r":
            lines.append(f"cvt.u32.u64 {reg}, %in{k};")
        elif c == "q":
            lines.append(f"mov.b64 {reg}, %in{k};")
        else:
            lines += [f"and.b64 %v, %in{k}, 1;", f"setp.ne.u64 {reg}, %v, 0;"]
    for k, c in enumerate(outs):
        names["de"[k]] = REGISTER[c] + str(4 + k)
    lines += ["mul.wide.u32 %s, %n, 16;", "add.s64 %s, %s, %o;"]
    lines.append(text.format(**names, s=f"%s+{16 * THREADS}"))
    for k in range(2):
        c = outs[k] if k < len(outs) else ""
        reg = names.get("de"[k])
        if c == "h":
            lines.append(f"cvt.u64.u16 %v, {reg};")
        elif c == "r":
            lines.append(f"cvt.u64.u32 %v, {reg};")
        elif c == "q":
            lines.append(f"mov.b64 %v, {reg};")
        elif c == "p":
            lines.append(f"selp.u64 %v, 1, 0, {reg};")
        else:
            lines.append("mov.u64 %v, 0;")
        lines.append(f"st.global.u64 [%s+{8 * k}], %v;")
    ROWS.append("\n".join(lines + ["ret;", "}"]))


def simple(op, regs, kind, kinds, outs=1, name=None):
    """op d, a, b …: the first `outs` of regs are results."""
    letters = ["{d}", "{e}"][:outs] + ["{a}", "{b}", "{c}", "{x}"][: len(regs) - outs]
    row(f"{op} {', '.join(letters)};", kind, regs[:outs], regs[outs:], kinds, name)


REG = {"16": "h", "32": "r", "64": "q"}


def integer_rows():
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        r, i = REG[t[1:]], "i" + t[1:]
        for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max"):
            simple(f"{op}.{t}", r * 3, "u", [i, i])
        for op in ("div", "rem"):
            simple(f"{op}.{t}", r * 3, "u", [i, "divisor" + t[1:]])
        for op in ("mad.lo", "mad.hi", "sad"):
            simple(f"{op}.{t}", r * 4, "u", [i, i, i])
        simple(f"shr.{t}", r + r + "r", "u", [i, "shift"])
        if t[0] == "s":
            simple(f"abs.{t}", r * 2, "u", [i])
            simple(f"neg.{t}", r * 2, "u", [i])
        if t[1:] != "64":
            w = REG[str(2 * int(t[1:]))]
            simple(f"mul.wide.{t}", w + r + r, "u", [i, i])
            simple(f"mad.wide.{t}", w + r + r + w, "u", [i, i, "i" + str(2 * int(t[1:]))])
        for c in ("eq", "ne", "lt", "le", "gt", "ge"):
            row(f"setp.{c}.{t} {{d}}|{{e}}, {{a}}, {{b}};", "u", "pp", r + r, [i, i])
        if t[0] == "u":
            for c in ("lo", "ls", "hi", "hs"):
                simple(f"setp.{c}.{t}", "p" + r + r, "u", [i, i])
        simple(f"set.lt.u32.{t}", "r" + r + r, "u", [i, i])
        simple(f"set.ge.f32.{t}", "r" + r + r, "u", [i, i])
        simple(f"slct.{t}.s32", r * 3 + "r", "u", [i, i, "i32"])
        simple(f"slct.ftz.{t}.f32", r * 3 + "r", "u", [i, i, "f32"])
        simple(f"selp.{t}", r * 3 + "p", "u", [i, i, "i32"])
    for b in ("and", "or", "xor"):
        row(f"setp.lt.{b}.s32 {{d}}|{{e}}, {{a}}, {{b}}, {{c}};", "u", "pp", "rrp", ["i32", "i32", "i32"])
        row(f"setp.ge.{b}.u64 {{d}}|{{e}}, {{a}}, {{b}}, !{{c}};", "u", "pp", "qqp", ["i64", "i64", "i32"], f"setp_ge_{b}_not_u64")
        simple(f"{b}.pred", "ppp", "u", ["i32", "i32"])
    simple("not.pred", "pp", "u", ["i32"])
    for op in ("add.sat.s32", "sub.sat.s32", "mul24.lo.u32", "mul24.hi.u32", "mul24.lo.s32", "mul24.hi.s32", "add.u16x2"):
        simple(op, "rrr", "u", ["i32", "i32"])
    for op in ("mad.hi.sat.s32", "mad24.lo.u32", "mad24.lo.s32", "dp4a.u32.u32", "dp4a.s32.u32", "dp4a.u32.s32", "dp4a.s32.s32",
               "dp2a.lo.u32.u32", "dp2a.hi.s32.s32", "dp2a.lo.u32.s32", "prmt.b32"):
        simple(op, "rrrr", "u", ["i32", "i32", "i32"])
    for w in ("32", "64"):
        r, i = REG[w], "i" + w
        for first, second in (("add.cc", "addc"), ("add.cc", "addc.cc"), ("sub.cc", "subc"), ("sub.cc", "subc.cc")):
            row(f"{first}.u{w} {{d}}, {{a}}, {{b}};\n{second}.u{w} {{e}}, {{b}}, {{c}};", "u", r * 2, r * 3, [i, i, i],
                f"{first}_{second}_{w}".replace(".", "_"))
        row(f"mad.lo.cc.u{w} {{d}}, {{a}}, {{b}}, {{c}};\nmadc.hi.u{w} {{e}}, {{a}}, {{b}}, {{x}};", "u", r * 2, r * 4, [i] * 4,
            f"mad_lo_cc_madc_hi_{w}")
        row(f"mad.hi.cc.u{w} {{d}}, {{a}}, {{b}}, {{c}};\nmadc.lo.cc.u{w} {{e}}, {{a}}, {{b}}, {{x}};", "u", r * 2, r * 4, [i] * 4,
            f"mad_hi_cc_madc_lo_{w}")


def bit_rows():
    for w in ("16", "32", "64"):
        r, i = REG[w], "i" + w
        for op in ("and", "or", "xor"):
            simple(f"{op}.b{w}", r * 3, "u", [i, i])
        for op in ("not", "cnot"):
            simple(f"{op}.b{w}", r * 2, "u", [i])
        simple(f"shl.b{w}", r + r + "r", "u", [i, "shift"])
        simple(f"shr.b{w}", r + r + "r", "u", [i, "shift"])
        if w == "16":
            continue
        for op in ("popc", "clz"):
            simple(f"{op}.b{w}", "r" + r, "u", [i])
        simple(f"brev.b{w}", r * 2, "u", [i])
        simple(f"bfi.b{w}", r * 3 + "rr", "u", [i, i, "shift", "shift"])
        for s in ("u", "s"):
            simple(f"bfe.{s}{w}", r * 2 + "rr", "u", [i, "shift", "shift"])
            simple(f"bfind.{s}{w}", "r" + r, "u", [i])
            simple(f"bfind.shiftamt.{s}{w}", "r" + r, "u", [i])
    for lut in (0x00, 0x80, 0x96, 0xE8, 0xCA, 0x1B, 0xFE, 0xD4):
        row(f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, {lut};", "u", "r", "rrr", ["i32"] * 3, f"lop3_b32_{lut:02x}")
    for d in ("l", "r"):
        for m in ("clamp", "wrap"):
            simple(f"shf.{d}.{m}.b32", "rrrr", "u", ["i32", "i32", "shift"])
    for m in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        simple(f"prmt.b32.{m}", "rrrr", "u", ["i32", "i32", "few"])
    for m in ("clamp", "wrap"):
        simple(f"bmsk.{m}.b32", "rrr", "u", ["shift", "shift"])
        for s in ("u32", "s32"):
            simple(f"szext.{m}.{s}", "rrr", "u", ["i32", "shift"])


def float_rows():
    for t, r in (("f32", "r"), ("f64", "q")):
        for op in ("add", "sub", "mul", "fma"):
            n = 4 if op == "fma" else 3
            for rnd in ("rn", "rz", "rm", "rp"):
                simple(f"{op}.{rnd}.{t}", r * n, t, [t] * 3)
                if t == "f32":
                    simple(f"{op}.{rnd}.ftz.{t}", r * n, t, [t] * 3)
            if t == "f32":
                simple(f"{op}.rn.sat.{t}", r * n, t, [t] * 3)
                simple(f"{op}.rn.ftz.sat.{t}", r * n, t, [t] * 3)
        for rnd in ("rn", "rz", "rm", "rp"):
            for op, n in (("div", 3), ("rcp", 2), ("sqrt", 2)):
                simple(f"{op}.{rnd}.{t}", r * n, t, [t, t])
                if t == "f32":
                    simple(f"{op}.{rnd}.ftz.{t}", r * n, t, [t, t])
        for op in ("min", "max"):
            simple(f"{op}.{t}", r * 3, t, [t, t])
        for op in ("abs", "neg"):
            simple(f"{op}.{t}", r * 2, t, [t])
        simple(f"copysign.{t}", r * 3, t, [t, t])
        for test in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            simple(f"testp.{test}.{t}", "p" + r, "u", [t])
        simple(f"selp.{t}", r * 3 + "p", "u", [t, t, "i32"])
    for m in ("ftz", "NaN", "ftz.NaN", "xorsign.abs", "NaN.xorsign.abs"):
        for op in ("min", "max"):
            simple(f"{op}.{m}.f32", "rrr", "f32", ["f32", "f32"])
    simple("abs.ftz.f32", "rr", "f32", ["f32"])
    simple("neg.ftz.f32", "rr", "f32", ["f32"])
    for f in ("", ".ftz"):
        simple(f"div.approx{f}.f32", "rrr", "f32", ["positive", "positive"])
        simple(f"div.full{f}.f32", "rrr", "f32", ["positive", "positive"])
        simple(f"sin.approx{f}.f32", "rr", "f32", ["angle"])
        simple(f"cos.approx{f}.f32", "rr", "f32", ["angle"])
        for op in ("rcp", "sqrt", "rsqrt", "lg2"):
            simple(f"{op}.approx{f}.f32", "rr", "f32", ["positive"])
            simple(f"{op}.approx{f}.f32", "rr", "f32", ["f32"], name=f"{op}_approx{f.replace('.', '_')}_any_f32")
        simple(f"ex2.approx{f}.f32", "rr", "f32", ["power"])
    simple("tanh.approx.f32", "rr", "f32", ["power"])
    simple("rsqrt.approx.f64", "qq", "f64", ["f64"])


def half_rows():
    for t, r in (("f16", "h"), ("f16x2", "r"), ("bf16", "h"), ("bf16x2", "r")):
        f16 = t.startswith("f16")
        for op in ("add", "sub", "mul"):
            simple(f"{op}.rn.{t}", r * 3, t, [t, t])
            if f16:
                simple(f"{op}.rn.ftz.{t}", r * 3, t, [t, t])
                simple(f"{op}.rn.sat.{t}", r * 3, t, [t, t])
        simple(f"fma.rn.{t}", r * 4, t, [t] * 3)
        simple(f"fma.rn.relu.{t}", r * 4, t, [t] * 3)
        if f16:
            simple(f"fma.rn.ftz.{t}", r * 4, t, [t] * 3)
            simple(f"fma.rn.sat.{t}", r * 4, t, [t] * 3)
        for op in ("min", "max"):
            for m in ("", ".NaN", ".xorsign.abs") + ((".ftz",) if f16 else ()):
                simple(f"{op}{m}.{t}", r * 3, t, [t, t])
        for op in ("abs", "neg"):
            simple(f"{op}.{t}", r * 2, t, [t])
        simple(f"ex2.approx.{t}" if f16 else f"ex2.approx.ftz.{t}", r * 2, t, [t])
        simple(f"tanh.approx.{t}", r * 2, t, [t])
        outs = "pp" if t.endswith("x2") else "p"
        for c in ("eq", "ne", "lt", "ge", "equ", "ltu", "geu", "num", "nan"):
            d = "{d}|{e}" if t.endswith("x2") else "{d}"
            row(f"setp.{c}.{t} {d}, {{a}}, {{b}};", "u", outs, r + r, [t, t])


def compare_rows():
    for t, r in (("f32", "r"), ("f64", "q")):
        for c in ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"):
            row(f"setp.{c}.{t} {{d}}|{{e}}, {{a}}, {{b}};", "u", "pp", r + r, [t, t])
            simple(f"set.{c}.u32.{t}", "r" + r + r, "u", [t, t])
    simple("setp.lt.ftz.f32", "prr", "u", ["f32", "f32"])
    simple("setp.eq.ftz.f32", "prr", "u", ["f32", "f32"])
    simple("set.gt.ftz.f32.f32", "rrr", "u", ["f32", "f32"])


INTS = {"u8": ("h", "i16"), "s8": ("h", "i16"), "u16": ("h", "i16"), "s16": ("h", "i16"), "u32": ("r", "i32"), "s32": ("r", "i32"),
        "u64": ("q", "i64"), "s64": ("q", "i64")}
FLOATS = {"f16": ("h", "f16"), "bf16": ("h", "bf16"), "f32": ("r", "f32"), "f64": ("q", "f64")}


def convert_rows():
    for d, (dr, _) in INTS.items():
        for s, (sr, si) in INTS.items():
            simple(f"cvt.{d}.{s}", dr + sr, "u", [si])
            if int(d[1:]) < int(s[1:]) or (d[0] != s[0] and (d[0] == "u" or d[1:] == s[1:])):  # can it overflow?
                simple(f"cvt.sat.{d}.{s}", dr + sr, "u", [si])
        for s, (sr, si) in FLOATS.items():
            if s == "bf16" and d[1:] == "8":
                continue
            for rnd in ("rni", "rzi", "rmi", "rpi"):
                simple(f"cvt.{rnd}.{d}.{s}", dr + sr, "u", [si])
        simple(f"cvt.rzi.ftz.{d}.f32", dr + "r", "u", ["f32"])
        for s, (sr, _) in FLOATS.items():
            if s == "bf16" and d[1:] == "8":
                continue
            for rnd in ("rn", "rz", "rm", "rp"):
                simple(f"cvt.{rnd}.{s}.{d}", sr + dr, s, [INTS[d][1]])
    for rnd in ("rn", "rz", "rm", "rp"):
        simple(f"cvt.{rnd}.f32.f64", "rq", "f32", ["f64"])
        simple(f"cvt.{rnd}.ftz.f32.f64", "rq", "f32", ["f64"])
        simple(f"cvt.{rnd}.f16.f32", "hr", "f16", ["f32"])
        simple(f"cvt.{rnd}.f16.f64", "hq", "f16", ["f64"])
        simple(f"cvt.{rnd}i.f32.f32", "rr", "f32", ["f32"])
        simple(f"cvt.{rnd}i.ftz.f32.f32", "rr", "f32", ["f32"])
        simple(f"cvt.{rnd}i.f64.f64", "qq", "f64", ["f64"])
        simple(f"cvt.{rnd}i.f16.f16", "hh", "f16", ["f16"])
    for rnd in ("rn", "rz"):
        simple(f"cvt.{rnd}.bf16.f32", "hr", "bf16", ["f32"])
        simple(f"cvt.{rnd}.relu.bf16.f32", "hr", "bf16", ["f32"])
        simple(f"cvt.{rnd}.relu.f16.f32", "hr", "f16", ["f32"])
        for t in ("f16x2", "bf16x2"):
            simple(f"cvt.{rnd}.{t}.f32", "rrr", t, ["f32", "f32"])
            simple(f"cvt.{rnd}.relu.{t}.f32", "rrr", t, ["f32", "f32"])
    simple("cvt.rna.tf32.f32", "rr", "f32", ["f32"])
    for t in ("e4m3x2", "e5m2x2"):
        simple(f"cvt.rn.satfinite.{t}.f32", "hrr", "u", ["f32", "f32"])
        simple(f"cvt.rn.satfinite.relu.{t}.f32", "hrr", "u", ["f32", "f32"])
        simple(f"cvt.rn.satfinite.{t}.f16x2", "hr", "u", ["f16x2"])
        simple(f"cvt.rn.f16x2.{t}", "rh", "f16x2", ["i16"])
    for op, regs, kind, kinds in (("cvt.f32.f16", "rh", "f32", "f16"), ("cvt.f32.bf16", "rh", "f32", "bf16"),
                                  ("cvt.f64.f16", "qh", "f64", "f16"), ("cvt.f64.f32", "qr", "f64", "f32"),
                                  ("cvt.ftz.f64.f32", "qr", "f64", "f32"), ("cvt.sat.f32.f32", "rr", "f32", "f32"),
                                  ("cvt.ftz.f32.f16", "rh", "f32", "f16"), ("cvt.sat.f32.f16", "rh", "f32", "f16"),
                                  ("cvt.rn.sat.f32.f64", "rq", "f32", "f64"), ("cvt.rn.sat.f16.f32", "hr", "f16", "f32")):
        simple(op, regs, kind, [kinds])
    for t in ("u16", "s16"):
        simple(f"cvt.pack.sat.{t}.s32", "rrr", "u", ["i32", "i32"])
    for t in ("u8", "s8"):
        simple(f"cvt.pack.sat.{t}.s32.b32", "rrrr", "u", ["i32", "i32", "i32"])


def memory_rows():
    for t in ("u8", "s8", "b8", "u16", "s16", "u32", "s32", "u64", "s64"):
        for wide, r in (("16", "h"), ("32", "r"), ("64", "q")):
            if int(t[1:]) <= int(wide):
                row(f"st.global.b64 [{{s}}], {{a}};\nld.global.{t} {{d}}, [{{s}}];", "u", r, "q", ["i64"], f"ld_{t}_to_{wide}")
                row(f"st.global.b64 [{{s}}], {{b}};\nst.global.{t} [{{s}}], {{a}};\nld.global.b64 {{d}}, [{{s}}];", "u", "q", r + "q",
                    ["i" + wide, "i64"], f"st_{t}_from_{wide}")
    row("st.global.b64 [{s}], {a};\nld.global.v2.u16 {{{d}, {e}}}, [{s}];", "u", "hh", "q", ["i64"], "ld_v2_u16")
    row("st.global.v2.b32 [{s}], {{{a}, {b}}};\nld.global.v2.b32 {{{e}, {d}}}, [{s}];", "u", "rr", "rr", ["i32", "i32"], "st_ld_v2_b32")
    for t in ("u32", "s32", "u64", "s64"):
        r, i = REG[t[1:]], "i" + t[1:]
        for op in ("add", "min", "max") + (("inc", "dec") if t == "u32" else ()):
            if t == "s64" and op == "add":
                continue
            atomic(op, t, "u", r, i)
    for w in ("32", "64"):
        for op in ("and", "or", "xor", "exch"):
            atomic(op, "b" + w, "u", REG[w], "i" + w)
        r = REG[w]
        row(f"st.global.b{w} [{{s}}], {{a}};\natom.global.cas.b{w} {{d}}, [{{s}}], {{b}}, {{c}};\nld.global.b{w} {{e}}, [{{s}}];", "u",
            r * 2, r * 3, ["few", "few", "i" + w], f"atom_cas_b{w}")
    for t, r in (("f32", "r"), ("f64", "q")):
        atomic("add", t, t, r, t)
    for t, r in (("f16", "h"), ("f16x2", "r"), ("bf16", "h"), ("bf16x2", "r")):
        atomic("add.noftz", t, t, r, t)


def atomic(op, t, kind, r, i):
    w = {"h": "16", "r": "32", "q": "64"}[r]
    row(f"st.global.b{w} [{{s}}], {{a}};\natom.global.{op}.{t} {{d}}, [{{s}}], {{b}};\nld.global.b{w} {{e}}, [{{s}}];", kind, r * 2, r * 2,
        [i, i], f"atom_{op.replace('.', '_')}_{t}")


def warp_rows():
    for mode in ("up", "down", "bfly", "idx"):
        for c in (0x00, 0x1F, 0x181F, 0x1C07, 0x1800):
            row(f"shfl.sync.{mode}.b32 {{d}}|{{e}}, {{a}}, {{b}}, {c}, -1;", "u", "rp", "rr", ["i32", "lane"], f"shfl_{mode}_{c:x}")
    for mode in ("all", "any", "uni"):
        row(f"vote.sync.{mode}.pred {{d}}, {{a}}, -1;", "u", "p", "p", ["i32"])
        row(f"vote.sync.{mode}.pred {{d}}, !{{a}}, -1;", "u", "p", "p", ["i32"], f"vote_sync_{mode}_not")
    row("vote.sync.ballot.b32 {d}, {a}, -1;", "u", "r", "p", ["i32"])
    for w, r in (("32", "r"), ("64", "q")):
        row(f"match.any.sync.b{w} {{d}}, {{a}}, -1;", "u", "r", r, ["few"])
        row(f"match.all.sync.b{w} {{d}}|{{e}}, {{a}}, -1;", "u", "rp", r, ["few"])
    for op, t in (("add", "u32"), ("add", "s32"), ("min", "u32"), ("min", "s32"), ("max", "u32"), ("max", "s32"), ("and", "b32"),
                  ("or", "b32"), ("xor", "b32")):
        row(f"redux.sync.{op}.{t} {{d}}, {{a}}, -1;", "u", "r", "r", ["i32"])
    row("movmatrix.sync.aligned.m8n8.trans.b16 {d}, {a};", "u", "r", "r", ["i32"])
    row("elect.sync {d}|{e}, -1;", "u", "rp", "r", ["i32"])
    for s in ("laneid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "tid.x", "ntid.x", "ctaid.x", "nctaid.x"):
        row(f"mov.u32 {{d}}, %{s};", "u", "r", "", [], "special_" + s.replace(".", "_"))  # %warpid is what the GPU makes of it
    row("activemask.b32 {d};", "u", "r", "", [])


def matrix_rows():
    """More threads than results wait for those that they work with: of a group of four warps, the first two have results."""
    more = [".reg .b32 %m<14>;", f".shared .align 1024 .b8 tile[{16 * matrices.PIECES}];"]
    for name, kind, outs, classes, text, _ in matrices.all_rows():
        body = text(table(classes))
        if name.startswith("wgmma"):
            body += f"\nmov.u32 %m9, %tid.x;\nsetp.ge.u32 %p9, %m9, {THREADS};\n@%p9 exit;"
        row(body, kind, "q" * outs, "qqqq", classes, name, more)


def all_rows():
    integer_rows()
    bit_rows()
    float_rows()
    half_rows()
    compare_rows()
    convert_rows()
    memory_rows()
    warp_rows()
    matrix_rows()


def main():
    all_rows()
    out = [".version 8.7", ".target sm_90a", ".address_size 64"]
    for name, rows in CLASSES.values():
        values = ", ".join(f"0x{v:x}" for r in rows for v in r)
        out.append(f".global .align 16 .b64 {name}[{4 * THREADS}] = {{{values}}};")
    sys.stdout.write("\n".join(out + ROWS) + "\n")


if __name__ == "__main__":
    main()
