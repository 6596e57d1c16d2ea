// Pointer chases: one thread follows a random cycle through a footprint, one line after another. The footprint
// decides which level answers. Each load's address is the value of the one before.
#include <numeric>
#include <random>

#include "common.cuh"

constexpr int kLoads = 4096;
constexpr size_t kLine = 128;

template <bool kPastL1> __global__ void chase(void **start, int warm, long long *result, void **sink) {
    void **at = start;
    for (int turn = 0; turn < warm; ++turn) {
        if (kPastL1) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
        else asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at));
    }
    const long long begin = clock64();
#pragma unroll 16
    for (int turn = 0; turn < kLoads; ++turn) {
        if (kPastL1) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at));
        else asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at));
    }
    *sink = at;  // the last load has come before the clock is read
    result[0] = clock64() - begin;
}

__global__ void shared_chase(long long *result, unsigned *sink) {
    __shared__ unsigned next[1024];
    for (unsigned word = threadIdx.x; word < 1024; word += blockDim.x) next[word] = ((word + 33) % 1024) * 4;
    __syncthreads();
    unsigned base = static_cast<unsigned>(__cvta_generic_to_shared(next));
    unsigned at = 0;
    const long long begin = clock64();
#pragma unroll 16
    for (int turn = 0; turn < kLoads; ++turn) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(at) : "r"(base + at));
    *sink = at;
    result[0] = clock64() - begin;
}

static double cycles_a_load(size_t bytes, bool past_l1) {
    const size_t lines = bytes / kLine, words = kLine / sizeof(void *);
    std::vector<size_t> order(lines);
    std::iota(order.begin(), order.end(), size_t{0});
    std::mt19937_64 random(1);
    std::shuffle(order.begin(), order.end(), random);
    Buffer<void *> memory(lines * words), sink(1);
    std::vector<void *> host(lines * words, nullptr);
    for (size_t at = 0; at < lines; ++at) host[order[at] * words] = memory.data + order[(at + 1) % lines] * words;
    CHECK(cudaMemcpy(memory.data, host.data(), bytes, cudaMemcpyHostToDevice));
    // Small footprints are gone round once before; large ones are not, since they hold nothing back anyway.
    const int warm = static_cast<int>(std::min<size_t>(lines, 1 << 18));
    const double count = cycles([&](long long *result) {
        if (past_l1) chase<true><<<1, 1>>>(memory.data + order[0] * words, warm, result, sink.data);
        else chase<false><<<1, 1>>>(memory.data + order[0] * words, warm, result, sink.data);
    });
    return count / kLoads;
}

void measure_chases(const Card &card) {
    Buffer<unsigned> sink(1);
    const double count = cycles([&](long long *result) { shared_chase<<<1, 32>>>(result, sink.data); });
    row("lat.shared", count / kLoads, "cycles", "pointer chase, clock %d MHz", card.clock_mhz);
    const char *plain = "random pointer chase, footprint %zu kB, clock %d MHz";
    for (size_t kilobytes : {16, 32, 64})
        row("lat.chase.l1", cycles_a_load(kilobytes << 10, false), "cycles", plain, kilobytes, card.clock_mhz);
    const size_t l2 = card.l2_bytes() >> 10;
    for (size_t kilobytes : {size_t{1024}, size_t{2048}, l2 / 4, l2 / 2})
        row("lat.chase.l2", cycles_a_load(kilobytes << 10, true), "cycles", plain, kilobytes, card.clock_mhz);
    for (size_t kilobytes : {8 * l2, 32 * l2})
        row("lat.chase.dram", cycles_a_load(kilobytes << 10, true), "cycles", plain, kilobytes, card.clock_mhz);
}
