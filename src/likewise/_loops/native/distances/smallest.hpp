// The smallest values of groups.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace likewise {

// The positions of the k smallest of values[start[g]..start[g + 1]], ascending, of equal values the
// first first; -1 where there are fewer. For groups begin..end.
inline void smallest_of_groups(const double* values, const int64_t* start, int64_t begin,
                               int64_t end, int64_t k, int64_t* out) {
    std::vector<int64_t> order;
    for (int64_t g = begin; g < end; ++g) {
        order.clear();
        for (int64_t p = start[g]; p < start[g + 1]; ++p) order.push_back(p);
        const int64_t found = std::min<int64_t>(k, static_cast<int64_t>(order.size()));
        std::partial_sort(order.begin(), order.begin() + found, order.end(),
                          [values](int64_t a, int64_t b) {
                              return values[a] != values[b] ? values[a] < values[b] : a < b;
                          });
        std::copy_n(order.begin(), found, out + g * k);
        std::fill_n(out + g * k + found, k - found, int64_t{-1});
    }
}

}  // namespace likewise
