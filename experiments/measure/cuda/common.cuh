// Shared by all measurements: error checks, rows on standard output, timing by events and by clock.
//
// A row is one line of five fields between tabs: the word "row", quantity, value, unit, conditions. Times are
// medians of several runs after a warm-up. Nothing here changes a setting of the card.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <cuda_runtime.h>

inline void check(cudaError_t error, const char *file, int line) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(error));
        std::exit(3);
    }
}
#define CHECK(call) check((call), __FILE__, __LINE__)

constexpr int kRuns = 7;

struct Card {
    cudaDeviceProp properties;
    int clock_mhz;  // measured while SMs are busy
    int sms() const { return properties.multiProcessorCount; }
    size_t l2_bytes() const { return static_cast<size_t>(properties.l2CacheSize); }
};

inline void row(const char *quantity, double value, const char *unit, const char *format, ...) {
    char conditions[400];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(conditions, sizeof conditions, format, arguments);
    va_end(arguments);
    std::printf("row\t%s\t%.6g\t%s\t%s\n", quantity, value, unit, conditions);
    std::fflush(stdout);
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// Seconds of one call of `work` on the default stream, which may launch several kernels.
inline double seconds(const std::function<void()> &work) {
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    work();
    CHECK(cudaDeviceSynchronize());
    std::vector<double> times;
    for (int run = 0; run < kRuns; ++run) {
        CHECK(cudaEventRecord(start));
        work();
        CHECK(cudaEventRecord(stop));
        CHECK(cudaEventSynchronize(stop));
        CHECK(cudaGetLastError());
        float milliseconds = 0;
        CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
        times.push_back(milliseconds * 1e-3);
    }
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    return median(times);
}

// Device memory that frees itself.
template <typename T> struct Buffer {
    T *data = nullptr;
    explicit Buffer(size_t count) {
        CHECK(cudaMalloc(reinterpret_cast<void **>(&data), count * sizeof(T)));
        CHECK(cudaMemset(data, 0, count * sizeof(T)));
    }
    Buffer(const Buffer &) = delete;
    ~Buffer() { cudaFree(data); }
};

// The cycles that `launch` writes, one number, as the median of several runs.
inline double cycles(const std::function<void(long long *)> &launch) {
    Buffer<long long> result(1);
    std::vector<double> counts;
    for (int run = 0; run <= kRuns; ++run) {
        launch(result.data);
        CHECK(cudaGetLastError());
        long long count = 0;
        CHECK(cudaMemcpy(&count, result.data, sizeof count, cudaMemcpyDeviceToHost));
        if (run) counts.push_back(static_cast<double>(count));
    }
    return median(counts);
}

void measure_chases(const Card &card);
void measure_shared(const Card &card);
void measure_strides(const Card &card);
void measure_bandwidth(const Card &card);
void measure_operations(const Card &card);
void measure_tensor(const Card &card);
void measure_synchronisation(const Card &card);
void measure_launches(const Card &card);
void measure_fusion(const Card &card);
