// By how much rows are inside of the margins of a point, and the point inside of theirs.
//
// Rows of a class stand side by side: class g is the range class_start[g] to class_start[g + 1].
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "instructions.hpp"

namespace likewise {

constexpr int kRowsAtOnce = 64;

// Sorted radii, and the number of those that a distance is not inside of, mostly by one look: the
// range is cut into buckets, and each knows how many radii lie in those before it. The function that
// gives the bucket never falls as its argument grows, so this is exact whatever its rounding.
struct SortedRadii {
    std::vector<double> radii;  // with infinity after the last
    std::vector<int32_t> owner, first;
    double low = 0, per_unit = 0, last_bucket = 0;

    explicit SortedRadii(int64_t n_radii)
        : radii(n_radii + 1), owner(n_radii), first(4 * n_radii + 1),
          last_bucket(static_cast<double>(4 * n_radii - 1)) {}

    LIKEWISE_INLINE int32_t bucket(double x) const {
        double place = (x - low) * per_unit;
        place = place < last_bucket ? place : last_bucket;
        return static_cast<int32_t>(place > 0 ? place : 0);
    }

    // values[q] is a radius of label q / k.
    void sort(const double* values, int64_t k) {
        const int64_t n = static_cast<int64_t>(owner.size());
        for (int64_t q = 0; q < n; ++q) owner[q] = static_cast<int32_t>(q);
        std::sort(owner.begin(), owner.end(), [values](int32_t a, int32_t b) {
            return values[a] < values[b] || (values[a] == values[b] && a < b);
        });
        for (int64_t q = 0; q < n; ++q) {
            radii[q] = values[owner[q]];
            owner[q] /= static_cast<int32_t>(k);
        }
        radii[n] = std::numeric_limits<double>::infinity();
        low = radii[0];
        const double range = radii[n - 1] - low;
        per_unit = range > 1e-300 ? (last_bucket + 1) / range : 0;
        std::fill(first.begin(), first.end(), 0);
        for (int64_t q = 0; q < n; ++q) ++first[bucket(radii[q]) + 1];
        for (size_t b = 1; b < first.size(); ++b) first[b] += first[b - 1];
    }
};

// How many distances, and their sum. There are two for each radius, taken in turn, so that equal
// neighbours need not wait for each other.
using Tally = double __attribute__((vector_size(16)));

// out[t, c] = sum over the k radii r of label c of [r - distances[t, l]]_+, l of other classes.
LIKEWISE_INLINE void invader_hinges_body(const double* distances, int64_t m, int64_t n,
                                         const int64_t* class_start, int64_t n_classes,
                                         const double* radii, int64_t k, double* out) {
    const int64_t n_radii = n_classes * k;
    SortedRadii sorted(n_radii);
    std::vector<Tally> below(2 * (n_radii + 1));
    int32_t bucket[kRowsAtOnce];
    for (int64_t t = 0; t < m; ++t) {
        const double* row = distances + t * n;
        double* cost = out + t * n_classes;
        std::fill(cost, cost + n_classes, 0.0);
        sorted.sort(radii + t * n_radii, k);
        for (int64_t g = 0; g < n_classes; ++g) {
            std::fill(below.begin(), below.end(), Tally{});
            for (int64_t l = class_start[g]; l < class_start[g + 1]; l += kRowsAtOnce) {
                const int64_t length = std::min<int64_t>(kRowsAtOnce, class_start[g + 1] - l);
                for (int64_t j = 0; j < length; ++j) bucket[j] = sorted.bucket(row[l + j]);
                for (int64_t j = 0; j < length; ++j) {
                    const double distance = row[l + j];
                    int32_t slot = sorted.first[bucket[j]];
                    slot += sorted.radii[slot] <= distance;  // a branch would be a guess
                    slot += sorted.radii[slot] <= distance;
                    while (sorted.radii[slot] <= distance) ++slot;
                    below[2 * slot + (j & 1)] += Tally{1, distance};
                }
            }
            Tally all{};  // what is inside of a radius is inside of all larger ones
            for (int64_t q = 0; q < n_radii; ++q) {
                all += below[2 * q] + below[2 * q + 1];
                const double inside = std::max(sorted.radii[q] * all[0] - all[1], 0.0);
                cost[sorted.owner[q]] += sorted.owner[q] == g ? 0.0 : inside;
            }
        }
    }
}
LIKEWISE_DISPATCH(void, invader_hinges,
                  (const double* distances, int64_t m, int64_t n, const int64_t* class_start,
                   int64_t n_classes, const double* radii, int64_t k, double* out),
                  (distances, m, n, class_start, n_classes, radii, k, out))

// out[t, g] = sum over rows i of class g and j < k of [radii[j, i] - distances[t, i]]_+.
LIKEWISE_INLINE void invaded_hinges_body(const double* distances, int64_t m, int64_t n,
                                         const int64_t* class_start, int64_t n_classes,
                                         const double* radii, int64_t k, double* out) {
    for (int64_t t = 0; t < m; ++t) {
        const double* row = distances + t * n;
        for (int64_t g = 0; g < n_classes; ++g) {
            double lanes[kRowsAtOnce] = {};
            double rest = 0;
            int64_t i = class_start[g];
            for (; i + kRowsAtOnce <= class_start[g + 1]; i += kRowsAtOnce) {
                for (int64_t j = 0; j < k; ++j) {
                    const double* radius = radii + j * n + i;
                    for (int l = 0; l < kRowsAtOnce; ++l) {
                        const double inside = radius[l] - row[i + l];
                        lanes[l] += inside > 0 ? inside : 0;
                    }
                }
            }
            for (; i < class_start[g + 1]; ++i) {
                for (int64_t j = 0; j < k; ++j) rest += std::max(radii[j * n + i] - row[i], 0.0);
            }
            for (int width = kRowsAtOnce / 2; width; width /= 2) {
                for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
            }
            out[t * n_classes + g] = lanes[0] + rest;
        }
    }
}
LIKEWISE_DISPATCH(void, invaded_hinges,
                  (const double* distances, int64_t m, int64_t n, const int64_t* class_start,
                   int64_t n_classes, const double* radii, int64_t k, double* out),
                  (distances, m, n, class_start, n_classes, radii, k, out))

}  // namespace likewise
