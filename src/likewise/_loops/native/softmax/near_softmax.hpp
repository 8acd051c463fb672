// Softmax over the neighbours that count, found in single precision and then computed in double.
//
// As in softmax.hpp, point i = anchors[r] picks j != i with probability in proportion to
// exp(-|z_i - z_j|^2). Row r of `screen` holds |z_i - z_j|^2 up to a constant of the row, roughly.
// Whatever is farther than the nearest by more than is negligible, and by more than the screen may
// be wrong, is dropped unseen; where few are left, that is far cheaper than to compute them all.
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
    float* screen;  // m rows of n; the anchors' own entries are changed
    double slack;   // by how much a difference of two entries of a row may be wrong
    const double* points;
    int64_t k;
    const double* summed;  // what is added up with the weights
    int64_t d;
    const int64_t *anchors, *own_start, *own_stop;
    int64_t m, n;
    bool gains;  // weights p_ij ([same class] - own share), else p_ij
    double *log_sums, *own_shares, *columns, *sums;
    double* returned;  // for each point the sum of weight times anchor, or null
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

// Writes where values are at most `limit` to `found`, which has room for n + 8; returns how many.
LIKEWISE_INLINE int64_t places_below(const float* values, float limit, int64_t n, uint8_t* marks,
                                     int64_t* found) {
    for (int64_t j = 0; j < n; ++j) marks[j] = values[j] <= limit;
    int64_t count = 0, j = 0;
    for (; j + 8 <= n; j += 8) {
        uint64_t word;
        std::memcpy(&word, marks + j, sizeof word);
        if (word == 0) continue;
        for (int l = 0; l < 8; ++l) {  // no branch: nobody can guess which are set
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

// total = sum of weights[u] times the row used[u] of points.
LIKEWISE_INLINE void sum_of_rows(const double* weights, const int64_t* used, int64_t count,
                                 const double* points, int64_t d, double* total) {
    std::fill(total, total + d, 0.0);
    int64_t u = 0;
    for (; u + 4 <= count; u += 4) {  // four at once: the total is read and written less often
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
        float* screen = b.screen + r * b.n;
        const int64_t i = b.anchors[r];
        const double* own = b.points + i * b.k;
        screen[i] = std::numeric_limits<float>::quiet_NaN();  // below nothing: never one's own
        const double reach = least_of(screen, b.n) + (kNegligible + b.slack);
        const float limit = std::nextafter(static_cast<float>(reach), INFINITY);
        const int64_t count = places_below(screen, limit, b.n, marks.data(), used.data());
        double least = std::numeric_limits<double>::infinity();
        for (int64_t u = 0; u < count; ++u) {
            values[u] = sqdist_in_lanes(own, b.points + used[u] * b.k, b.k);
            least = std::min(least, values[u]);
        }
        exponentials(values.data(), least, count);
        const auto begin = used.begin(), end = begin + count;
        const int64_t start = std::lower_bound(begin, end, b.own_start[r]) - begin;
        const int64_t stop = std::lower_bound(begin, end, b.own_stop[r]) - begin;
        LaneSum all, of_own;
        all.add(values.data(), count);
        of_own.add(values.data() + start, stop - start);
        const double total = all.total(), own_total = of_own.total(), share = own_total / total;
        b.log_sums[r] = std::log(total) - least;
        b.own_shares[r] = share;
        const double outside = b.gains ? -share / total : 1 / total;
        const double inside = b.gains ? (total - own_total) / total / total : 1 / total;
        for (int64_t u = 0; u < count; ++u) {
            values[u] *= u >= start && u < stop ? inside : outside;
            b.columns[used[u]] += values[u];
        }
        sum_of_rows(values.data(), used.data(), count, b.summed, b.d, b.sums + r * b.d);
        if (b.returned == nullptr) continue;
        for (int64_t u = 0; u < count; ++u) {
            double* back = b.returned + used[u] * b.k;
            for (int64_t c = 0; c < b.k; ++c) back[c] += values[u] * own[c];
        }
    }
}
LIKEWISE_DISPATCH(void, near_softmax, (const NearBlock& b), (b))

}  // namespace likewise
