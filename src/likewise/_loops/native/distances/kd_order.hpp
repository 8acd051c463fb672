// Rows in the order of the leaves of a kd tree, so that rows of a tile are near each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "distances/tiles.hpp"

namespace likewise {

// The multiple of `grain` below the middle of a range, or the next if that is before the range.
inline int64_t cut(int64_t begin, int64_t end, int64_t grain) {
    const int64_t middle = (begin + end) / 2 / grain * grain;
    return middle > begin ? middle : (begin / grain + 1) * grain;
}

// Reorder positions begin..end of `order`, which are rows of the n x k matrix `points`. A range is
// halved along the axis on which it is widest; ranges end where panels and then tiles do.
inline void kd_order(const float* points, int64_t k, int64_t* order, int64_t begin, int64_t end) {
    while (true) {
        int64_t middle = cut(begin, end, kPanel);
        if (middle >= end) middle = cut(begin, end, kTile);
        if (middle >= end) return;
        int64_t axis = 0;
        float widest = -1;
        for (int64_t a = 0; a < k; ++a) {
            float low = std::numeric_limits<float>::infinity(), high = -low;
            for (int64_t i = begin; i < end; ++i) {
                const float value = points[order[i] * k + a];
                low = std::min(low, value);
                high = std::max(high, value);
            }
            if (high - low > widest) widest = high - low, axis = a;
        }
        std::nth_element(order + begin, order + middle, order + end, [&](int64_t i, int64_t j) {
            const float x = points[i * k + axis], y = points[j * k + axis];
            return x != y ? x < y : i < j;
        });
        kd_order(points, k, order, begin, middle);
        begin = middle;
    }
}

}  // namespace likewise
