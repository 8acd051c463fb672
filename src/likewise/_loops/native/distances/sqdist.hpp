// Squared distances of rows, accumulated in double in a fixed order.
#pragma once

#include <cstdint>

namespace likewise {

// Eight lanes, then a tree. Independent sums let the compiler use vectors without reordering, so
// the last bit is the same on every machine and in the NumPy twin.
template <typename T>
inline double sqdist(const T* a, const T* b, int64_t d) {
    double lane[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    int64_t k = 0;
    for (; k + 8 <= d; k += 8) {
        for (int l = 0; l < 8; ++l) {
            const double diff = static_cast<double>(a[k + l]) - static_cast<double>(b[k + l]);
            lane[l] += diff * diff;
        }
    }
    for (int l = 0; k + l < d; ++l) {
        const double diff = static_cast<double>(a[k + l]) - static_cast<double>(b[k + l]);
        lane[l] += diff * diff;
    }
    for (int l = 0; l < 4; ++l) lane[l] += lane[l + 4];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

template <typename T>
void pair_sqdist(const T* Z, const T* points, int64_t d, const int64_t* rows, const int64_t* cols,
                 int64_t begin, int64_t end, double* out) {
    for (int64_t p = begin; p < end; ++p) {
        out[p] = sqdist(Z + rows[p] * d, points + cols[p] * d, d);
    }
}

}  // namespace likewise
