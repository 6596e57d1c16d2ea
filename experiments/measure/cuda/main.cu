// Entry: reads what the card is and how fast its SMs run, then the groups of measurements that are asked for.
#include <cstring>

#include "common.cuh"

__global__ void spin(long long length, long long *result) {
    unsigned long long begin_ns, end_ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin_ns));
    const long long begin = clock64();
    long long now = begin;
    while (now - begin < length) now = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(end_ns));
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        result[0] = now - begin;
        result[1] = static_cast<long long>(end_ns - begin_ns);
    }
}

static int measured_clock_mhz(int sms) {
    Buffer<long long> result(2);
    long long pair[2] = {0, 1};
    for (int run = 0; run < 3; ++run) {  // the clock rises while the card is busy
        spin<<<sms, 256>>>(100'000'000, result.data);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(pair, result.data, sizeof pair, cudaMemcpyDeviceToHost));
    }
    return static_cast<int>(1000.0 * static_cast<double>(pair[0]) / static_cast<double>(pair[1]) + 0.5);
}

struct Group {
    const char *name;
    void (*measure)(const Card &);
};
static const Group kGroups[] = {
    {"chases", measure_chases},         {"shared", measure_shared},
    {"strides", measure_strides},       {"bandwidth", measure_bandwidth},
    {"operations", measure_operations}, {"tensor", measure_tensor},
    {"barriers", measure_synchronisation}, {"launches", measure_launches},
    {"fusion", measure_fusion},
};

int main(int count, char **words) {
    Card card;
    CHECK(cudaGetDeviceProperties(&card.properties, 0));
    card.clock_mhz = measured_clock_mhz(card.sms());
    std::printf("device\t%s\t%d.%d\t%d\t%d\n", card.properties.name, card.properties.major,
                card.properties.minor, card.sms(), card.clock_mhz);
    row("obs.sm_clock", card.clock_mhz, "MHz", "all SMs spinning, clock64 over globaltimer");
    for (const Group &group : kGroups) {
        bool wanted = count < 2;
        for (int word = 1; word < count; ++word) wanted |= !std::strcmp(words[word], group.name);
        if (wanted) group.measure(card);
    }
    CHECK(cudaDeviceSynchronize());
    std::printf("end\n");
    return 0;
}
