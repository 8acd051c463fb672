// Softmax over the neighbours that are not negligible, found in float32 and computed in float64.
//
// As in softmax.hpp, point i = anchors[r] picks j != i with probability proportional to
// exp(-|z_i - z_j|^2). Row r of `approx_sqdist` holds |z_i - z_j|^2 plus a constant, approximately.
// Points that are certainly negligible, given the error bound, are skipped; where few are left,
// that is far cheaper than to compute all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "instructions.hpp"
#include "lanes.hpp"
#include "softmax/softmax.hpp"

namespace likewise {

struct NearBlock {
    float* approx_sqdist;  // m rows of n; the anchors' own entries are overwritten
    double error_bound;    // of the difference of two entries of a row
    const double* points;
    int64_t k;
    const double* summands;  // rows that are summed with the weights
    int64_t d;
    const int64_t *anchors, *class_start, *class_stop;
    int64_t m, n;
    bool probability_gradient;  // weights p_ij ([same class] - p_i), else p_ij
    double *log_sums, *same_class_probability, *column_sums, *weighted_sums;
    double* anchor_sums;  // per point, the sum of weight times anchor; or null
};

LIKEWISE_INLINE float least_of(const float* values, int64_t n) {
    constexpr int kWidth = 64;
    float low[kWidth];
    std::fill(low, low + kWidth, std::numeric_limits<float>::infinity());
    int64_t j = 0;
    for (; j + kWidth <= n; j += kWidth)
        for (int l = 0; l < kWidth; ++l) low[l] = values[j + l] < low[l] ? values[j + l] : low[l];
    for (; j < n; ++j) low[0] = std::min(low[0], values[j]);
    return *std::min_element(low, low + kWidth);
}

// Writes the positions of values of at most `limit` to `found`, which has capacity n + 8; returns
// their number.
LIKEWISE_INLINE int64_t places_below(const float* values, float limit, int64_t n, uint8_t* marks,
                                     int64_t* found) {
    for (int64_t j = 0; j < n; ++j) marks[j] = values[j] <= limit;
    int64_t count = 0, j = 0;
    for (; j + 8 <= n; j += 8) {
        uint64_t word;
        std::memcpy(&word, marks + j, sizeof word);
        if (word == 0) continue;
        for (int l = 0; l < 8; ++l) {  // without a branch, which could not be predicted
            found[count] = j + l;
            count += marks[j + l];
        }
    }
    for (; j < n; ++j) {
        found[count] = j;
        count += marks[j];
    }
    return count;
}

LIKEWISE_INLINE double sqdist_in_lanes(const double* a, const double* b, int64_t k) {
    Doubles even{}, odd{};
    int64_t c = 0;
    for (; c + 2 * kLanes <= k; c += 2 * kLanes) {
        const Doubles first = lanes(a + c) - lanes(b + c);
        const Doubles second = lanes(a + c + kLanes) - lanes(b + c + kLanes);
        even += first * first;
        odd += second * second;
    }
    double rest = 0;
    for (; c < k; ++c) rest += (a[c] - b[c]) * (a[c] - b[c]);
    return sum(even + odd) + rest;
}

// total = the sum of weights[u] times row used[u] of points.
LIKEWISE_INLINE void sum_of_rows(const double* weights, const int64_t* used, int64_t count,
                                 const double* points, int64_t d, double* total) {
    std::fill(total, total + d, 0.0);
    int64_t u = 0;
    for (; u + 4 <= count; u += 4) {  // four at a time, to read and write the total less often
        const double w0 = weights[u], w1 = weights[u + 1], w2 = weights[u + 2], w3 = weights[u + 3];
        const double *p0 = points + used[u] * d, *p1 = points + used[u + 1] * d;
        const double *p2 = points + used[u + 2] * d, *p3 = points + used[u + 3] * d;
        int64_t c = 0;
        for (; c + kLanes <= d; c += kLanes)
            lanes(total + c) += (w0 * lanes(p0 + c) + w1 * lanes(p1 + c)) +
                                (w2 * lanes(p2 + c) + w3 * lanes(p3 + c));
        for (; c < d; ++c) total[c] += (w0 * p0[c] + w1 * p1[c]) + (w2 * p2[c] + w3 * p3[c]);
    }
    for (; u < count; ++u) {
        const double* point = points + used[u] * d;
        for (int64_t c = 0; c < d; ++c) total[c] += weights[u] * point[c];
    }
}

LIKEWISE_INLINE void near_softmax_body(const NearBlock& b) {
    std::vector<uint8_t> marks(b.n);
    std::vector<int64_t> used(b.n + 8);
    std::vector<double> values(b.n);
    for (int64_t r = 0; r < b.m; ++r) {
        float* approx_sqdist = b.approx_sqdist + r * b.n;
        const int64_t i = b.anchors[r];
        const double* own = b.points + i * b.k;
        // No point is its own neighbour.
        approx_sqdist[i] = std::numeric_limits<float>::quiet_NaN();
        const double farthest = least_of(approx_sqdist, b.n) + (kNegligible + b.error_bound);
        const float limit = std::nextafter(static_cast<float>(farthest), INFINITY);
        const int64_t count = places_below(approx_sqdist, limit, b.n, marks.data(), used.data());
        double least = std::numeric_limits<double>::infinity();
        for (int64_t u = 0; u < count; ++u) {
            values[u] = sqdist_in_lanes(own, b.points + used[u] * b.k, b.k);
            least = std::min(least, values[u]);
        }
        exponentials(values.data(), least, count);
        const auto begin = used.begin(), end = begin + count;
        const int64_t start = std::lower_bound(begin, end, b.class_start[r]) - begin;
        const int64_t stop = std::lower_bound(begin, end, b.class_stop[r]) - begin;
        LaneSum all, of_own;
        all.add(values.data(), count);
        of_own.add(values.data() + start, stop - start);
        const double total = all.total(), own_total = of_own.total(),
                     probability = own_total / total;
        b.log_sums[r] = std::log(total) - least;
        b.same_class_probability[r] = probability;
        const double outside = b.probability_gradient ? -probability / total : 1 / total;
        const double inside =
            b.probability_gradient ? (total - own_total) / total / total : 1 / total;
        for (int64_t u = 0; u < count; ++u) {
            values[u] *= u >= start && u < stop ? inside : outside;
            b.column_sums[used[u]] += values[u];
        }
        sum_of_rows(values.data(), used.data(), count, b.summands, b.d, b.weighted_sums + r * b.d);
        if (b.anchor_sums == nullptr) continue;
        for (int64_t u = 0; u < count; ++u) {
            double* back = b.anchor_sums + used[u] * b.k;
            for (int64_t c = 0; c < b.k; ++c) back[c] += values[u] * own[c];
        }
    }
}
LIKEWISE_DISPATCH(void, near_softmax, (const NearBlock& b), (b))

}  // namespace likewise
