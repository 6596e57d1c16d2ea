// Barriers, atomics on one word, and launches of empty kernels in a stream and in a graph.
#include "common.cuh"

constexpr int kTurns = 512;

__global__ void barriers(long long *result) {
    __syncthreads();
    const long long begin = clock64();
#pragma unroll 16
    for (int turn = 0; turn < kTurns; ++turn) __syncthreads();
    if (threadIdx.x == 0) result[0] = clock64() - begin;
}

// The value that comes back is used, so that atomics of a thread follow one another.
__global__ void atomics(unsigned *word, long long *result, unsigned *sink) {
    unsigned value = 1;
    const long long begin = clock64();
    for (int turn = 0; turn < kTurns; ++turn) value = atomicAdd(word, value | 1u) & 1u;
    if (blockIdx.x == 0 && threadIdx.x == 0) result[0] = clock64() - begin;
    sink[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void nothing() {}

void measure_synchronisation(const Card &card) {
    for (int warps = 1; warps <= 32; warps *= 2) {
        const double count = cycles([&](long long *result) { barriers<<<1, 32 * warps>>>(result); });
        char name[64];
        std::snprintf(name, sizeof name, "lat.bar.sync_%dwarps", warps);
        row(name, count / kTurns, "cycles", "one CTA, back-to-back __syncthreads, clock %d MHz", card.clock_mhz);
    }
    Buffer<unsigned> word(1), sink(static_cast<size_t>(card.sms()) * 1024);
    for (int threads : {32, 64, 512, 1024}) {
        const double count = cycles(
            [&](long long *result) { atomics<<<card.sms(), threads>>>(word.data, result, sink.data); });
        char name[64];
        std::snprintf(name, sizeof name, "lat.atomicAdd_same_address_%dblk_%dthr", card.sms(), threads);
        row(name, count / kTurns, "cycles", "issue interval per op, %d blocks, one scalar, clock %d MHz",
            card.sms(), card.clock_mhz);
    }
}

void measure_launches(const Card &card) {
    constexpr int kMany = 1000;
    const double stream = seconds([] {
        for (int turn = 0; turn < kMany; ++turn) nothing<<<1, 32>>>();
    });
    row("time.launch_stream", stream / kMany * 1e6, "us", "empty kernel, mean of %d in a row, clock %d MHz", kMany,
        card.clock_mhz);
    cudaStream_t own;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    CHECK(cudaStreamCreate(&own));
    CHECK(cudaStreamBeginCapture(own, cudaStreamCaptureModeGlobal));
    for (int turn = 0; turn < kMany; ++turn) nothing<<<1, 32, 0, own>>>();
    CHECK(cudaStreamEndCapture(own, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&ready, graph, 0));
    const double captured = seconds([&] { CHECK(cudaGraphLaunch(ready, nullptr)); });
    row("time.launch_cuda_graph", captured / kMany * 1e6, "us",
        "empty kernel, mean of %d in one graph, clock %d MHz", kMany, card.clock_mhz);
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(own));
}
