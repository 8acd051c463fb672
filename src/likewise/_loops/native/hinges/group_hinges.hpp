// Smoothed hinge losses of every near pair of a group against every far pair of the same group.
#pragma once

#include <algorithm>
#include <cstdint>

namespace likewise {

// Groups begin..end. A violation is v = margin + near - far. Its loss is 0 below 0,
// v²/(2 smoothing) up to smoothing and v - smoothing/2 beyond; with smoothing 0 it is the hinge. The
// derivatives of a pair are summed over the triplets that it is part of, then multiplied by push,
// and by the weight of the group; that of a near pair has the pull besides.
inline void group_hinges(const double* near, const int64_t* near_start, const double* far,
                         const int64_t* far_start, const double* weights, double pull, double push,
                         double margin, double smoothing, int64_t begin, int64_t end,
                         double* value, double* near_derivative, double* far_derivative) {
    const double steepness = smoothing > 0 ? 1 / smoothing : 0;
    for (int64_t g = begin; g < end; ++g) {
        const int64_t first = near_start[g], last = near_start[g + 1];
        double widest = 0, total = 0;
        for (int64_t j = first; j < last; ++j) {
            near_derivative[j] = 0;
            widest = std::max(widest, near[j]);
        }
        for (int64_t l = far_start[g]; l < far_start[g + 1]; ++l) {
            far_derivative[l] = 0;
            if (first == last || far[l] >= margin + widest) continue;
            double sum = 0;
            for (int64_t j = first; j < last; ++j) {
                const double v = margin + near[j] - far[l];
                if (v <= 0) continue;
                const double derivative = v < smoothing ? v * steepness : 1;
                total += v < smoothing ? 0.5 * v * derivative : v - 0.5 * smoothing;
                near_derivative[j] += derivative;
                sum += derivative;
            }
            far_derivative[l] = weights[g] * (-push * sum);
        }
        for (int64_t j = first; j < last; ++j)
            near_derivative[j] = weights[g] * (pull + push * near_derivative[j]);
        value[g] = total;
    }
}

}  // namespace likewise
