// Softmax over a block of inner products: the probabilities with which anchors pick neighbours.
//
// Row r of the block belongs to point i = anchors[r] and holds z_i . z_j for every point j. Point i
// picks j != i with probability p_ij proportional to exp(-D_ij), D_ij = |z_i - z_j|^2. Points are
// sorted by class, so those of i's class are a range.
//
// Plain loops over whole chunks are vectorised by GCC; comparisons between its own vector types are
// not.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "instructions.hpp"
#include "lanes.hpp"

namespace likewise {

constexpr double kNegligible = 40;  // probabilities below exp(-40) of the largest are 0
constexpr int kChunk = 64;          // values that are tested together: often all are negligible

LIKEWISE_INLINE int64_t bits_of(double x) {
    int64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

LIKEWISE_INLINE double double_of(int64_t bits) {
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// exp(x) for -708 < x < 1, within 2 units in the last place: x = n log 2 + r with |r| <= log(2)/2,
// a Taylor polynomial of exp(r), and n added to the exponent bits. Adding 1.5 * 2^52 rounds to an
// integer, which is then in the low bits.
LIKEWISE_INLINE double exp_of(double x) {
    const double shift = 6755399441055744.0;
    const double shifted = x * 1.4426950408889634 + shift;
    const double n = shifted - shift;
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    const double r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;  // short dependency chains
    const double low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6)) +
                       r4 * ((1.0 / 24 + r * (1.0 / 120)) + r2 * (1.0 / 720 + r * (1.0 / 5040)));
    const double high = (1.0 / 40320 + r * (1.0 / 362880)) +
                        r2 * (1.0 / 3628800 + r * (1.0 / 39916800)) + r4 * (1.0 / 479001600);
    const double p = low + r8 * high;
    const uint64_t exponent = static_cast<uint64_t>(bits_of(shifted)) << 52;
    return double_of(static_cast<int64_t>(static_cast<uint64_t>(bits_of(p)) + exponent));
}

// Replaces products by squared distances; returns the bits of the least. Bits of non-negative
// doubles compare as the doubles do. A distance that rounding made negative counts as the least,
// and which of several such is found does not matter.
LIKEWISE_INLINE int64_t distances(double* values, const double* sqnorm, double own_sqnorm,
                                  int64_t n) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int64_t j = 0; j < n; ++j) {
        values[j] = (own_sqnorm + sqnorm[j]) - 2 * values[j];
        const int64_t bits = bits_of(values[j]);
        least = bits < least ? bits : least;
    }
    return least;
}

// Replaces distances by exp(least - D), or by 0 where that is negligible.
LIKEWISE_INLINE void exponentials(double* values, double least, int64_t n) {
    for (int64_t j = 0; j < n; ++j) {
        const double x = least - values[j];
        const double value = exp_of(x < -kNegligible ? -kNegligible : x);
        values[j] = x < -kNegligible ? 0.0 : value;
    }
}

// A sum in lanes, which are added at the end.
struct LaneSum {
    Doubles even{}, odd{};
    double rest = 0;

    LIKEWISE_INLINE void add(const double* values, int64_t n) {
        int64_t j = 0;
        for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
            even += lanes(values + j);
            odd += lanes(values + j + kLanes);
        }
        for (; j < n; ++j) rest += values[j];
    }

    LIKEWISE_INLINE double total() const { return sum(even + odd) + rest; }
};

// Scales weights and adds them to `column_sums`.
LIKEWISE_INLINE void scale_weights(double* w, double factor, double* column_sums, int64_t n) {
    for (int64_t j = 0; j < n; ++j) {
        w[j] *= factor;
        column_sums[j] += w[j];
    }
}

struct SoftmaxBlock {
    double* products;  // m rows of n, replaced by weights
    const double* sqnorm;
    const int64_t *anchors, *class_start, *class_stop;
    int64_t m, n;
    bool probability_gradient;  // weights p_ij ([same class] - p_i), else p_ij
    double *log_sums, *same_class_probability, *column_sums;
};

// Writes log sum_j exp(-|z_i - z_j|^2) and the probability p_i of i's class for each row, and adds
// the weights of each column to `column_sums`.
LIKEWISE_INLINE void softmax_rows_body(const SoftmaxBlock& b) {
    const int64_t n_chunks = (b.n + kChunk - 1) / kChunk;
    std::vector<int64_t> nearest(n_chunks);
    for (int64_t r = 0; r < b.m; ++r) {
        double* values = b.products + r * b.n;
        const int64_t i = b.anchors[r], start = b.class_start[r], stop = b.class_stop[r];
        values[i] = -std::numeric_limits<double>::infinity();  // no point is its own neighbour
        int64_t first = std::numeric_limits<int64_t>::max();
        for (int64_t c = 0; c < n_chunks; ++c) {
            const int64_t j = c * kChunk, left = b.n - j;
            nearest[c] = left >= kChunk
                             ? distances(values + j, b.sqnorm + j, b.sqnorm[i], kChunk)
                             : distances(values + j, b.sqnorm + j, b.sqnorm[i], left);
            first = std::min(first, nearest[c]);
        }
        const double least = double_of(first);
        LaneSum all, of_own;
        for (int64_t c = 0; c < n_chunks; ++c) {
            const int64_t j = c * kChunk, left = b.n - j;
            const int64_t length = std::min<int64_t>(kChunk, left);
            if (double_of(nearest[c]) > least + kNegligible) {
                std::fill(values + j, values + j + length, 0.0);
                continue;
            }
            if (left >= kChunk)
                exponentials(values + j, least, kChunk);
            else
                exponentials(values + j, least, left);
            all.add(values + j, length);
        }
        of_own.add(values + start, stop - start);
        const double total = all.total(), own = of_own.total();
        const double probability = own / total;
        b.log_sums[r] = std::log(total) - least;
        b.same_class_probability[r] = probability;
        const double outside = b.probability_gradient ? -probability / total : 1 / total;
        const double inside = b.probability_gradient ? (total - own) / total / total : 1 / total;
        for (int64_t c = 0; c < n_chunks; ++c) {
            if (double_of(nearest[c]) > least + kNegligible) continue;
            const int64_t j = c * kChunk, end = std::min(j + kChunk, b.n);
            if (end - j == kChunk && (end <= start || j >= stop)) {
                scale_weights(values + j, outside, b.column_sums + j, kChunk);
                continue;
            }
            const int64_t from = std::clamp(start, j, end), to = std::clamp(stop, j, end);
            scale_weights(values + j, outside, b.column_sums + j, from - j);
            scale_weights(values + from, inside, b.column_sums + from, to - from);
            scale_weights(values + to, outside, b.column_sums + to, end - to);
        }
    }
}
LIKEWISE_DISPATCH(void, softmax_rows, (const SoftmaxBlock& b), (b))

}  // namespace likewise
