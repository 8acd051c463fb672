// Tiles of screened_tiles.hpp that are screened in bfloat16 first, which is twice as fast.
//
// Let a, b be two rows, x, y the first p directions of a, b rounded to bfloat16, a0, b0 these
// directions before, and a1, b1 the other directions. Then
//   <a,b> = <x,y> + <a0 - x,b0> + <x,b0 - y> + <a1,b1> <= <x,y> + r(a) r(b),
//   r(a)^2 = |a0 - x|^2 / c + c max(|a0|, |x|)^2 + |a1|^2, r(b) alike, for any c > 0:
// Cauchy-Schwarz on (|a0 - x| / C, C |x|, |a1|) and (C |b0|, |b0 - y| / C, |b1|), with C^2 = c.
// |a0 - x| is computed, so no bound of the rounding is needed. radius.hpp has the other errors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "distances/aligned.hpp"
#include "distances/screened_tiles.hpp"
#include "distances/tiles.hpp"
#include "instructions.hpp"

#ifdef LIKEWISE_X86
#include <immintrin.h>
#endif

namespace likewise {

// c; any is right. r is least near |a0 - x| / |x|, which is at most 2^-8 and mostly half of that.
constexpr double kCoarseRounding = 0x1p-9;

// The bits of the nearest float with 8 significant bits, of ties the even one; the upper half is
// its bfloat16. Zero where that would be subnormal, which the instruction takes for zero.
inline uint32_t bfloat16_bits(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u;
    return (bits & 0x7F800000u) == 0 ? 0 : bits;
}

// The first directions of all rows in bfloat16, and the norms r at each stop.
class CoarseRows {
  public:
    // stops: as for PackedRows; the first of them are used, an odd one plus 1.
    CoarseRows(int64_t n, int64_t d, const std::vector<int64_t>& stops)
        : d_(d), n_stops_(static_cast<int>(std::min<size_t>(stops.size(), kCoarseStops))) {
        if (n_stops_ == 0) return;
        const int64_t n_rows = (n + kPanel - 1) / kPanel * kPanel;
        for (int s = 0; s < n_stops_; ++s) {
            stops_[s] = (stops[s] + 1) / 2;
            norms_[s] = aligned_floats(n_rows);
        }
        n_pairs_ = stops_[n_stops_ - 1];
        pairs_ = aligned_array<uint32_t>(n_rows * n_pairs_);
    }

    int n_stops() const { return n_stops_; }

    // Store row i, of which direction f is row[f * kPanel].
    void pack(int64_t i, const float* row) {
        uint32_t* pairs = pairs_.get() + i / kPanel * kPanel * n_pairs_ + i % kPanel;
        double rest2[kCoarseStops];  // |a1|^2 at each stop
        double sum = 0;
        int64_t f = d_;
        for (int s = n_stops_ - 1; s >= 0; --s) {
            for (; f > 2 * stops_[s]; --f) sum += square(row[(f - 1) * kPanel]);
            rest2[s] = sum;
        }
        double error2 = 0, larger2 = 0;
        int s = 0;
        for (int64_t k = 0; k < n_pairs_; ++k) {
            uint32_t halves[2] = {0, 0};
            for (f = 2 * k; f < std::min(2 * k + 2, d_); ++f) {
                const float value = row[f * kPanel];
                const uint32_t bits = bfloat16_bits(value);
                float rounded;
                std::memcpy(&rounded, &bits, sizeof rounded);
                error2 += square(static_cast<double>(value) - rounded);
                larger2 += square(std::max(std::abs(value), std::abs(rounded)));
                halves[f % 2] = bits;
            }
            pairs[k * kPanel] = halves[1] | halves[0] >> 16;
            for (; s < n_stops_ && stops_[s] == k + 1; ++s) {
                const double rounding2 = error2 / kCoarseRounding + kCoarseRounding * larger2;
                const double norm = std::sqrt(rounding2 + rest2[s]);
                norms_[s][i] = static_cast<float>(norm * (1 + 0x1p-23));
            }
        }
    }

    // Give a tile its rows, from `row` on.
    void put_rows_into(ScreenedTile& tile, int64_t row) const {
        tile.n_coarse_stops = n_stops_;
        if (n_stops_ == 0) return;
        tile.coarse_rows = pairs_.get() + row / kPanel * kPanel * n_pairs_ + row % kPanel;
        for (int s = 0; s < n_stops_; ++s) {
            tile.coarse_stops[s] = stops_[s];
            tile.coarse_row_norms[s] = norms_[s].get() + row;
        }
    }

    // Give a tile its panel of columns, from `column` on.
    void put_columns_into(ScreenedTile& tile, int64_t column) const {
        if (n_stops_ == 0) return;
        tile.coarse_columns = pairs_.get() + column * n_pairs_;
        for (int s = 0; s < n_stops_; ++s) tile.coarse_column_norms[s] = norms_[s].get() + column;
    }

  private:
    static double square(double value) { return value * value; }

    int64_t d_, n_pairs_ = 0;
    int n_stops_;
    int64_t stops_[kCoarseStops] = {};
    Aligned<uint32_t> pairs_;
    Aligned<float> norms_[kCoarseStops];
};

#ifdef LIKEWISE_BFLOAT16
// Whether it is certain that no entry can reach 0, from their sums up to a stop. All rows have the
// largest of their radii here: two instructions per vector of sums instead of four.
__attribute__((target("avx512f"), always_inline)) inline bool none_left_avx512(
    const ScreenedTile& t, const __m512 (&sum)[kTile][kPanel / 16], const float* row_norms,
    const float* column_norms) {
    constexpr int R = kTile, V = kPanel / 16;
    __m512 most[V];
    LIKEWISE_UNROLL(8)
    for (int r = 0; r < R; ++r) {
        const __m512 row_norm = _mm512_set1_ps(row_norms[r]);
        for (int v = 0; v < V; ++v) {
            const __m512 norms = _mm512_load_ps(column_norms + 16 * v);
            const __m512 reached = _mm512_fmadd_ps(row_norm, norms, sum[r][v]);
            most[v] = r == 0 ? reached : larger(most[v], reached);
        }
    }
    const __m512 row_half = _mm512_set1_ps(*std::max_element(t.row_half, t.row_half + R));
    __mmask16 left = 0;
    for (int v = 0; v < V; ++v) {
        const __m512 half = larger(row_half, _mm512_load_ps(t.column_half + 16 * v));
        left |= _mm512_cmp_ps_mask(_mm512_add_ps(most[v], half), _mm512_setzero_ps(), _CMP_GE_OQ);
    }
    return left == 0;
}

__attribute__((target("avx512f,avx512bf16"))) inline bool screened_tile_avx512bf16(
    const ScreenedTile& t, uint64_t* masks) {
    constexpr int R = kTile, V = kPanel / 16;  // 24 sums, 3 columns, 1 row of 32 registers
    __m512 sum[R][V];
    LIKEWISE_UNROLL(8)
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v)
            sum[r][v] = _mm512_sub_ps(_mm512_load_ps(t.init + 16 * v), _mm512_set1_ps(t.need[r]));
    int64_t k = 0;
    for (int s = 0; s < t.n_coarse_stops; ++s) {
        for (; k < t.coarse_stops[s]; ++k) {
            __m512bh column[V];
            for (int v = 0; v < V; ++v)
                column[v] = (__m512bh)_mm512_load_si512(t.coarse_columns + k * kPanel + 16 * v);
            LIKEWISE_UNROLL(8)
            for (int r = 0; r < R; ++r) {
                const __m512bh row = (__m512bh)_mm512_set1_epi32(
                    static_cast<int>(t.coarse_rows[k * kPanel + r]));
                for (int v = 0; v < V; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], row, column[v]);
            }
        }
        if (none_left_avx512(t, sum, t.coarse_row_norms[s], t.coarse_column_norms[s])) {
            *t.dropped += R * kPanel;
            return false;
        }
    }
    return screened_tile_avx512(t, masks);
}
#endif

inline Screened screened_tile_for(const std::string& instructions) {
#ifdef LIKEWISE_BFLOAT16
    if (instructions == "avx512bf16") return screened_tile_avx512bf16;
#endif
#ifdef LIKEWISE_X86
    if (instructions == "avx512") return screened_tile_avx512;
    if (instructions == "avx2") return screened_tile_avx2;
#endif
    return screened_tile_portable;
}

}  // namespace likewise
