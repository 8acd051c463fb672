// The hinge losses of every near pair of a group against every far pair of it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace likewise {

// Groups begin..end. A violation is v = margin + near - far; its loss is 0 below 0, v²/(2 width)
// up to width and v - width/2 beyond: the hinge for width 0. Slopes are sums of loss'(v).
inline void group_hinges(const double* near, const int64_t* near_start, const double* far,
                         const int64_t* far_start, double margin, double width, int64_t begin,
                         int64_t end, double* value, double* near_slope, double* far_slope) {
    const double steepness = width > 0 ? 1 / width : 0;
    for (int64_t g = begin; g < end; ++g) {
        const int64_t first = near_start[g], last = near_start[g + 1];
        double widest = 0, total = 0;
        for (int64_t j = first; j < last; ++j) {
            near_slope[j] = 0;
            widest = std::max(widest, near[j]);
        }
        for (int64_t l = far_start[g]; l < far_start[g + 1]; ++l) {
            far_slope[l] = 0;
            if (first == last || far[l] >= margin + widest) continue;
            double sum = 0;
            for (int64_t j = first; j < last; ++j) {
                const double v = margin + near[j] - far[l];
                if (v <= 0) continue;
                const double slope = v < width ? v * steepness : 1;
                total += v < width ? 0.5 * v * slope : v - 0.5 * width;
                near_slope[j] += slope;
                sum += slope;
            }
            far_slope[l] = sum;
        }
        value[g] = total;
    }
}

}  // namespace likewise
