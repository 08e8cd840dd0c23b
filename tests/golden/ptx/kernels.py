"""Triton kernels of the PTX corpus: what compiled kernels do to global memory, one idea per kernel. `CORPUS` lists
each with its signature, constants and the architectures it is compiled for; nothing here is ever run."""
import triton
import triton.language as tl


@triton.jit
def vadd(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def vadd_typed(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    a = tl.load(x + i, mask=m, other=0.0, cache_modifier=".cg")
    b = tl.load(y + i, mask=m, other=0.0, eviction_policy="evict_first")
    tl.store(out + i, (a.to(tl.float32) + b.to(tl.float32)).to(out.dtype.element_ty), mask=m, cache_modifier=".wt")


@triton.jit
def softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * stride + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def matmul(a, b, c, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * sa + (k + rk)[None, :])
        y = tl.load(b + (k + rk)[:, None] * sb + rn[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + rm[:, None] * sc + rn[None, :], acc.to(tl.float16), mask=(rm < M)[:, None] & (rn < N)[None, :])


@triton.jit
def matmul_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    db = tl.make_tensor_descriptor(b, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    dc = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([m, k]), db.load([k, n]), acc)
    dc.store([m, n], acc.to(tl.float16))


@triton.jit
def histogram(x, bins, n, SEM: tl.constexpr, SCOPE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(bins + v, 1, mask=i < n, sem=SEM, scope=SCOPE)


@triton.jit
def atomics(x, f, h, out, SEM: tl.constexpr, SCOPE: tl.constexpr):
    p = tl.program_id(0)
    a = tl.atomic_add(x, 1, sem=SEM, scope=SCOPE)
    b = tl.atomic_max(x + 1, p, sem=SEM, scope=SCOPE)
    c = tl.atomic_cas(x + 2, 0, p, sem=SEM, scope=SCOPE)
    d = tl.atomic_xchg(x + 3, p, sem=SEM, scope=SCOPE)
    e = tl.atomic_and(x + 4, p, sem=SEM, scope=SCOPE) + tl.atomic_or(x + 5, p, sem=SEM, scope=SCOPE)
    tl.atomic_xor(x + 6, p, sem=SEM, scope=SCOPE)
    tl.atomic_add(f, 1.0, sem=SEM, scope=SCOPE)
    i = tl.arange(0, 256)
    tl.atomic_add(h + i, (i * 0 + 1).to(tl.float16), sem=SEM, scope=SCOPE)
    tl.store(out + p, a + b + c + d + e)


@triton.jit
def message_passing(payload, flag, out, rank, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    if rank == 0:
        tl.store(payload + i, i, mask=i < n)
        tl.atomic_xchg(flag, 1, sem="release", scope="sys")
    else:
        while tl.atomic_add(flag, 0, sem="acquire", scope="sys") != 1:
            pass
        tl.store(out + i, tl.load(payload + i, mask=i < n), mask=i < n)


@triton.jit
def inline_asm(payload, flag, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(payload + i, i, mask=i < n)
    tl.debug_barrier()
    tl.inline_asm_elementwise("""{
        .reg .pred %p<2>;
        .reg .u32 %t;
        mov.u32 %t, %tid.x;
        setp.eq.u32 %p0, %t, 0;
        fence.acq_rel.sys;
        @%p0 st.global.relaxed.sys.u32 [$1], 1;
        wait:
        ld.global.sys.acquire.b32 $0, [$1+4];
        setp.ne.u32 %p1, $0, 1;
        @%p1 bra wait;
        membar.gl;
    }""", "=r,l", [flag.to(tl.int64)], dtype=tl.int32, is_pure=False, pack=1)
    tl.inline_asm_elementwise("""{
        .reg .pred %p<2>;
        wait:
        ld.volatile.global.u32 $0, [$1+8];
        setp.ne.u32 %p1, $0, 1;
        @%p1 bra wait;
        red.release.gpu.global.add.u32 [$1 + 12], 1;
    }""", "=r,l", [flag.to(tl.int64)], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(out + i, tl.load(payload + i, mask=i < n), mask=i < n)


@triton.jit
def scan_rows(x, out, rows, cols, BLOCK: tl.constexpr):
    for r in range(tl.program_id(0), rows, tl.num_programs(0)):
        i = tl.arange(0, BLOCK)
        carry = 0.0
        for c in range(0, cols, BLOCK):
            m = c + i < cols
            v = tl.load(x + r * cols + c + i, mask=m, other=0.0)
            s = tl.cumsum(v, 0) + carry
            tl.store(out + r * cols + c + i, s, mask=m)
            carry += tl.sum(v, 0)


@triton.jit
def spin_lock(lock, data, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    while tl.atomic_cas(lock, 0, 1, sem="acquire") == 1:
        pass
    tl.store(data + i, tl.load(data + i) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0, sem="release")


@triton.jit
def helper(p, i):
    return tl.load(p + i) * 2


@triton.jit(noinline=True)
def helper_far(p, i, v):
    tl.store(p + i, v)


@triton.jit
def called(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, helper(x, i))
    helper_far(out, tl.program_id(0), 1)


def entry(fn, signature, constants, arches=(80, 90), name=None, warps=4):
    return dict(name=name or fn.fn.__name__, fn=fn, signature=signature, constants=constants, arches=arches, warps=warps)


F32, F16, I32 = "*fp32", "*fp16", "*i32"
CORPUS = [
    entry(vadd, dict(x=F32, y=F32, out=F32, n="i32"), dict(BLOCK=1024)),
    entry(vadd, dict(x="*i8", y="*i8", out="*i8", n="i32"), dict(BLOCK=256), name="vadd_i8"),
    entry(vadd, dict(x="*i64", y="*i64", out="*i64", n="i32"), dict(BLOCK=256), (80,), name="vadd_i64"),
    entry(vadd_typed, dict(x=F16, y="*bf16", out=F16, n="i32"), dict(BLOCK=512), name="vadd_f16"),
    entry(vadd_typed, dict(x="*fp8e4nv", y=F32, out="*fp8e5", n="i32"), dict(BLOCK=512), (90,), name="vadd_f8"),
    entry(softmax, dict(x=F32, out=F32, stride="i32", n="i32"), dict(BLOCK=2048)),
    entry(matmul, dict(a=F16, b=F16, c=F16, M="i32", N="i32", K="i32", sa="i32", sb="i32", sc="i32"),
          dict(BM=64, BN=64, BK=32)),
    entry(matmul_tma, dict(a=F16, b=F16, c=F16, M="i32", N="i32", K="i32"), dict(BM=64, BN=64, BK=64), (90,)),
    entry(scan_rows, dict(x=F32, out=F32, rows="i32", cols="i32"), dict(BLOCK=256)),
    entry(message_passing, dict(payload=I32, flag=I32, out=I32, rank="i32", n="i32"), dict(BLOCK=256)),
    entry(inline_asm, dict(payload=I32, flag=I32, out=I32, n="i32"), dict(BLOCK=128)),
    entry(spin_lock, dict(lock=I32, data=I32), dict(BLOCK=128)),
    entry(called, dict(x=I32, out=I32), dict(BLOCK=128)),
]
for sem in ("relaxed", "acquire", "release", "acq_rel"):
    for scope in ("cta", "gpu", "sys"):
        CORPUS.append(entry(atomics, dict(x=I32, f=F32, h=F16, out=I32), dict(SEM=sem, SCOPE=scope),
                            (90,) if scope != "gpu" else (80, 90), name=f"atomics_{sem}_{scope}"))
    CORPUS.append(entry(histogram, dict(x=I32, bins=I32, n="i32"), dict(SEM=sem, SCOPE="gpu", BLOCK=512), (80,),
                        name=f"histogram_{sem}"))

if hasattr(tl, "atomic_store"):
    @triton.jit
    def atomic_words(payload, flag, out, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(payload + i, i)
        tl.atomic_store(flag, 1, sem="release", scope="sys")
        a = tl.atomic_load(flag + 1, sem="acquire", scope="gpu")
        tl.store(out + i, tl.load(payload + i) + a)

    CORPUS.append(entry(atomic_words, dict(payload=I32, flag=I32, out=I32), dict(BLOCK=128)))

if hasattr(tl, "atomic_poll"):
    @triton.jit
    def atomic_wait(payload, flag, out, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.atomic_poll(flag, 1, sem="acquire", scope="sys")
        tl.store(out + i, tl.load(payload + i))

    CORPUS.append(entry(atomic_wait, dict(payload=I32, flag=I32, out=I32), dict(BLOCK=128)))
