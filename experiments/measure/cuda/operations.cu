// Dependent issue of arithmetic, tensor-core latency and rate.
#include <cuda_fp16.h>

#include "common.cuh"

constexpr int kTurns = 4096;

#define CHAIN(NAME, TYPE, START, STEP)                                                                       \
    __global__ void NAME(TYPE seed, long long *result, TYPE *sink) {                                         \
        TYPE value = START;                                                                                  \
        const long long begin = clock64();                                                                   \
        _Pragma("unroll 64") for (int turn = 0; turn < kTurns; ++turn) STEP;                                 \
        result[0] = clock64() - begin;                                                                       \
        *sink = value;                                                                                       \
    }
CHAIN(chain_ffma, float, seed, asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(value) : "f"(seed)))
CHAIN(chain_fadd, float, seed, asm volatile("add.f32 %0, %0, %1;" : "+f"(value) : "f"(seed)))
CHAIN(chain_iadd, unsigned, seed, asm volatile("add.u32 %0, %0, %1;" : "+r"(value) : "r"(seed)))
CHAIN(chain_imul, unsigned, seed, asm volatile("mul.lo.u32 %0, %0, %1;" : "+r"(value) : "r"(seed)))
CHAIN(chain_dfma, double, seed, asm volatile("fma.rn.f64 %0, %0, %1, %1;" : "+d"(value) : "d"(seed)))
CHAIN(chain_hfma, unsigned, seed, asm volatile("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(value) : "r"(seed)))
CHAIN(chain_sfu, float, seed, asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(value)))

// One matrix product after another into the same accumulators, or several independent ones.
template <int kChains> __global__ void products(long long *result, float *sink) {
#if __CUDA_ARCH__ >= 800
    float sums[kChains][4] = {};
    const unsigned a = threadIdx.x, b = 1;
    const long long begin = clock64();
#pragma unroll 16
    for (int turn = 0; turn < 1024; ++turn) {
#pragma unroll
        for (int chain = 0; chain < kChains; ++chain)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, "
                         "{%0,%1,%2,%3};"
                         : "+f"(sums[chain][0]), "+f"(sums[chain][1]), "+f"(sums[chain][2]), "+f"(sums[chain][3])
                         : "r"(a), "r"(b));
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) result[0] = clock64() - begin;
    float total = 0;
    for (int chain = 0; chain < kChains; ++chain) total += sums[chain][0] + sums[chain][3];
    sink[blockIdx.x * blockDim.x + threadIdx.x] = total;
#endif
}

template <typename T> static void chain(const Card &card, const char *name, void (*kernel)(T, long long *, T *), T seed) {
    Buffer<T> sink(1);
    const double count = cycles([&](long long *result) { kernel<<<1, 1>>>(seed, result, sink.data); });
    row(name, count / kTurns, "cycles", "dependent chain CPI, clock %d MHz", card.clock_mhz);
}

void measure_operations(const Card &card) {
    chain(card, "lat.cpi_dependent.fma.rn.f32", chain_ffma, 1.5f);
    chain(card, "lat.cpi_dependent.add.f32", chain_fadd, 1.5f);
    chain(card, "lat.cpi_dependent.add.u32", chain_iadd, 3u);
    chain(card, "lat.cpi_dependent.mul.lo.u32", chain_imul, 3u);
    chain(card, "lat.cpi_dependent.fma.rn.f64", chain_dfma, 1.5);
    chain(card, "lat.cpi_dependent.fma.rn.f16", chain_hfma, 0x3c003c00u);
    chain(card, "lat.sfu", chain_sfu, 0.5f);
}

void measure_tensor(const Card &card) {
    if (card.properties.major < 8) return;
    const int sms = card.sms(), threads = 512;
    Buffer<float> sink(static_cast<size_t>(sms) * threads);
    const double latency = cycles([&](long long *result) { products<1><<<1, 32>>>(result, sink.data); });
    row("lat.mma.sync.f16.f32.m16n8k16", latency / 1024, "cycles", "dense, clock %d MHz", card.clock_mhz);
    Buffer<long long> unused(1);
    const double time = seconds([&] { products<4><<<sms, threads>>>(unused.data, sink.data); });
    const double operations = 2.0 * 16 * 8 * 16 * 1024 * 4 * (threads / 32.0) * sms;
    row("tput.mma.sync.f16.f32.m16n8k16", operations / time * 1e-12, "TFLOPS", "dense, whole chip, clock %d MHz",
        card.clock_mhz);
}
