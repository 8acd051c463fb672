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
#include <cmath>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "distances/aligned.hpp"
#include "distances/coarse_tiles.hpp"
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

template <typename T>
class RadiusScan {
  public:
    // order: the rows sorted by (class, radius); group: the class of each sorted position.
    // panelled: store rows in panels for the tiles, else row by row for a matrix product.
    // stops: numbers of directions after which tiles are screened, ascending and less than d, at
    // most kStops; the rows to pack must then be rotated. Empty if they are not screened. With
    // bfloat16 the first kCoarseStops of them are not repeated in float32.
    // n_classes: if positive, groups from it on are the same classes of a second block of rows, and
    // only pairs of a row of each block are found.
    RadiusScan(const T* Z, int64_t n, int64_t d, const int64_t* order, const int64_t* group,
               const double* radius2, const double* centre, double scale, int64_t limit,
               bool panelled, const std::vector<int64_t>& stops, const std::string& instructions,
               int64_t n_classes)
        : Z_(Z), n_(n), d_(d), order_(order), group_(group), n_classes_(n_classes),
          radius2_(radius2), centre_(centre), scale_(scale), limit_(limit), panelled_(panelled),
          screened_(!stops.empty()),
          coarse_(n, d, instructions == "avx512bf16" ? stops : std::vector<int64_t>()),
          stops_(stops.begin() + coarse_.n_stops(), stops.end()),
          tile_(tile_for(instructions)), screened_tile_(screened_tile_for(instructions)),
          panels_((n + kPanel - 1) / kPanel), rows_(aligned_floats(panels_ * kPanel * d)),
          init_(aligned_floats(panels_ * kPanel)), need_(aligned_floats(panels_ * kPanel)),
          half_(aligned_floats(panels_ * kPanel)), half_max_(panels_, 0.0f) {
        if (stops_.empty()) return;
        // A vector from any stop on ends within the row.
        stride_ = (d - stops_[0] + 2 * kRestLanes - 2) / kRestLanes * kRestLanes;
        rest_ = aligned_floats(panels_ * kPanel * stride_);
        for (size_t s = 0; s < stops_.size(); ++s) norms_[s] = aligned_floats(panels_ * kPanel);
    }

    int64_t panels() const { return panels_; }
    int64_t found() const { return found_.load(); }
    int64_t dropped() const { return dropped_.load(); }  // pairs in tiles that were dropped early
    float* rows() const { return rows_.get(); }
    bool panelled() const { return panelled_; }
    bool screened() const { return screened_; }

    // First panel with a column that may make a pair with the first row of panel p.
    int64_t first_column_panel(int64_t p) const {
        int64_t before = group_[p * kPanel];
        if (n_classes_ > 0) {
            if (before >= n_classes_) return panels_;
            before = n_classes_ - 1;
        }
        return (std::upper_bound(group_, group_ + n_, before) - group_) / kPanel;
    }

    // Fill panels begin..end with centred, scaled float32 rows and the constants of their test.
    // rotated: the same rows in rotated coordinates, if they are screened.
    void pack(int64_t begin, int64_t end, const double* rotated) {
        for (int64_t p = begin; p < end; ++p) {
            for (int64_t i = p * kPanel; i < (p + 1) * kPanel; ++i) {
                const bool padding = i >= n_;
                const double norm2 =
                    padding             ? pack_row(i, [](int64_t) { return 0.0; })
                    : rotated != nullptr ? pack_rotated(i, rotated + (i - begin * kPanel) * d_)
                                         : pack_centred(i, Z_ + order_[i] * d_);
                if (padding) {  // near no row
                    init_[i] = -1e30f;
                    need_[i] = 1e30f;
                    half_[i] = 0;
                } else {
                    pack_constants(i, norm2);
                }
                half_max_[p] = std::max(half_max_[p], half_[i]);
                if (!stops_.empty()) pack_rest(i);
                if (coarse_.n_stops() > 0) coarse_.pack(i, panel_row(i));
            }
        }
    }

    // All pairs whose first row, in sorted order, is in panels begin..end, from tiles.
    void scan_tiles(int64_t begin, int64_t end, Found& out) {
        uint64_t masks[kTile];
        float need[kPanel];
        int64_t dropped = 0;
        Candidates near;
        std::vector<int64_t> first(end - begin);
        for (int64_t p = begin; p < end; ++p) first[p - begin] = first_column_panel(p);
        // All rows of the block meet a panel of columns while it is in the cache.
        for (int64_t q = first.empty() ? panels_ : first[0]; q < panels_; ++q) {
            if (found() > limit_) return;
            for (int64_t p = begin; p < end && first[p - begin] <= q; ++p) {
                if (!screened_) needs(p * kPanel, kPanel, q, need);
                for (int r0 = 0; r0 < kPanel; r0 += kTile) {
                    if (!near_tile(p, r0, q, need + r0, masks, &dropped)) continue;
                    for (int r = 0; r < kTile; ++r) {
                        for (uint64_t left = masks[r]; left != 0; left &= left - 1) {
                            add(p * kPanel + r0 + r, q * kPanel + __builtin_ctzll(left), near, out);
                        }
                    }
                }
            }
        }
        measure(near, out);
        dropped_ += dropped;
    }

    // The same from a block of inner products of float32 rows: rows from `row`, columns from
    // `column`, a multiple of the panel's width.
    void scan_products(const float* products, int64_t row, int64_t n_rows, int64_t column,
                       int64_t n_columns, Found& out) {
        Candidates near;
        for (int64_t i = 0; i < n_rows; ++i) {
            if (found() > limit_) return;
            for (int64_t c = 0; c < n_columns; c += kPanel) {
                const int64_t width = std::min<int64_t>(kPanel, n_columns - c);
                const float* product = products + i * n_columns + c;
                const float* init = init_.get() + column + c;
                float need;
                needs(row + i, 1, (column + c) / kPanel, &need);
                int any = 0;
                for (int64_t j = 0; j < width; ++j) any |= product[j] + (init[j] - need) >= 0;
                if (!any) continue;
                for (int64_t j = 0; j < width; ++j) {
                    if (product[j] + (init[j] - need) >= 0) add(row + i, column + c + j, near, out);
                }
            }
        }
        measure(near, out);
    }

  private:
    // Row i of the panels; one direction of it follows another by kPanel.
    float* panel_row(int64_t i) const {
        return rows_.get() + i / kPanel * kPanel * d_ + i % kPanel;
    }

    // Store row i from its values by feature; returns the squared norm of what is stored.
    template <typename Values>
    double pack_row(int64_t i, const Values& value_of) {
        float* row = panelled_ ? panel_row(i) : rows_.get() + i * d_;
        const int64_t step = panelled_ ? kPanel : 1;
        double norm2 = 0;
        for (int64_t f = 0; f < d_; ++f) {
            const float value = static_cast<float>(value_of(f));
            row[f * step] = value;
            norm2 += static_cast<double>(value) * value;
        }
        return norm2;
    }

    double pack_centred(int64_t i, const T* z) {
        return pack_row(i, [&](int64_t f) { return (z[f] - centre_[f]) * scale_; });
    }

    double pack_rotated(int64_t i, const double* values) {
        return pack_row(i, [&](int64_t f) { return values[f]; });
    }

    void pack_constants(int64_t i, double norm2) {
        const double d = static_cast<double>(d_);
        const double k = !screened_ ? d + 8 : coarse_.n_stops() == 0 ? d + 11 : 3 * d + 11;
        const double u = 0x1p-24, e = k * u / (1 - k * u);
        // Distances are at most 2, so a squared radius above 8 is the same as 8.
        const double tiny = d * 5e-324;  // underflow in double
        const double wide = (std::max(radius2_[order_[i]], 0.0) + tiny) * scale_;
        const double R = std::min(8.0, wide * scale_);
        init_[i] = static_cast<float>(-norm2 * (0.5 - e));
        need_[i] = static_cast<float>(norm2 * (0.5 - e));
        half_[i] = static_cast<float>(R / 2 * (1 + e) + d * 0x1p-100);
    }

    // The directions of row i from the first stop on, and at least the norms of the rest.
    void pack_rest(int64_t i) {
        const float* row = panel_row(i);
        float* rest = rest_.get() + i * stride_;
        double norm2 = 0;
        int64_t f = d_;
        for (int s = static_cast<int>(stops_.size()) - 1; s >= 0; --s) {
            for (; f > stops_[s]; --f) {
                const float value = row[(f - 1) * kPanel];
                rest[f - 1 - stops_[0]] = value;
                norm2 += static_cast<double>(value) * value;
            }
            norms_[s][i] = static_cast<float>(std::sqrt(norm2) * (1 + 0x1p-23));
        }
        for (int64_t k = d_ - stops_[0]; k < stride_; ++k) rest[k] = 0;
    }

    // The tile of rows r0.. of panel p against panel q; see tiles.hpp and screened_tiles.hpp.
    bool near_tile(int64_t p, int r0, int64_t q, const float* need, uint64_t* masks,
                   int64_t* dropped) const {
        const int64_t row = p * kPanel + r0, column = q * kPanel;
        const float* rows = rows_.get() + p * kPanel * d_ + r0;
        const float* columns = rows_.get() + column * d_;
        const float* init = init_.get() + column;
        if (!screened_) return tile_(rows, columns, d_, init, need, masks);
        ScreenedTile tile;
        tile.rows = rows;
        tile.columns = columns;
        tile.d = d_;
        tile.init = init;
        tile.need = need_.get() + row;
        tile.row_half = half_.get() + row;
        tile.column_half = half_.get() + column;
        tile.n_stops = static_cast<int>(stops_.size());
        for (int s = 0; s < tile.n_stops; ++s) {
            tile.stops[s] = stops_[s];
            tile.row_norms[s] = norms_[s].get() + row;
            tile.column_norms[s] = norms_[s].get() + column;
        }
        tile.row_rest = rest_.get() + row * stride_;
        tile.column_rest = rest_.get() + column * stride_;
        tile.stride = stride_;
        tile.dropped = dropped;
        coarse_.put_into(tile, row, column);
        return screened_tile_(tile, masks);
    }

    // The inner product from which, per row, a column of panel q is near in either direction.
    void needs(int64_t row, int64_t n_rows, int64_t q, float* need) const {
        for (int64_t r = 0; r < n_rows; ++r) {
            need[r] = need_[row + r] - std::max(half_[row + r], half_max_[q]);
        }
    }

    void add(int64_t i, int64_t j, Candidates& near, Found& out) {
        if (group_[i] >= group_[j]) return;  // same class, or tested from the other side
        if (n_classes_ > 0) {
            const bool apart = group_[i] < n_classes_ && group_[j] >= n_classes_;
            if (!apart || group_[j] - n_classes_ == group_[i]) return;
        }
        near.rows[near.n] = order_[i];
        near.cols[near.n] = order_[j];
        if (++near.n == Candidates::kMost) measure(near, out);
    }

    void measure(Candidates& near, Found& out) {
        const size_t before = out.size();
        pair_sqdist(Z_, Z_, d_, near.rows, near.cols, near.n, near.sqdist);
        for (int64_t p = 0; p < near.n; ++p) {
            const int64_t row = near.rows[p], col = near.cols[p];
            const double distance = near.sqdist[p];
            if (distance < radius2_[row])
                out.push_back({static_cast<int32_t>(row), static_cast<int32_t>(col), distance});
            if (distance < radius2_[col])
                out.push_back({static_cast<int32_t>(col), static_cast<int32_t>(row), distance});
        }
        near.n = 0;
        if (out.size() != before) found_ += static_cast<int64_t>(out.size() - before);
    }

    const T* Z_;
    int64_t n_, d_;
    const int64_t *order_, *group_;
    int64_t n_classes_;
    const double *radius2_, *centre_;
    double scale_;
    int64_t limit_;
    bool panelled_, screened_;
    CoarseRows coarse_;
    std::vector<int64_t> stops_;
    Tile tile_;
    Screened screened_tile_;
    int64_t panels_;
    Aligned<float> rows_, init_, need_, half_;
    int64_t stride_ = 0;
    Aligned<float> rest_, norms_[kStops];
    std::vector<float> half_max_;  // of each panel
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
