// Squared distances of rows, accumulated in double in a fixed order.
#pragma once

#include <cstdint>

#include "instructions.hpp"
#include "lanes.hpp"

namespace likewise {

using Floats8 = float __attribute__((vector_size(32), aligned(4)));

// difference = a - b in eight lanes. (No vector is returned: its registers depend on the machine.)
LIKEWISE_INLINE void subtract_lanes(const double* a, const double* b, Doubles& difference) {
    difference = lanes(a) - lanes(b);
}
LIKEWISE_INLINE void subtract_lanes(const float* a, const float* b, Doubles& difference) {
    difference = __builtin_convertvector(*reinterpret_cast<const Floats8*>(a), Doubles) -
                 __builtin_convertvector(*reinterpret_cast<const Floats8*>(b), Doubles);
}

// Eight lanes, then a tree. Each lane is summed in order and no multiply-add is fused, so the last
// bit is the same for all instruction sets and in the NumPy twin.
template <typename T>
LIKEWISE_INLINE double sqdist(const T* a, const T* b, int64_t d) {
    Doubles lane{}, diff;
    int64_t k = 0;
    for (; k + kLanes <= d; k += kLanes) {
        subtract_lanes(a + k, b + k, diff);
        lane += diff * diff;
    }
    for (int l = 0; k + l < d; ++l) {
        const double last = static_cast<double>(a[k + l]) - static_cast<double>(b[k + l]);
        lane[l] += last * last;
    }
    return sum(lane);
}

// Ask for the cache lines of a row that is read later: rows of pairs are far apart in memory.
template <typename T>
LIKEWISE_INLINE void prefetch_row(const T* row, int64_t d) {
    constexpr int64_t step = 64 / sizeof(T);
    for (int64_t k = 0; k < d; k += step) __builtin_prefetch(row + k);
}

template <typename T>
LIKEWISE_INLINE void pair_sqdist_of(const T* Z, const T* points, int64_t d, const int64_t* rows,
                                    const int64_t* cols, int64_t n_pairs, double* out) {
    constexpr int64_t ahead = 4;
    for (int64_t p = 0; p < n_pairs; ++p) {
        if (p + ahead < n_pairs) prefetch_row(points + cols[p + ahead] * d, d);
        out[p] = sqdist(Z + rows[p] * d, points + cols[p] * d, d);
    }
}

LIKEWISE_INLINE void pair_sqdist_body(const float* Z, const float* points, int64_t d,
                                      const int64_t* rows, const int64_t* cols, int64_t n_pairs,
                                      double* out) {
    pair_sqdist_of(Z, points, d, rows, cols, n_pairs, out);
}
LIKEWISE_INLINE void pair_sqdist_body(const double* Z, const double* points, int64_t d,
                                      const int64_t* rows, const int64_t* cols, int64_t n_pairs,
                                      double* out) {
    pair_sqdist_of(Z, points, d, rows, cols, n_pairs, out);
}
LIKEWISE_DISPATCH(void, pair_sqdist,
                  (const float* Z, const float* points, int64_t d, const int64_t* rows,
                   const int64_t* cols, int64_t n_pairs, double* out),
                  (Z, points, d, rows, cols, n_pairs, out))
LIKEWISE_DISPATCH(void, pair_sqdist,
                  (const double* Z, const double* points, int64_t d, const int64_t* rows,
                   const int64_t* cols, int64_t n_pairs, double* out),
                  (Z, points, d, rows, cols, n_pairs, out))

}  // namespace likewise
