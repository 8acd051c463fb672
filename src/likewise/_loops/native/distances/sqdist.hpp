// Squared distances of rows, accumulated in double in a fixed order.
#pragma once

#include <cstdint>

#include "instructions.hpp"
#include "lanes.hpp"
#include "registers.hpp"

namespace likewise {

// Eight lanes, then a tree. Each lane is summed in order and no multiply-add is fused, so the last
// bit is the same for all instruction sets and in the NumPy twin.
template <int W, typename T>
LIKEWISE_INLINE double sqdist(const T* a, const T* b, int64_t d) {
    constexpr int R = kLanes / W;
    typename Register<W>::Doubles part[R] = {}, diff;
    int64_t k = 0;
    for (; k + kLanes <= d; k += kLanes) {
        LIKEWISE_UNROLL(4)
        for (int r = 0; r < R; ++r) {
            subtract<W>(a + k + r * W, b + k + r * W, diff);
            part[r] += diff * diff;
        }
    }
    Doubles lane;
    for (int l = 0; l < kLanes; ++l) lane[l] = part[l / W][l % W];
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

template <int W, typename T>
LIKEWISE_INLINE void pair_sqdist_of(const T* Z, const T* points, int64_t d, const int64_t* rows,
                                    const int64_t* cols, int64_t n_pairs, double* out) {
    constexpr int64_t ahead = 16;  // measured
    for (int64_t p = 0; p < n_pairs; ++p) {
        if (p + ahead < n_pairs) prefetch_row(points + cols[p + ahead] * d, d);
        out[p] = sqdist<W>(Z + rows[p] * d, points + cols[p] * d, d);
    }
}
LIKEWISE_DISPATCH_WIDTH(pair_sqdist,
                        (const T* Z, const T* points, int64_t d, const int64_t* rows,
                         const int64_t* cols, int64_t n_pairs, double* out),
                        (Z, points, d, rows, cols, n_pairs, out))

}  // namespace likewise
