// Tiles of float32 inner products that stop early where no pair can be near.
//
// As in tiles.hpp, for rows rotated to their principal axes, and with the radius of each pair:
// entry (r, c) is init[c] - need[r] + <row r, column c> + max(row_half[r], column_half[c]), and
// need has no radius in it. After some of the directions the rest of an inner product is at most the
// product of the norms of what is left of both rows, by Cauchy-Schwarz (the rest of a squared
// distance is at least the squared difference of these norms). A tile in which no entry can still
// reach 0 is dropped; where at most kFew can, they are finished one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "distances/tiles.hpp"
#include "instructions.hpp"

#ifdef LIKEWISE_X86
#include <immintrin.h>
#endif

namespace likewise {

constexpr int kStops = 3;        // how often a tile may stop
constexpr int kCoarseStops = 2;  // how often of these in bfloat16, where it is used (measured)
constexpr int kFew = 12;         // entries that are finished one by one (measured)

struct ScreenedTile {
    const float *rows, *columns;  // panels
    int64_t d;
    const float *init, *need, *row_half, *column_half;
    int n_stops;
    int64_t stops[kStops];                              // numbers of directions, ascending
    const float *row_norms[kStops], *column_norms[kStops];  // at least the norms of the rest
    const float *row_rest, *column_rest;  // directions from the first stop on, row by row
    int64_t stride;    // of these rows, with zeros for a vector beyond the end
    int64_t* dropped;  // counts the entries of which none could reach 0 at a stop
    // Of coarse_tiles.hpp: two directions in bfloat16 per number, and stops that count numbers.
    const uint32_t *coarse_rows, *coarse_columns;  // panels
    int n_coarse_stops;
    int64_t coarse_stops[kCoarseStops];
    const float *coarse_row_norms[kCoarseStops], *coarse_column_norms[kCoarseStops];
};

using Screened = bool (*)(const ScreenedTile& tile, uint64_t* masks);

using Floats16 = float __attribute__((vector_size(64), aligned(4)));
constexpr int kRestLanes = 16;

// The inner product of the rest of two rows; the last vector reads zeros beyond n.
LIKEWISE_INLINE float rest_product(const float* a, const float* b, int64_t n) {
    Floats16 sum{};
    for (int64_t k = 0; k < n; k += kRestLanes)
        sum += *reinterpret_cast<const Floats16*>(a + k) *
               *reinterpret_cast<const Floats16*>(b + k);
    float total = 0;
    for (int l = 0; l < kRestLanes; ++l) total += sum[l];
    return total;
}

// Finish the entries in masks from their sums up to a stop; whether any is left that is not
// negative. sums and masks are those of n_rows rows from row r0 and columns from column c0.
LIKEWISE_INLINE bool finish(const ScreenedTile& t, int64_t stop, const float* sums, int width,
                            int n_rows, int r0, int c0, uint64_t* masks) {
    const int64_t begin = stop - t.stops[0];
    uint64_t needed = 0;
    for (int r = 0; r < n_rows; ++r) needed |= masks[r];
    for (; needed != 0; needed &= needed - 1) {
        const float* column = t.column_rest + (c0 + __builtin_ctzll(needed)) * t.stride + begin;
        for (int64_t k = 0; k < t.d - stop; k += kRestLanes) __builtin_prefetch(column + k);
    }
    bool any = false;
    for (int r = 0; r < n_rows; ++r) {
        uint64_t kept = 0;
        const float* row = t.row_rest + (r0 + r) * t.stride + begin;
        for (uint64_t left = masks[r]; left != 0; left &= left - 1) {
            const int c = __builtin_ctzll(left);
            const float* column = t.column_rest + (c0 + c) * t.stride + begin;
            const float half = std::max(t.row_half[r0 + r], t.column_half[c0 + c]);
            if (sums[r * width + c] + rest_product(row, column, t.d - stop) + half >= 0)
                kept |= uint64_t{1} << c;
        }
        masks[r] = kept;
        any = any || kept != 0;
    }
    return any;
}

LIKEWISE_INLINE int count_bits(const uint64_t* masks, int n) {
    int count = 0;
    for (int r = 0; r < n; ++r) count += __builtin_popcountll(masks[r]);
    return count;
}

inline bool screened_tile_portable(const ScreenedTile& t, uint64_t* masks) {
    constexpr int R = 4, V = 3, C = 4 * V;  // 12 sums, 3 columns, 1 row: 16 registers
    bool any = false;
    for (int r = 0; r < kTile; ++r) masks[r] = 0;
    for (int r0 = 0; r0 < kTile; r0 += R) {
        for (int c0 = 0; c0 < kPanel; c0 += C) {
            Floats4 sum[R][V];
            LIKEWISE_UNROLL(4)
            for (int r = 0; r < R; ++r)
                for (int v = 0; v < V; ++v)
                    sum[r][v] =
                        *reinterpret_cast<const Floats4*>(t.init + c0 + 4 * v) - t.need[r0 + r];
            int64_t k = 0;
            for (int s = 0;; ++s) {
                const bool done = s == t.n_stops;
                const int64_t stop = done ? t.d : t.stops[s];
                for (; k < stop; ++k) {
                    const auto* column =
                        reinterpret_cast<const Floats4*>(t.columns + k * kPanel + c0);
                    const float* row = t.rows + k * kPanel + r0;
                    LIKEWISE_UNROLL(4)
                    for (int r = 0; r < R; ++r)
                        for (int v = 0; v < V; ++v) sum[r][v] += row[r] * column[v];
                }
                uint64_t found[R] = {};
                LIKEWISE_UNROLL(4)
                for (int r = 0; r < R; ++r) {
                    for (int v = 0; v < V; ++v) {
                        const int c = c0 + 4 * v;
                        Floats4 most = sum[r][v];
                        if (!done)
                            most += t.row_norms[s][r0 + r] *
                                    *reinterpret_cast<const Floats4*>(t.column_norms[s] + c);
                        for (int l = 0; l < 4; ++l) {
                            const float half = std::max(t.row_half[r0 + r], t.column_half[c + l]);
                            found[r] |= static_cast<uint64_t>(most[l] + half >= 0) << (4 * v + l);
                        }
                    }
                }
                const int count = count_bits(found, R);
                if (!done && count > kFew) continue;
                if (!done && count == 0) *t.dropped += R * C;
                if (!done && count > 0) {
                    alignas(16) float sums[R * C];
                    for (int r = 0; r < R; ++r)
                        for (int v = 0; v < V; ++v)
                            *reinterpret_cast<Floats4*>(sums + r * C + 4 * v) = sum[r][v];
                    finish(t, stop, sums, C, R, r0, c0, found);
                }
                for (int r = 0; r < R; ++r) {
                    masks[r0 + r] |= found[r] << c0;
                    any = any || found[r] != 0;
                }
                break;
            }
        }
    }
    return any;
}

#ifdef LIKEWISE_X86
__attribute__((target("avx2,fma"))) inline bool screened_tile_avx2(const ScreenedTile& t,
                                                                   uint64_t* masks) {
    constexpr int R = 4, V = 3, C = 8 * V;  // 12 sums, 3 columns, 1 row: all 16 registers
    const __m256 zero = _mm256_setzero_ps();
    bool any = false;
    for (int r = 0; r < kTile; ++r) masks[r] = 0;
    for (int r0 = 0; r0 < kTile; r0 += R) {
        for (int c0 = 0; c0 < kPanel; c0 += C) {
            __m256 sum[R][V];
            for (int r = 0; r < R; ++r)
                for (int v = 0; v < V; ++v)
                    sum[r][v] = _mm256_sub_ps(_mm256_load_ps(t.init + c0 + 8 * v),
                                              _mm256_set1_ps(t.need[r0 + r]));
            int64_t k = 0;
            for (int s = 0;; ++s) {
                const bool done = s == t.n_stops;
                const int64_t stop = done ? t.d : t.stops[s];
                for (; k < stop; ++k) {
                    __m256 column[V];
                    for (int v = 0; v < V; ++v)
                        column[v] = _mm256_load_ps(t.columns + k * kPanel + c0 + 8 * v);
                    for (int r = 0; r < R; ++r) {
                        const __m256 row = _mm256_set1_ps(t.rows[k * kPanel + r0 + r]);
                        for (int v = 0; v < V; ++v)
                            sum[r][v] = _mm256_fmadd_ps(row, column[v], sum[r][v]);
                    }
                }
                uint64_t found[R] = {};
                for (int r = 0; r < R; ++r) {
                    for (int v = 0; v < V; ++v) {
                        __m256 most = sum[r][v];
                        if (!done)
                            most = _mm256_fmadd_ps(
                                _mm256_set1_ps(t.row_norms[s][r0 + r]),
                                _mm256_load_ps(t.column_norms[s] + c0 + 8 * v), most);
                        most = _mm256_add_ps(
                            most, _mm256_max_ps(_mm256_set1_ps(t.row_half[r0 + r]),
                                                _mm256_load_ps(t.column_half + c0 + 8 * v)));
                        found[r] |= static_cast<uint64_t>(_mm256_movemask_ps(
                                        _mm256_cmp_ps(most, zero, _CMP_GE_OQ)))
                                    << (8 * v);
                    }
                }
                const int count = count_bits(found, R);
                if (!done && count > kFew) continue;
                if (!done && count == 0) *t.dropped += R * C;
                if (!done && count > 0) {
                    alignas(32) float sums[R * C];
                    for (int r = 0; r < R; ++r)
                        for (int v = 0; v < V; ++v)
                            _mm256_store_ps(sums + r * C + 8 * v, sum[r][v]);
                    finish(t, stop, sums, C, R, r0, c0, found);
                }
                for (int r = 0; r < R; ++r) {
                    masks[r0 + r] |= found[r] << c0;
                    any = any || found[r] != 0;
                }
                break;
            }
        }
    }
    return any;
}

// GCC 12 warns of _mm512_max_ps: its undefined vector is never read.
__attribute__((target("avx512f"), always_inline)) inline __m512 larger(__m512 a, __m512 b) {
    return _mm512_maskz_max_ps(0xFFFF, a, b);
}

// Which entries can still reach 0, from their sums up to stop s; at most kFew are finished. Returns
// their number before that, or -1 if none is left. Not inlined, so that the sums of a tile without
// such entries stay in registers.
__attribute__((target("avx512f"), noinline)) inline int entries_left_avx512(
    const ScreenedTile& t, int s, const float* sums, uint64_t* masks) {
    const bool done = s == t.n_stops;
    const float* column_norms = done ? t.column_half : t.column_norms[s];  // of no use, times 0
    for (int r = 0; r < kTile; ++r) {
        const __m512 row_norm = _mm512_set1_ps(done ? 0.0f : t.row_norms[s][r]);
        const __m512 row_half = _mm512_set1_ps(t.row_half[r]);
        masks[r] = 0;
        for (int c = 0; c < kPanel; c += 16) {
            const __m512 norms = _mm512_load_ps(column_norms + c);
            const __m512 half = larger(row_half, _mm512_load_ps(t.column_half + c));
            const __m512 most =
                _mm512_fmadd_ps(row_norm, norms, _mm512_load_ps(sums + r * kPanel + c));
            const __mmask16 found =
                _mm512_cmp_ps_mask(_mm512_add_ps(most, half), _mm512_setzero_ps(), _CMP_GE_OQ);
            masks[r] |= static_cast<uint64_t>(found) << c;
        }
    }
    const int count = count_bits(masks, kTile);
    if (done || count > kFew) return count;
    return finish(t, t.stops[s], sums, kPanel, kTile, 0, 0, masks) ? count : -1;
}

__attribute__((target("avx512f"))) inline bool screened_tile_avx512(const ScreenedTile& t,
                                                                    uint64_t* masks) {
    constexpr int R = kTile, V = kPanel / 16;  // 24 sums, 3 columns, 1 row of 32 registers
    __m512 sum[R][V];
    LIKEWISE_UNROLL(8)
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v)
            sum[r][v] = _mm512_sub_ps(_mm512_load_ps(t.init + 16 * v), _mm512_set1_ps(t.need[r]));
    int64_t k = 0;
    for (int s = 0; s <= t.n_stops; ++s) {
        const bool done = s == t.n_stops;
        const int64_t stop = done ? t.d : t.stops[s];
        for (; k < stop; ++k) {
            __m512 column[V];
            for (int v = 0; v < V; ++v)
                column[v] = _mm512_load_ps(t.columns + k * kPanel + 16 * v);
            LIKEWISE_UNROLL(8)
            for (int r = 0; r < R; ++r) {
                const __m512 row = _mm512_set1_ps(t.rows[k * kPanel + r]);
                for (int v = 0; v < V; ++v) sum[r][v] = _mm512_fmadd_ps(row, column[v], sum[r][v]);
            }
        }
        if (!done) {
            const float *row_norms = t.row_norms[s], *column_norms = t.column_norms[s];
            __m512i signs = _mm512_set1_epi32(-1);
            LIKEWISE_UNROLL(8)
            for (int r = 0; r < R; ++r) {
                const __m512 row_norm = _mm512_set1_ps(row_norms[r]);
                const __m512 row_half = _mm512_set1_ps(t.row_half[r]);
                for (int v = 0; v < V; ++v) {
                    const __m512 half = larger(row_half, _mm512_load_ps(t.column_half + 16 * v));
                    const __m512 most = _mm512_fmadd_ps(
                        row_norm, _mm512_load_ps(column_norms + 16 * v), sum[r][v]);
                    signs = _mm512_and_si512(signs, _mm512_castps_si512(_mm512_add_ps(most, half)));
                }
            }
            // All negative.
            if (!_mm512_cmpge_epi32_mask(signs, _mm512_setzero_si512())) {
                *t.dropped += R * kPanel;
                return false;
            }
        }
        alignas(64) float sums[R * kPanel];
        LIKEWISE_UNROLL(8)
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < V; ++v) _mm512_store_ps(sums + r * kPanel + 16 * v, sum[r][v]);
        const int left = entries_left_avx512(t, s, sums, masks);
        if (done || left <= kFew) return left > 0;
        LIKEWISE_UNROLL(8)
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < V; ++v) sum[r][v] = _mm512_load_ps(sums + r * kPanel + 16 * v);
    }
    return false;
}
#endif

}  // namespace likewise
