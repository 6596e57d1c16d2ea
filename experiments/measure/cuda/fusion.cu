// Chains of operators as separate kernels and as one: bias and GELU, add and ReLU, softmax, layer normalisation;
// and copy, add and ReLU alone. All in single precision on a matrix of rows.
#include "common.cuh"

constexpr int kRows = 8192, kColumns = 4096, kThreads = 256;
constexpr size_t kCount = static_cast<size_t>(kRows) * kColumns;

__device__ float gelu(float x) { return 0.5f * x * (1.0f + erff(0.70710678f * x)); }

__global__ void copy(const float4 *x, float4 *y) {
    const size_t at = blockIdx.x * static_cast<size_t>(kThreads) + threadIdx.x;
    y[at] = x[at];
}
__global__ void add(const float4 *x, const float4 *z, float4 *y) {
    const size_t at = blockIdx.x * static_cast<size_t>(kThreads) + threadIdx.x;
    const float4 a = x[at], b = z[at];
    y[at] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__global__ void relu(const float4 *x, float4 *y) {
    const size_t at = blockIdx.x * static_cast<size_t>(kThreads) + threadIdx.x;
    const float4 a = x[at];
    y[at] = make_float4(fmaxf(a.x, 0), fmaxf(a.y, 0), fmaxf(a.z, 0), fmaxf(a.w, 0));
}
__global__ void add_relu(const float4 *x, const float4 *z, float4 *y) {
    const size_t at = blockIdx.x * static_cast<size_t>(kThreads) + threadIdx.x;
    const float4 a = x[at], b = z[at];
    y[at] = make_float4(fmaxf(a.x + b.x, 0), fmaxf(a.y + b.y, 0), fmaxf(a.z + b.z, 0), fmaxf(a.w + b.w, 0));
}
__global__ void bias_add(const float4 *x, const float4 *bias, float4 *y) {
    const size_t at = blockIdx.x * static_cast<size_t>(kThreads) + threadIdx.x;
    const float4 a = x[at], b = bias[at % (kColumns / 4)];
    y[at] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__global__ void gelu_only(const float4 *x, float4 *y) {
    const size_t at = blockIdx.x * static_cast<size_t>(kThreads) + threadIdx.x;
    const float4 a = x[at];
    y[at] = make_float4(gelu(a.x), gelu(a.y), gelu(a.z), gelu(a.w));
}
__global__ void bias_gelu(const float4 *x, const float4 *bias, float4 *y) {
    const size_t at = blockIdx.x * static_cast<size_t>(kThreads) + threadIdx.x;
    const float4 a = x[at], b = bias[at % (kColumns / 4)];
    y[at] = make_float4(gelu(a.x + b.x), gelu(a.y + b.y), gelu(a.z + b.z), gelu(a.w + b.w));
}

// The combination of one value a thread over a block, in every thread.
template <bool kMaximum> __device__ float over_block(float value) {
    __shared__ float parts[kThreads / 32];
    for (int step = 16; step; step /= 2) {
        const float other = __shfl_xor_sync(~0u, value, step);
        value = kMaximum ? fmaxf(value, other) : value + other;
    }
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[0];
    for (int warp = 1; warp < kThreads / 32; ++warp)
        value = kMaximum ? fmaxf(value, parts[warp]) : value + parts[warp];
    __syncthreads();
    return value;
}

constexpr int kEach = kColumns / kThreads;

__global__ void row_maximum(const float *x, float *most) {
    float value = -3.4e38f;
    for (int turn = 0; turn < kEach; ++turn)
        value = fmaxf(value, x[blockIdx.x * static_cast<size_t>(kColumns) + turn * kThreads + threadIdx.x]);
    value = over_block<true>(value);
    if (threadIdx.x == 0) most[blockIdx.x] = value;
}
__global__ void row_sum(const float *x, float *total) {
    float value = 0;
    for (int turn = 0; turn < kEach; ++turn)
        value += x[blockIdx.x * static_cast<size_t>(kColumns) + turn * kThreads + threadIdx.x];
    value = over_block<false>(value);
    if (threadIdx.x == 0) total[blockIdx.x] = value;
}
__global__ void less_and_exponential(const float *x, const float *most, float *y) {
    const size_t at = blockIdx.x * static_cast<size_t>(kThreads) + threadIdx.x;
    y[at] = __expf(x[at] - most[at / kColumns]);
}
__global__ void divided(const float *x, const float *total, float *y) {
    const size_t at = blockIdx.x * static_cast<size_t>(kThreads) + threadIdx.x;
    y[at] = x[at] / total[at / kColumns];
}
__global__ void softmax(const float *x, float *y) {
    const size_t first = blockIdx.x * static_cast<size_t>(kColumns) + threadIdx.x;
    float held[kEach], most = -3.4e38f, total = 0;
#pragma unroll
    for (int turn = 0; turn < kEach; ++turn) most = fmaxf(most, held[turn] = x[first + turn * kThreads]);
    most = over_block<true>(most);
#pragma unroll
    for (int turn = 0; turn < kEach; ++turn) total += held[turn] = __expf(held[turn] - most);
    total = over_block<false>(total);
#pragma unroll
    for (int turn = 0; turn < kEach; ++turn) y[first + turn * kThreads] = held[turn] / total;
}
__global__ void centred(const float *x, const float *total, float *y, float *square) {
    const size_t first = blockIdx.x * static_cast<size_t>(kColumns) + threadIdx.x;
    const float mean = total[blockIdx.x] / kColumns;
    float sum = 0;
    for (int turn = 0; turn < kEach; ++turn) {
        const float value = x[first + turn * kThreads] - mean;
        y[first + turn * kThreads] = value;
        sum += value * value;
    }
    sum = over_block<false>(sum);
    if (threadIdx.x == 0) square[blockIdx.x] = sum;
}
__global__ void scaled(const float *x, const float *square, const float *gain, const float *shift, float *y) {
    const size_t at = blockIdx.x * static_cast<size_t>(kThreads) + threadIdx.x;
    y[at] = x[at] * rsqrtf(square[at / kColumns] / kColumns + 1e-5f) * gain[at % kColumns] + shift[at % kColumns];
}
__global__ void layer_norm(const float *x, const float *gain, const float *shift, float *y) {
    const size_t first = blockIdx.x * static_cast<size_t>(kColumns) + threadIdx.x;
    float held[kEach], total = 0, square = 0;
#pragma unroll
    for (int turn = 0; turn < kEach; ++turn) total += held[turn] = x[first + turn * kThreads];
    const float mean = over_block<false>(total) / kColumns;
#pragma unroll
    for (int turn = 0; turn < kEach; ++turn) square += (held[turn] - mean) * (held[turn] - mean);
    const float scale = rsqrtf(over_block<false>(square) / kColumns + 1e-5f);
#pragma unroll
    for (int turn = 0; turn < kEach; ++turn) {
        const int column = turn * kThreads + threadIdx.x;
        y[first + turn * kThreads] = (held[turn] - mean) * scale * gain[column] + shift[column];
    }
}

static void timed(const Card &card, const char *name, const std::function<void()> &work) {
    row(name, seconds(work) * 1e6, "us", "fp32, [%d, %d], clock %d MHz", kRows, kColumns, card.clock_mhz);
}

void measure_fusion(const Card &card) {
    Buffer<float> x(kCount), z(kCount), y(kCount), gain(kColumns), shift(kColumns), first(kRows), second(kRows);
    const auto vector = [](Buffer<float> &one) { return reinterpret_cast<float4 *>(one.data); };
    constexpr unsigned kVectors = kCount / 4 / kThreads, kScalars = kCount / kThreads;
    timed(card, "kernel.measure.copy", [&] { copy<<<kVectors, kThreads>>>(vector(x), vector(y)); });
    timed(card, "kernel.measure.add", [&] { add<<<kVectors, kThreads>>>(vector(x), vector(z), vector(y)); });
    timed(card, "kernel.measure.relu", [&] { relu<<<kVectors, kThreads>>>(vector(x), vector(y)); });
    timed(card, "kernel.measure.add_relu_unfused", [&] {
        add<<<kVectors, kThreads>>>(vector(x), vector(z), vector(y));
        relu<<<kVectors, kThreads>>>(vector(y), vector(y));
    });
    timed(card, "kernel.measure.add_relu_fused",
          [&] { add_relu<<<kVectors, kThreads>>>(vector(x), vector(z), vector(y)); });
    timed(card, "kernel.measure.bias_gelu_unfused", [&] {
        bias_add<<<kVectors, kThreads>>>(vector(x), vector(shift), vector(y));
        gelu_only<<<kVectors, kThreads>>>(vector(y), vector(y));
    });
    timed(card, "kernel.measure.bias_gelu_fused",
          [&] { bias_gelu<<<kVectors, kThreads>>>(vector(x), vector(shift), vector(y)); });
    timed(card, "kernel.measure.softmax_unfused", [&] {
        row_maximum<<<kRows, kThreads>>>(x.data, first.data);
        less_and_exponential<<<kScalars, kThreads>>>(x.data, first.data, y.data);
        row_sum<<<kRows, kThreads>>>(y.data, second.data);
        divided<<<kScalars, kThreads>>>(y.data, second.data, y.data);
    });
    timed(card, "kernel.measure.softmax_fused", [&] { softmax<<<kRows, kThreads>>>(x.data, y.data); });
    timed(card, "kernel.measure.layer_norm_unfused", [&] {
        row_sum<<<kRows, kThreads>>>(x.data, first.data);
        centred<<<kRows, kThreads>>>(x.data, first.data, y.data, second.data);
        scaled<<<kScalars, kThreads>>>(y.data, second.data, gain.data, shift.data, y.data);
    });
    timed(card, "kernel.measure.layer_norm_fused",
          [&] { layer_norm<<<kRows, kThreads>>>(x.data, gain.data, shift.data, y.data); });
}
