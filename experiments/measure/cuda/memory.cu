// Shared-memory bank conflicts, L1 loads at strides, and bandwidth of L1, L2 and DRAM.
#include "common.cuh"

constexpr int kTurns = 1024;

// Dependent loads of one warp, `ways` lanes on each bank: the value that is read is the next address.
__global__ void conflicts(int ways, long long *result, unsigned *sink) {
    __shared__ unsigned words[32 * 33];
    for (unsigned word = threadIdx.x; word < 32 * 33; word += blockDim.x) words[word] = 0;
    __syncthreads();
    const unsigned lane = threadIdx.x, base = static_cast<unsigned>(__cvta_generic_to_shared(words));
    // Lanes of one group of `ways` stand in one bank, in different rows; groups in different banks.
    const unsigned at = base + 4 * (lane % ways * 32 + lane / ways);
    unsigned value = 0;
    const long long begin = clock64();
#pragma unroll 16
    for (int turn = 0; turn < kTurns; ++turn)
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(at + value));
    sink[lane] = value;
    result[0] = clock64() - begin;
}

// Independent loads of many warps of one SM, neighbours `stride` floats apart, within 16 KB.
__global__ void strided(const float *data, int stride, long long *result, float *sink) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = 0;
    for (int turn = 0; turn < 64; ++turn) sum += data[(lane * stride + turn) % 4096];
    __syncthreads();
    const long long begin = clock64();
    for (int turn = 0; turn < kTurns; turn += 8) {
#pragma unroll
        for (int part = 0; part < 8; ++part) {
            float value;
            const float *at = data + (lane * stride + (warp * 8 + part)) % 4096;
            asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(value) : "l"(at));
            sum += value;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) result[0] = clock64() - begin;
    sink[threadIdx.x] = sum;
}

// Each block reads `count` vectors `turns` times: its own buffer in L1, or one that all share beyond it.
template <bool kPastL1>
__global__ void read_again(const float4 *data, size_t count, int turns, float *sink) {
    float sum = 0;
    for (int turn = 0; turn < turns; ++turn) {
        const size_t shift = kPastL1 ? static_cast<size_t>(blockIdx.x) * blockDim.x : 0;
        for (size_t at = threadIdx.x; at < count; at += blockDim.x) {
            const float4 *place = data + (at + shift) % count;
            float4 value;
            if (kPastL1)
                asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3}, [%4];"
                             : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w) : "l"(place));
            else
                asm volatile("ld.global.ca.v4.f32 {%0,%1,%2,%3}, [%4];"
                             : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w) : "l"(place));
            sum += value.x + value.y + value.z + value.w;
        }
    }
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void stream_read(const float4 *from, size_t count, float *sink) {
    const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    float sum = 0;
    for (size_t at = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; at < count; at += step) {
        const float4 value = from[at];
        sum += value.x + value.y + value.z + value.w;
    }
    if (sum == 1.2345f) *sink = sum;
}

__global__ void stream_write(float4 *to, size_t count) {
    const size_t at = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (at < count) to[at] = make_float4(1, 2, 3, 4);
}

__global__ void stream_copy(const float4 *from, float4 *to, size_t count) {
    const size_t at = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (at < count) to[at] = from[at];
}

void measure_shared(const Card &card) {
    Buffer<unsigned> sink(32);
    for (int ways = 1; ways <= 32; ways *= 2) {
        const double count = cycles([&](long long *result) { conflicts<<<1, 32>>>(ways, result, sink.data); });
        char name[64];
        std::snprintf(name, sizeof name, "lat.shared_bank_conflict_%dway", ways);
        row(name, count / kTurns, "cycles", "warp load, %d-way conflict, clock %d MHz", ways, card.clock_mhz);
    }
}

void measure_strides(const Card &card) {
    Buffer<float> data(4096), sink(1024);
    for (int stride = 1; stride <= 33; ++stride) {
        const double count =
            cycles([&](long long *result) { strided<<<1, 1024>>>(data.data, stride, result, sink.data); });
        char name[64];
        std::snprintf(name, sizeof name, "bw.l1_stride%d_cycles_per_warp_load", stride);
        row(name, count / (32.0 * kTurns), "cycles", "float loads, L1 resident, element stride %d, clock %d MHz",
            stride, card.clock_mhz);
    }
}

void measure_bandwidth(const Card &card) {
    const int sms = card.sms(), threads = 1024;
    Buffer<float> sink(static_cast<size_t>(sms) * 2 * threads);
    const size_t small = (16 << 10) / sizeof(float4);
    Buffer<float4> kept(small);
    const double l1 = seconds([&] { read_again<false><<<sms, threads>>>(kept.data, small, 2000, sink.data); });
    row("bw.l1_per_clk", 16384.0 * 2000 / l1 / (card.clock_mhz * 1e6), "B/clk/SM",
        "float4 loads, 16 kB a block, one block an SM, clock %d MHz", card.clock_mhz);
    const size_t half = card.l2_bytes() / 4 / sizeof(float4);
    Buffer<float4> middle(half);
    const double l2 = seconds([&] { read_again<true><<<2 * sms, threads>>>(middle.data, half, 2, sink.data); });
    row("bw.l2_read", 2.0 * 2 * sms * static_cast<double>(half) * sizeof(float4) / l2 * 1e-9, "GB/s",
        "float4 loads past L1, all blocks read one buffer of %zu kB, clock %d MHz",
        half * sizeof(float4) >> 10, card.clock_mhz);
    const size_t large = (size_t{1} << 30) / sizeof(float4);
    Buffer<float4> from(large), to(large);
    const unsigned blocks = static_cast<unsigned>((large + 255) / 256);
    const double bytes = static_cast<double>(large) * sizeof(float4);
    const double read = seconds([&] { stream_read<<<32 * sms, 256>>>(from.data, large, sink.data); });
    const double write = seconds([&] { stream_write<<<blocks, 256>>>(to.data, large); });
    const double copy = seconds([&] { stream_copy<<<blocks, 256>>>(from.data, to.data, large); });
    const char *how = "float4, buffers of 1 GB, clock %d MHz";
    row("bw.dram", bytes / read * 1e-9, "GB/s", how, card.clock_mhz);
    row("bw.dram_write", bytes / write * 1e-9, "GB/s", how, card.clock_mhz);
    row("bw.dram_copy", 2 * bytes / copy * 1e-9, "GB/s", "read and written, float4, buffers of 1 GB, clock %d MHz",
        card.clock_mhz);
    const size_t part = (size_t{64} << 20) / sizeof(float4);
    const double again = seconds([&] {
        for (int turn = 0; turn < 10; ++turn)
            stream_copy<<<static_cast<unsigned>(part / 256), 256>>>(from.data, to.data, part);
    });
    row("bw.copy_64MB", 10 * 2.0 * part * sizeof(float4) / again * 1e-9, "GB/s",
        "device copy read+write, 64 MB buffer, ten in a row, clock %d MHz", card.clock_mhz);
}
