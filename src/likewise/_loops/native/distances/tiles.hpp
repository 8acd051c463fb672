// Register-blocked tiles of float32 inner products, with a test of their sign.
//
// A tile is 8 rows against a panel of 48 columns. Both come from panels stored feature by feature
// (panel[k * 48 + position]), so one feature of 48 columns is a few aligned vectors and one
// feature of a row is one broadcast. Entry (r, c) is init[c] - need[r] + <row r, column c>; bit c
// of masks[r] is set if it is not negative. Returns whether any bit is set. Almost always none is,
// and then nothing else is written or branched on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "instructions.hpp"

#ifdef LIKEWISE_X86
#include <immintrin.h>
#endif

namespace likewise {

constexpr int kPanel = 48;
constexpr int kTile = 8;

using Tile = bool (*)(const float* rows, const float* columns, int64_t d, const float* init,
                      const float* need, uint64_t* masks);

// Four floats, which GNU-compatible compilers map to the machine's vectors.
using Floats4 = float __attribute__((vector_size(16)));
using Ints4 = int32_t __attribute__((vector_size(16)));

inline bool tile_portable(const float* rows, const float* columns, int64_t d, const float* init,
                          const float* need, uint64_t* masks) {
    constexpr int R = 4, V = 3, C = 4 * V;  // 12 sums, 3 columns, 1 row: 16 registers
    bool any = false;
    for (int r = 0; r < kTile; ++r) masks[r] = 0;
    for (int r0 = 0; r0 < kTile; r0 += R) {
        for (int c0 = 0; c0 < kPanel; c0 += C) {
            Floats4 sum[R][V];
            LIKEWISE_UNROLL(4)
            for (int r = 0; r < R; ++r)
                for (int v = 0; v < V; ++v)
                    sum[r][v] = *reinterpret_cast<const Floats4*>(init + c0 + 4 * v) - need[r0 + r];
            for (int64_t k = 0; k < d; ++k) {
                const auto* column = reinterpret_cast<const Floats4*>(columns + k * kPanel + c0);
                const float* row = rows + k * kPanel + r0;
                LIKEWISE_UNROLL(4)
                for (int r = 0; r < R; ++r)
                    for (int v = 0; v < V; ++v) sum[r][v] += row[r] * column[v];
            }
            Ints4 signs = reinterpret_cast<Ints4>(sum[0][0]);
            LIKEWISE_UNROLL(4)
            for (int r = 0; r < R; ++r)
                for (int v = 0; v < V; ++v) signs &= reinterpret_cast<Ints4>(sum[r][v]);
            if ((signs[0] & signs[1] & signs[2] & signs[3]) < 0) continue;  // all negative
            any = true;
            LIKEWISE_UNROLL(4)
            for (int r = 0; r < R; ++r)
                for (int c = 0; c < C; ++c)
                    masks[r0 + r] |= static_cast<uint64_t>(sum[r][c / 4][c % 4] >= 0) << (c0 + c);
        }
    }
    return any;
}

#ifdef LIKEWISE_X86
__attribute__((target("avx2,fma"))) inline bool tile_avx2(const float* rows, const float* columns,
                                                          int64_t d, const float* init,
                                                          const float* need, uint64_t* masks) {
    constexpr int R = 4, V = 3, C = 8 * V;  // 12 sums, 3 columns, 1 row: all 16 registers
    const __m256 zero = _mm256_setzero_ps();
    bool any = false;
    for (int r = 0; r < kTile; ++r) masks[r] = 0;
    for (int r0 = 0; r0 < kTile; r0 += R) {
        for (int c0 = 0; c0 < kPanel; c0 += C) {
            __m256 sum[R][V];
            for (int r = 0; r < R; ++r)
                for (int v = 0; v < V; ++v)
                    sum[r][v] = _mm256_sub_ps(_mm256_load_ps(init + c0 + 8 * v),
                                              _mm256_set1_ps(need[r0 + r]));
            for (int64_t k = 0; k < d; ++k) {
                __m256 column[V];
                for (int v = 0; v < V; ++v)
                    column[v] = _mm256_load_ps(columns + k * kPanel + c0 + 8 * v);
                for (int r = 0; r < R; ++r) {
                    const __m256 row = _mm256_set1_ps(rows[k * kPanel + r0 + r]);
                    for (int v = 0; v < V; ++v)
                        sum[r][v] = _mm256_fmadd_ps(row, column[v], sum[r][v]);
                }
            }
            __m256 signs = sum[0][0];
            for (int r = 0; r < R; ++r)
                for (int v = 0; v < V; ++v) signs = _mm256_and_ps(signs, sum[r][v]);
            if (_mm256_movemask_ps(signs) == 0xFF) continue;  // all negative
            any = true;
            for (int r = 0; r < R; ++r) {
                for (int v = 0; v < V; ++v) {
                    const __m256 found = _mm256_cmp_ps(sum[r][v], zero, _CMP_GE_OQ);
                    masks[r0 + r] |= static_cast<uint64_t>(_mm256_movemask_ps(found))
                                     << (c0 + 8 * v);
                }
            }
        }
    }
    return any;
}

__attribute__((target("avx512f"))) inline bool tile_avx512(const float* rows, const float* columns,
                                                           int64_t d, const float* init,
                                                           const float* need, uint64_t* masks) {
    constexpr int R = kTile, V = kPanel / 16;  // 24 sums, 3 columns, 1 row of 32 registers
    const __m512 zero = _mm512_setzero_ps();
    __m512 sum[R][V];
    LIKEWISE_UNROLL(8)
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v)
            sum[r][v] = _mm512_sub_ps(_mm512_load_ps(init + 16 * v), _mm512_set1_ps(need[r]));
    for (int64_t k = 0; k < d; ++k) {
        __m512 column[V];
        for (int v = 0; v < V; ++v) column[v] = _mm512_load_ps(columns + k * kPanel + 16 * v);
        for (int r = 0; r < R; ++r) {
            const __m512 row = _mm512_set1_ps(rows[k * kPanel + r]);
            for (int v = 0; v < V; ++v) sum[r][v] = _mm512_fmadd_ps(row, column[v], sum[r][v]);
        }
    }
    __m512i signs = _mm512_castps_si512(sum[0][0]);
    LIKEWISE_UNROLL(8)
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < V; ++v)
            signs = _mm512_and_si512(signs, _mm512_castps_si512(sum[r][v]));
    if (!_mm512_cmpge_epi32_mask(signs, _mm512_setzero_si512())) return false;  // all negative
    LIKEWISE_UNROLL(8)
    for (int r = 0; r < R; ++r) {
        masks[r] = 0;
        for (int v = 0; v < V; ++v) {
            masks[r] |= static_cast<uint64_t>(_mm512_cmp_ps_mask(sum[r][v], zero, _CMP_GE_OQ))
                        << (16 * v);
        }
    }
    return true;
}
#endif

// The instruction sets that this processor has, fastest first.
inline std::vector<std::string> instruction_sets() {
    std::vector<std::string> sets;
#ifdef LIKEWISE_BFLOAT16
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bf16"))
        sets.push_back("avx512bf16");
#endif
#ifdef LIKEWISE_X86
    if (__builtin_cpu_supports("avx512f")) sets.push_back("avx512");
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.push_back("avx2");
#endif
    sets.push_back("portable");
    return sets;
}

inline Tile tile_for(const std::string& instructions) {
#ifdef LIKEWISE_X86
    if (instructions == "avx512" || instructions == "avx512bf16") return tile_avx512;
    if (instructions == "avx2") return tile_avx2;
#endif
    return tile_portable;
}

}  // namespace likewise
