// Vectors of eight doubles, mapped by the compiler to those of the machine.
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

// out[k] = row(k) . x for n rows, given as pointers; four at a time share the loads of x.
template <typename Row>
LIKEWISE_INLINE void dots(const Row& row, int64_t n, const double* x, int64_t d, double* out) {
    const int64_t whole = d / kLanes * kLanes;
    int64_t k = 0;
    for (; k + 4 <= n; k += 4) {
        const double *r0 = row(k), *r1 = row(k + 1), *r2 = row(k + 2), *r3 = row(k + 3);
        Doubles s0{}, s1{}, s2{}, s3{};
        for (int64_t j = 0; j < whole; j += kLanes) {
            const Doubles v = lanes(x + j);
            s0 += lanes(r0 + j) * v;
            s1 += lanes(r1 + j) * v;
            s2 += lanes(r2 + j) * v;
            s3 += lanes(r3 + j) * v;
        }
        out[k] = sum(s0), out[k + 1] = sum(s1), out[k + 2] = sum(s2), out[k + 3] = sum(s3);
        for (int64_t j = whole; j < d; ++j) {
            out[k] += r0[j] * x[j];
            out[k + 1] += r1[j] * x[j];
            out[k + 2] += r2[j] * x[j];
            out[k + 3] += r3[j] * x[j];
        }
    }
    for (; k < n; ++k) out[k] = dot(row(k), x, d);
}

}  // namespace likewise
