// Eight doubles at a time, on whatever vectors the machine has.
#pragma once

#include <cstdint>

#include "instructions.hpp"

namespace likewise {

constexpr int kLanes = 8;
using Doubles = double __attribute__((vector_size(8 * kLanes), aligned(8)));

LIKEWISE_INLINE const Doubles& lanes(const double* p) {
    return *reinterpret_cast<const Doubles*>(p);
}
LIKEWISE_INLINE Doubles& lanes(double* p) { return *reinterpret_cast<Doubles*>(p); }
LIKEWISE_INLINE double sum(const Doubles& x) {
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

LIKEWISE_INLINE double dot(const double* a, const double* b, int64_t n) {
    Doubles even{}, odd{};
    int64_t j = 0;
    for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
        even += lanes(a + j) * lanes(b + j);
        odd += lanes(a + j + kLanes) * lanes(b + j + kLanes);
    }
    if (j + kLanes <= n) {
        even += lanes(a + j) * lanes(b + j);
        j += kLanes;
    }
    double rest = 0;
    for (; j < n; ++j) rest += a[j] * b[j];
    return sum(even + odd) + rest;
}

}  // namespace likewise
