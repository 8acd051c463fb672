// Differences of pairs, their quadratic forms, and rows scaled by weights: one pass each.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "instructions.hpp"

namespace likewise {

// V = scale (x_i - x_j) for each pair (i, j), in double. Returns the largest squared norm; NaN if a
// difference is NaN.
template <typename T>
LIKEWISE_INLINE double pair_differences_of(const T* X, int64_t d, const int64_t* pairs, int64_t n,
                                           double scale, double* V) {
    double max_sqnorm = 0;
    bool is_number = true;
    for (int64_t k = 0; k < n; ++k) {
        const T* a = X + pairs[2 * k] * d;
        const T* b = X + pairs[2 * k + 1] * d;
        double* v = V + k * d;
        double lane[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        int64_t j = 0;
        for (; j + 8 <= d; j += 8) {
            for (int l = 0; l < 8; ++l) {
                v[j + l] = scale * (static_cast<double>(a[j + l]) - static_cast<double>(b[j + l]));
                lane[l] += v[j + l] * v[j + l];
            }
        }
        for (; j < d; ++j) {
            v[j] = scale * (static_cast<double>(a[j]) - static_cast<double>(b[j]));
            lane[0] += v[j] * v[j];
        }
        double sqnorm = 0;
        for (int l = 0; l < 8; ++l) sqnorm += lane[l];
        is_number = is_number && sqnorm == sqnorm;
        if (sqnorm > max_sqnorm) max_sqnorm = sqnorm;
    }
    return is_number ? max_sqnorm : std::numeric_limits<double>::quiet_NaN();
}

LIKEWISE_INLINE double differences_double_body(const double* X, int64_t d, const int64_t* pairs,
                                               int64_t n, double scale, double* V) {
    return pair_differences_of(X, d, pairs, n, scale, V);
}
LIKEWISE_DISPATCH(double, differences_double,
                  (const double* X, int64_t d, const int64_t* pairs, int64_t n, double scale,
                   double* V),
                  (X, d, pairs, n, scale, V))

LIKEWISE_INLINE double differences_float_body(const float* X, int64_t d, const int64_t* pairs,
                                              int64_t n, double scale, double* V) {
    return pair_differences_of(X, d, pairs, n, scale, V);
}
LIKEWISE_DISPATCH(double, differences_float,
                  (const float* X, int64_t d, const int64_t* pairs, int64_t n, double scale,
                   double* V),
                  (X, d, pairs, n, scale, V))

// q = v'Mv of each row v, from half = v' tril(M) and the diagonal of M: 2 half.v - sum M_jj v_j^2.
LIKEWISE_INLINE void triangle_quadratics_body(const double* V, const double* half,
                                              const double* diagonal, int64_t n, int64_t d,
                                              double* q) {
    for (int64_t k = 0; k < n; ++k) {
        const double* v = V + k * d;
        const double* h = half + k * d;
        double lane[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        int64_t j = 0;
        for (; j + 8 <= d; j += 8) {
            for (int l = 0; l < 8; ++l) {
                lane[l] += v[j + l] * (2 * h[j + l] - diagonal[j + l] * v[j + l]);
            }
        }
        for (; j < d; ++j) lane[0] += v[j] * (2 * h[j] - diagonal[j] * v[j]);
        double total = 0;
        for (int l = 0; l < 8; ++l) total += lane[l];
        q[k] = total;
    }
}
LIKEWISE_DISPATCH(void, triangle_quadratics,
                  (const double* V, const double* half, const double* diagonal, int64_t n,
                   int64_t d, double* q),
                  (V, half, diagonal, n, d, q))

// Rows times the root of the absolute weight: first those of positive weight, then those of
// negative weight, in order. Returns the number of positive ones.
inline int64_t signed_rows(const double* V, const double* weights, int64_t n, int64_t d,
                           double* out) {
    int64_t filled = 0, positive = 0;
    for (const double sign : {1.0, -1.0}) {
        for (int64_t k = 0; k < n; ++k) {
            if (!(sign * weights[k] > 0)) continue;
            const double root = std::sqrt(sign * weights[k]);
            for (int64_t j = 0; j < d; ++j) out[filled * d + j] = root * V[k * d + j];
            ++filled;
        }
        if (sign > 0) positive = filled;
    }
    return positive;
}

inline double pair_differences(const double* X, int64_t d, const int64_t* pairs, int64_t n,
                               double scale, double* V) {
    return differences_double(X, d, pairs, n, scale, V);
}
inline double pair_differences(const float* X, int64_t d, const int64_t* pairs, int64_t n,
                               double scale, double* V) {
    return differences_float(X, d, pairs, n, scale, V);
}

}  // namespace likewise
