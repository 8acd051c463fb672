// The graph Laplacian of weighted pairs, applied to the rows of a matrix.
#pragma once

#include <cstdint>
#include <vector>

#include "distances/sqdist.hpp"
#include "instructions.hpp"
#include "lanes.hpp"

namespace likewise {

// The pairs of each row. Entries keep the order of the pairs, so the order of a sum over a row does
// not depend on the threads.
struct Adjacency {
    std::vector<int64_t> start;  // n + 1
    std::vector<int32_t> other;
    std::vector<double> weight;

    Adjacency(const int64_t* rows, const int64_t* cols, const double* weights, int64_t m,
              int64_t n)
        : start(n + 1, 0), other(2 * m), weight(2 * m) {
        for (int64_t p = 0; p < m; ++p) {
            ++start[rows[p] + 1];
            ++start[cols[p] + 1];
        }
        for (int64_t i = 0; i < n; ++i) start[i + 1] += start[i];
        std::vector<int64_t> next(start.begin(), start.end() - 1);
        for (int64_t p = 0; p < m; ++p) {
            put(next[rows[p]]++, cols[p], weights[p]);
            put(next[cols[p]]++, rows[p], weights[p]);
        }
    }

  private:
    void put(int64_t slot, int64_t row, double w) {
        other[slot] = static_cast<int32_t>(row);
        weight[slot] = w;
    }
};

// Rows begin..end of the product. Each row gathers its own sum, so no two threads write to one row.
template <typename T>
LIKEWISE_INLINE void laplacian_rows_of(const T* Z, int64_t d, const Adjacency& pairs,
                                       int64_t begin, int64_t end, double* sum, T* out) {
    constexpr int64_t ahead = 4;
    Doubles diff;
    for (int64_t i = begin; i < end; ++i) {
        const T* own = Z + i * d;
        for (int64_t k = 0; k < d; ++k) sum[k] = 0;
        for (int64_t e = pairs.start[i]; e < pairs.start[i + 1]; ++e) {
            if (e + ahead < pairs.start[end])
                prefetch_row(Z + static_cast<int64_t>(pairs.other[e + ahead]) * d, d);
            const T* other = Z + static_cast<int64_t>(pairs.other[e]) * d;
            const double w = pairs.weight[e];
            int64_t k = 0;
            for (; k + kLanes <= d; k += kLanes) {
                subtract_lanes(own + k, other + k, diff);
                lanes(sum + k) += w * diff;
            }
            for (; k < d; ++k)
                sum[k] += w * (static_cast<double>(own[k]) - static_cast<double>(other[k]));
        }
        for (int64_t k = 0; k < d; ++k) out[i * d + k] = static_cast<T>(sum[k]);
    }
}

LIKEWISE_INLINE void laplacian_rows_body(const float* Z, int64_t d, const Adjacency& pairs,
                                         int64_t begin, int64_t end, double* sum, float* out) {
    laplacian_rows_of(Z, d, pairs, begin, end, sum, out);
}
LIKEWISE_INLINE void laplacian_rows_body(const double* Z, int64_t d, const Adjacency& pairs,
                                         int64_t begin, int64_t end, double* sum, double* out) {
    laplacian_rows_of(Z, d, pairs, begin, end, sum, out);
}
LIKEWISE_DISPATCH(void, laplacian_rows,
                  (const float* Z, int64_t d, const Adjacency& pairs, int64_t begin, int64_t end,
                   double* sum, float* out),
                  (Z, d, pairs, begin, end, sum, out))
LIKEWISE_DISPATCH(void, laplacian_rows,
                  (const double* Z, int64_t d, const Adjacency& pairs, int64_t begin, int64_t end,
                   double* sum, double* out),
                  (Z, d, pairs, begin, end, sum, out))

}  // namespace likewise
