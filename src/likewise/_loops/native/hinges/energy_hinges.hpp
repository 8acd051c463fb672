// Hinge losses in the energy of a labelling: of the triplets in which a new point is the anchor,
// and of those in which it is the impostor.
//
// Training rows are sorted by class: class g is the range class_start[g] to class_start[g + 1]. A
// squared radius is the squared distance of an anchor to a target, plus the margin.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "instructions.hpp"

namespace likewise {

constexpr int kRowsAtOnce = 64;

// Sorted squared radii, with a table to find the number of those that are at most a distance,
// mostly in one step: the range is cut into buckets, and each has the number of radii in those
// before it. The bucket is a monotone function of the distance, so the table is exact despite
// rounding.
struct SortedRadii {
    std::vector<double> sqradii;  // with NaN after the last: no distance, even infinity, exceeds it
    std::vector<int32_t> owner, first;
    double low = 0, per_unit = 0, last_bucket = 0;

    explicit SortedRadii(int64_t n_radii)
        : sqradii(n_radii + 1), owner(n_radii), first(4 * n_radii + 1),
          last_bucket(static_cast<double>(4 * n_radii - 1)) {}

    LIKEWISE_INLINE int32_t bucket(double x) const {
        double place = (x - low) * per_unit;
        place = place < last_bucket ? place : last_bucket;
        return static_cast<int32_t>(place > 0 ? place : 0);
    }

    // values[q] is a squared radius of label q / k.
    void sort(const double* values, int64_t k) {
        const int64_t n = static_cast<int64_t>(owner.size());
        for (int64_t q = 0; q < n; ++q) owner[q] = static_cast<int32_t>(q);
        std::sort(owner.begin(), owner.end(), [values](int32_t a, int32_t b) {
            const bool a_nan = values[a] != values[a], b_nan = values[b] != values[b];
            if (a_nan || b_nan) return a_nan == b_nan ? a < b : b_nan;
            return values[a] < values[b] || (values[a] == values[b] && a < b);
        });
        for (int64_t q = 0; q < n; ++q) {
            sqradii[q] = values[owner[q]];
            owner[q] /= static_cast<int32_t>(k);
        }
        sqradii[n] = std::numeric_limits<double>::quiet_NaN();
        low = sqradii[0];
        const double range = sqradii[n - 1] - low;
        per_unit = range > 1e-300 ? (last_bucket + 1) / range : 0;
        std::fill(first.begin(), first.end(), 0);
        for (int64_t q = 0; q < n; ++q) ++first[bucket(sqradii[q]) + 1];
        for (size_t b = 1; b < first.size(); ++b) first[b] += first[b - 1];
    }
};

// A number of distances, and their sum. There are two tallies per radius, used in turn, so that
// successive distances with the same radius need not wait for each other.
using Tally = double __attribute__((vector_size(16)));

// Point t as the anchor: out[t, c] is the sum over the k squared radii r that t has with label c,
// and over the rows l of other classes, of [r - sqdist[t, l]]_+.
LIKEWISE_INLINE void anchor_hinges_body(const double* sqdist, int64_t m, int64_t n,
                                         const int64_t* class_start, int64_t n_classes,
                                         const double* sqradii, int64_t k, double* out) {
    const int64_t n_radii = n_classes * k;
    SortedRadii sorted(n_radii);
    std::vector<Tally> below(2 * (n_radii + 1));
    int32_t bucket[kRowsAtOnce];
    for (int64_t t = 0; t < m; ++t) {
        const double* row = sqdist + t * n;
        double* cost = out + t * n_classes;
        std::fill(cost, cost + n_classes, 0.0);
        sorted.sort(sqradii + t * n_radii, k);
        for (int64_t g = 0; g < n_classes; ++g) {
            std::fill(below.begin(), below.end(), Tally{});
            for (int64_t l = class_start[g]; l < class_start[g + 1]; l += kRowsAtOnce) {
                const int64_t length = std::min<int64_t>(kRowsAtOnce, class_start[g + 1] - l);
                for (int64_t j = 0; j < length; ++j) bucket[j] = sorted.bucket(row[l + j]);
                for (int64_t j = 0; j < length; ++j) {
                    const double distance = row[l + j];
                    int32_t slot = sorted.first[bucket[j]];
                    // Twice without a branch, which could not be predicted.
                    slot += sorted.sqradii[slot] <= distance;
                    slot += sorted.sqradii[slot] <= distance;
                    while (sorted.sqradii[slot] <= distance) ++slot;
                    below[2 * slot + (j & 1)] += Tally{1, distance};
                }
            }
            Tally all{};  // a row inside a radius is inside all larger ones
            for (int64_t q = 0; q < n_radii; ++q) {
                all += below[2 * q] + below[2 * q + 1];
                const double inside = std::max(sorted.sqradii[q] * all[0] - all[1], 0.0);
                cost[sorted.owner[q]] += sorted.owner[q] == g ? 0.0 : inside;
            }
        }
    }
}
LIKEWISE_DISPATCH(void, anchor_hinges,
                  (const double* sqdist, int64_t m, int64_t n, const int64_t* class_start,
                   int64_t n_classes, const double* sqradii, int64_t k, double* out),
                  (sqdist, m, n, class_start, n_classes, sqradii, k, out))

// Point t as the impostor: out[t, g] is the sum over the rows i of class g and over j < k of
// [sqradii[j, i] - sqdist[t, i]]_+.
LIKEWISE_INLINE void impostor_hinges_body(const double* sqdist, int64_t m, int64_t n,
                                         const int64_t* class_start, int64_t n_classes,
                                         const double* sqradii, int64_t k, double* out) {
    for (int64_t t = 0; t < m; ++t) {
        const double* row = sqdist + t * n;
        for (int64_t g = 0; g < n_classes; ++g) {
            double lanes[kRowsAtOnce] = {};
            double rest = 0;
            int64_t i = class_start[g];
            for (; i + kRowsAtOnce <= class_start[g + 1]; i += kRowsAtOnce) {
                for (int64_t j = 0; j < k; ++j) {
                    const double* radius = sqradii + j * n + i;
                    for (int l = 0; l < kRowsAtOnce; ++l) {
                        const double inside = radius[l] - row[i + l];
                        lanes[l] += inside > 0 ? inside : 0;
                    }
                }
            }
            for (; i < class_start[g + 1]; ++i) {
                for (int64_t j = 0; j < k; ++j) rest += std::max(sqradii[j * n + i] - row[i], 0.0);
            }
            for (int half = kRowsAtOnce / 2; half; half /= 2) {
                for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
            }
            out[t * n_classes + g] = lanes[0] + rest;
        }
    }
}
LIKEWISE_DISPATCH(void, impostor_hinges,
                  (const double* sqdist, int64_t m, int64_t n, const int64_t* class_start,
                   int64_t n_classes, const double* sqradii, int64_t k, double* out),
                  (sqdist, m, n, class_start, n_classes, sqradii, k, out))

}  // namespace likewise
