// Pairs of rows of different classes within the radius of either row.
//
// Rows are sorted by class and then by radius: pairs of one class are skipped as whole ranges, and
// the rows of a panel have similar radii. Each unordered pair is tested once, in float32; the
// distance of pairs that pass is computed in double from the given rows. The filter may pass a far
// pair, but never rejects a near one:
//
// Let a, b be two rows, centred and scaled by a power of two so that norms are at most 1, a', b'
// their float32 roundings, n, m the squared norms of a', b', R the squared radius, u = 2^-24 and
// g(k) = ku/(1 - ku). The pair is near only if A = <a,b> - n/2 - m/2 + R/2 > 0, up to
//   rounding the rows:          |D(a',b') - D(a,b)|/2          <= (2u + u^2)(n + m),
//   rounding the constants and taking their difference:           3u (n + m + R)/2,
//   the sum of d products and that constant, in any order, fused or not:
//                                              g(d + 1) ((n + m + R)/2 + (n + m)/2),
//   the double arithmetic of norms and of the final test:         u (n + m) for d < 2^27.
// All together at most e (n + m + R/2) with e = g(d + 8), so A + e (n + m + R/2), computed in
// float32, is not negative. Underflow adds less than d 2^-140; d 2^-100 is allowed for it.
//
// For many features the rows are screened (screened_tiles.hpp). They are sorted by class and then
// as in a kd tree, so that the rows of a tile are near each other, and a', b' are the float32
// roundings of Q'a, Q'b, computed in double, where Q has the principal axes as columns. To the
// errors above this adds
//   a Q that is orthogonal up to t = |Q'Q - I|:  |D(Q'a,Q'b) - D(a,b)|/2 <= t D/2 <= t (n + m),
//   the rotation in double, off by at most v = d^1.5 2^-53 of the norm of a row:    2 v (n + m),
//   the radius, added to the sum on its own:     one more rounding of each of its terms,
// together less than 2u (n + m + R/2), as t <= 2^-26 and d <= 2^12, which the caller checks.
// After p < d directions the rest of <a',b'> is replaced by r s, where r and s are at least the
// norms of the rest of a' and of b': by Cauchy-Schwarz that is not less. r and s exceed these norms
// by less than 2^-21 of them, so that r s and the magnitudes of the p products before add up to at
// most (1 + 2^-19)(n + m)/2, and there are p + 1 products instead of d: their errors are bounded by
// those of the whole sum, and less than u (n + m)/100 more. A rest that is summed on its own is a
// sum of the same d products in another order. So e = g(d + 11) is enough. Where r or s underflow
// they are off by at most 2^-149, and r s by less than the d 2^-100 that is allowed.
//
// With bfloat16 rows are screened by <x,y> + r s before that, x, y being the first p directions of
// a', b' in bfloat16; r and s bound the rounding of these, too (coarse_tiles.hpp). A number is
// rounded by at most 2^-8 of it, so |x|^2 + r^2 <= (1 + 2^-5) n, and r s and the magnitudes of the
// p products add up to at most (1 + 2^-5)(n + m)/2. The products are exact in float32. Their p
// additions are documented to round to the nearest, one after the other; 2u for each of them allows
// any order and direction of rounding:
//   the sum of p products, r s and the constants:  g(2p + 2) (1 + 2^-6) (n + m + R/2),
//   all that is above, but for its sum:            6.5u (n + m + R/2),
// together at most e (n + m + R/2) with e = g(3d + 11). The additions take numbers below 2^-126 for
// 0, and so does the rounding, which is less than d 2^-120 of the d 2^-100 that is allowed.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "distances/packed_rows.hpp"
#include "distances/screened_tiles.hpp"
#include "distances/sqdist.hpp"
#include "distances/tiles.hpp"

namespace likewise {

struct Pair {
    int32_t row, col;
    double sqdist;
};

// A deque grows without copying: first access to new memory costs more than finding a pair.
using Found = std::deque<Pair>;

// Pairs that may be near, measured together: their rows are far apart in memory, and those of later
// pairs are fetched meanwhile.
struct Candidates {
    static constexpr int64_t kMost = 256;
    int64_t rows[kMost], cols[kMost];
    double sqdist[kMost];
    int64_t n = 0;
};

// A scan of the pairs of a row of `first` and a row of `second`, or within one set of rows.
template <typename T>
class RadiusScan {
  public:
    // Both sets were packed alike: with the same centre, scale, axes, stops and instructions. They
    // are the same object for the pairs within it, of which each is tested once.
    // same_class: find pairs of one class instead of those of different classes.
    RadiusScan(const PackedRows<T>& first, const PackedRows<T>& second, bool same_class,
               int64_t limit, const std::string& instructions)
        : first_(first), second_(second), within_(&first == &second), same_class_(same_class),
          limit_(limit),
          tile_(tile_for(instructions)), screened_tile_(screened_tile_for(instructions)) {}

    const PackedRows<T>& first() const { return first_; }
    const PackedRows<T>& second() const { return second_; }
    int64_t found() const { return found_.load(); }
    int64_t dropped() const { return dropped_.load(); }  // pairs in tiles that were dropped early

    // First panel of columns that may make a pair with the first row of panel p.
    int64_t first_column_panel(int64_t p) const {
        if (!within_) return 0;
        return same_class_ ? p : first_.first_panel_after(p);
    }

    // All pairs whose first row, in sorted order, is in panels begin..end, from tiles. Pairs within
    // the radius of a row of `first` go to `out`, those within the radius of one of `second` to
    // `reverse`, which may be the same.
    void scan_tiles(int64_t begin, int64_t end, Found& out, Found& reverse) {
        uint64_t masks[kTile];
        float need[kPanel];
        int64_t dropped = 0;
        Candidates near;
        std::vector<int64_t> first(end - begin);
        for (int64_t p = begin; p < end; ++p) first[p - begin] = first_column_panel(p);
        // All rows of the block meet a panel of columns while it is in the cache.
        for (int64_t q = first.empty() ? second_.panels : first[0]; q < second_.panels; ++q) {
            if (found() > limit_) return;
            for (int64_t p = begin; p < end && first[p - begin] <= q; ++p) {
                if (!may_have_pairs(p, q)) continue;
                if (!first_.screened) needs(p * kPanel, kPanel, q, need);
                for (int r0 = 0; r0 < kPanel; r0 += kTile) {
                    if (!near_tile(p, r0, q, need + r0, masks, &dropped)) continue;
                    for (int r = 0; r < kTile; ++r) {
                        for (uint64_t left = masks[r]; left != 0; left &= left - 1) {
                            add(p * kPanel + r0 + r, q * kPanel + __builtin_ctzll(left), near, out,
                                reverse);
                        }
                    }
                }
            }
        }
        measure(near, out, reverse);
        dropped_ += dropped;
    }

    // The same from a block of inner products of float32 rows: rows from `row`, columns from
    // `column`, a multiple of the panel's width.
    void scan_products(const float* products, int64_t row, int64_t n_rows, int64_t column,
                       int64_t n_columns, Found& out, Found& reverse) {
        Candidates near;
        for (int64_t i = 0; i < n_rows; ++i) {
            if (found() > limit_) return;
            for (int64_t c = 0; c < n_columns; c += kPanel) {
                const int64_t width = std::min<int64_t>(kPanel, n_columns - c);
                const float* product = products + i * n_columns + c;
                const float* init = second_.init.get() + column + c;
                float need;
                needs(row + i, 1, (column + c) / kPanel, &need);
                int any = 0;
                for (int64_t j = 0; j < width; ++j) any |= product[j] + (init[j] - need) >= 0;
                if (!any) continue;
                for (int64_t j = 0; j < width; ++j) {
                    if (product[j] + (init[j] - need) >= 0)
                        add(row + i, column + c + j, near, out, reverse);
                }
            }
        }
        measure(near, out, reverse);
    }

  private:
    // Whether classes allow pairs of a row of panel p and a row of panel q.
    bool may_have_pairs(int64_t p, int64_t q) const {
        const int64_t first = first_.first_group(p), last = first_.last_group(p);
        const int64_t other_first = second_.first_group(q), other_last = second_.last_group(q);
        if (same_class_) return first <= other_last && other_first <= last;
        return first != other_last || last != other_first;
    }

    // The tile of rows r0.. of panel p against panel q; see tiles.hpp and screened_tiles.hpp.
    bool near_tile(int64_t p, int r0, int64_t q, const float* need, uint64_t* masks,
                   int64_t* dropped) const {
        const int64_t row = p * kPanel + r0, column = q * kPanel, d = first_.d;
        const float* rows = first_.rows.get() + p * kPanel * d + r0;
        const float* columns = second_.rows.get() + column * d;
        const float* init = second_.init.get() + column;
        if (!first_.screened) return tile_(rows, columns, d, init, need, masks);
        ScreenedTile tile;
        tile.rows = rows;
        tile.columns = columns;
        tile.d = d;
        tile.init = init;
        tile.need = first_.need.get() + row;
        tile.row_half = first_.half.get() + row;
        tile.column_half = second_.half.get() + column;
        tile.n_stops = static_cast<int>(first_.stops.size());
        for (int s = 0; s < tile.n_stops; ++s) {
            tile.stops[s] = first_.stops[s];
            tile.row_norms[s] = first_.norms[s].get() + row;
            tile.column_norms[s] = second_.norms[s].get() + column;
        }
        tile.row_rest = first_.rest.get() + row * first_.stride;
        tile.column_rest = second_.rest.get() + column * first_.stride;
        tile.stride = first_.stride;
        tile.dropped = dropped;
        first_.coarse.put_rows_into(tile, row);
        second_.coarse.put_columns_into(tile, column);
        return screened_tile_(tile, masks);
    }

    // The inner product from which, per row, a column of panel q is near in either direction.
    void needs(int64_t row, int64_t n_rows, int64_t q, float* need) const {
        for (int64_t r = 0; r < n_rows; ++r) {
            const float half = std::max(first_.half[row + r], second_.half_max[q]);
            need[r] = first_.need[row + r] - half;
        }
    }

    void add(int64_t i, int64_t j, Candidates& near, Found& out, Found& reverse) {
        const int64_t row = first_.group[i], column = second_.group[j];
        if ((row == column) != same_class_) return;
        if (within_ && i >= j) return;  // tested from the other side, or the same row
        near.rows[near.n] = first_.order[i];
        near.cols[near.n] = second_.order[j];
        if (++near.n == Candidates::kMost) measure(near, out, reverse);
    }

    void measure(Candidates& near, Found& out, Found& reverse) {
        int64_t found = 0;
        pair_sqdist(first_.Z, second_.Z, first_.d, near.rows, near.cols, near.n, near.sqdist);
        for (int64_t p = 0; p < near.n; ++p) {
            const int64_t row = near.rows[p], col = near.cols[p];
            const double distance = near.sqdist[p];
            if (distance < first_.radius2[row]) {
                out.push_back({static_cast<int32_t>(row), static_cast<int32_t>(col), distance});
                ++found;
            }
            if (distance < second_.radius2[col]) {
                reverse.push_back({static_cast<int32_t>(col), static_cast<int32_t>(row), distance});
                ++found;
            }
        }
        near.n = 0;
        if (found != 0) found_ += found;
    }

    const PackedRows<T>&first_, &second_;
    const bool within_, same_class_;
    const int64_t limit_;
    const Tile tile_;
    const Screened screened_tile_;
    std::atomic<int64_t> found_{0}, dropped_{0};
};

// Sort the pairs found by row, emptying the blocks; `start` becomes where the rows begin.
inline void gather_found(std::vector<Found*>& blocks, int64_t n, int64_t* start, int64_t* rows,
                         int64_t* cols, double* distances) {
    std::fill(start, start + n + 1, 0);
    for (const Found* block : blocks)
        for (const Pair& pair : *block) ++start[pair.row + 1];
    for (int64_t i = 0; i < n; ++i) start[i + 1] += start[i];
    std::vector<int64_t> next(start, start + n);
    for (Found* block : blocks) {
        for (const Pair& pair : *block) {
            const int64_t slot = next[pair.row]++;
            rows[slot] = pair.row;
            cols[slot] = pair.col;
            distances[slot] = pair.sqdist;
        }
        Found().swap(*block);
    }
}

// Sort each of the rows begin..end by column.
inline void sort_found(const int64_t* start, int64_t begin, int64_t end, int64_t* cols,
                       double* distances) {
    std::vector<std::pair<int64_t, double>> row;
    for (int64_t i = begin; i < end; ++i) {
        row.clear();
        for (int64_t p = start[i]; p < start[i + 1]; ++p) row.emplace_back(cols[p], distances[p]);
        std::sort(row.begin(), row.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
        for (int64_t p = start[i]; p < start[i + 1]; ++p) {
            cols[p] = row[p - start[i]].first;
            distances[p] = row[p - start[i]].second;
        }
    }
}

}  // namespace likewise
