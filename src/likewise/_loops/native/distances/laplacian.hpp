// The graph Laplacian of weighted pairs, applied to the rows of a matrix.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "distances/sqdist.hpp"
#include "instructions.hpp"
#include "registers.hpp"

namespace likewise {

// The pairs of each row, in their order: the order of a sum over a row does not depend on the threads.
struct Incidence {
    int64_t n_pairs;
    std::vector<int64_t> start;  // n + 1
    std::vector<int32_t> pair, other;

    Incidence(const int64_t* rows, const int64_t* cols, int64_t m, int64_t n)
        : n_pairs(m), start(n + 1, 0), pair(2 * m), other(2 * m) {
        for (int64_t p = 0; p < m; ++p) {
            ++start[rows[p] + 1];
            ++start[cols[p] + 1];
        }
        for (int64_t i = 0; i < n; ++i) start[i + 1] += start[i];
        std::vector<int64_t> next(start.begin(), start.end() - 1);
        for (int64_t p = 0; p < m; ++p) {
            put(next[rows[p]]++, p, cols[p]);
            put(next[cols[p]]++, p, rows[p]);
        }
    }

  private:
    void put(int64_t slot, int64_t p, int64_t row) {
        pair[slot] = static_cast<int32_t>(p);
        other[slot] = static_cast<int32_t>(row);
    }
};

// The edges of rows begin..end, those of one list of pairs after those of another; few pairs of a
// list may have a weight.
struct Adjacency {
    std::vector<int64_t> start;  // end - begin + 1
    std::unique_ptr<int32_t[]> other;
    std::unique_ptr<double[]> weight;

    Adjacency(const std::vector<const Incidence*>& lists, const std::vector<const double*>& weights,
              int64_t begin, int64_t end)
        : start(1, 0) {
        constexpr int64_t ahead = 32;  // measured
        int64_t most = 0, edges = 0;
        for (const Incidence* list : lists) most += list->start[end] - list->start[begin];
        other.reset(new int32_t[most]);
        weight.reset(new double[most]);
        int32_t* const others = other.get();
        double* const kept = weight.get();
        for (int64_t i = begin; i < end; ++i) {
            for (size_t l = 0; l < lists.size(); ++l) {
                const int32_t *pair = lists[l]->pair.data(), *of_pair = lists[l]->other.data();
                const double* values = weights[l];
                const int64_t last = lists[l]->start[end], stop = lists[l]->start[i + 1];
                for (int64_t e = lists[l]->start[i]; e < stop; ++e) {
                    __builtin_prefetch(values + pair[std::min(e + ahead, last - 1)]);
                    const double w = values[pair[e]];
                    others[edges] = of_pair[e];
                    kept[edges] = w;
                    edges += w != 0;
                }
            }
            start.push_back(edges);
        }
    }
};

// Add edges begin..end of a row to V registers of its sum, from feature k on.
template <int W, int V, typename T>
LIKEWISE_INLINE void add_edges(const T* Z, int64_t d, const T* own, const Adjacency& pairs,
                               int64_t begin, int64_t end, int64_t k, double* sum) {
    using Doubles = typename Register<W>::Doubles;
    Doubles total[V], difference;
    LIKEWISE_UNROLL(8)
    for (int v = 0; v < V; ++v) total[v] = *reinterpret_cast<const Doubles*>(sum + k + v * W);
    for (int64_t e = begin; e < end; ++e) {
        const T* other = Z + static_cast<int64_t>(pairs.other[e]) * d + k;
        const double w = pairs.weight[e];
        LIKEWISE_UNROLL(8)
        for (int v = 0; v < V; ++v) {
            subtract<W>(own + k + v * W, other + v * W, difference);
            total[v] += w * difference;
        }
    }
    LIKEWISE_UNROLL(8)
    for (int v = 0; v < V; ++v) *reinterpret_cast<Doubles*>(sum + k + v * W) = total[v];
}

// The rows of `pairs`, which begin with row `begin` of Z, of the product. Each row gathers its own
// sum, so no two threads write to one row.
// A few edges at a time, whose rows stay in the nearest cache, and of these some features at a
// time, whose sums stay in registers; meanwhile the same features of the next edges are fetched.
// Every feature is summed in the order of the edges.
template <int W, typename T>
LIKEWISE_INLINE void laplacian_rows_of(const T* Z, int64_t d, const Adjacency& pairs,
                                       int64_t begin, double* sum, T* out) {
    constexpr int V = 4;  // with `most` edges at a time, measured
    constexpr int64_t width = V * W, line = 64 / sizeof(T), most = 16;
    const int64_t n_rows = static_cast<int64_t>(pairs.start.size()) - 1;
    for (int64_t i = 0; i < n_rows; ++i) {
        const T* own = Z + (begin + i) * d;
        for (int64_t k = 0; k < d; ++k) sum[k] = 0;
        const int64_t stop = pairs.start[i + 1];
        for (int64_t e = pairs.start[i], until; e < stop; e = until) {
            until = std::min(e + most, stop);
            const int64_t next = until < stop || i + 1 == n_rows ? stop : pairs.start[i + 2];
            const int64_t fetched = std::min(until + most, next);
            int64_t k = 0;
            for (; k + width <= d; k += width) {
                for (int64_t f = until; f < fetched; ++f) {
                    const T* other = Z + static_cast<int64_t>(pairs.other[f]) * d + k;
                    for (int64_t j = 0; j < width; j += line) __builtin_prefetch(other + j);
                }
                add_edges<W, V>(Z, d, own, pairs, e, until, k, sum);
            }
            for (int64_t f = until; f < fetched; ++f)
                prefetch_row(Z + static_cast<int64_t>(pairs.other[f]) * d + k, d - k);
            for (; k + W <= d; k += W) add_edges<W, 1>(Z, d, own, pairs, e, until, k, sum);
            for (; k < d; ++k) {
                for (int64_t f = e; f < until; ++f) {
                    const T* other = Z + static_cast<int64_t>(pairs.other[f]) * d;
                    sum[k] += pairs.weight[f] *
                              (static_cast<double>(own[k]) - static_cast<double>(other[k]));
                }
            }
        }
        for (int64_t k = 0; k < d; ++k) out[i * d + k] = static_cast<T>(sum[k]);
    }
}
LIKEWISE_DISPATCH_WIDTH(laplacian_rows,
                        (const T* Z, int64_t d, const Adjacency& pairs, int64_t begin, double* sum,
                         T* out),
                        (Z, d, pairs, begin, sum, out))

}  // namespace likewise
