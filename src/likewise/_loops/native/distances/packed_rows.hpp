// Rows of a radius search, packed once for any number of scans: centred, scaled, rounded to float32,
// sorted by class, with the constants of their test. radius.hpp has the bounds on all roundings.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "distances/aligned.hpp"
#include "distances/coarse_tiles.hpp"
#include "distances/screened_tiles.hpp"
#include "distances/tiles.hpp"

namespace likewise {

template <typename T>
class PackedRows {
  public:
    // order: the rows sorted by (class, radius), or by class and as in a kd tree; group: the class
    // of each sorted position.
    // panelled: store rows in panels for the tiles, else row by row for a matrix product.
    // stops: numbers of directions after which tiles are screened, ascending and less than d, at
    // most kStops; the rows to pack must then be rotated. Empty if they are not screened. With
    // bfloat16 the first kCoarseStops of them are not repeated in float32.
    PackedRows(const T* Z, int64_t n, int64_t d, const int64_t* order, const int64_t* group,
               const double* radius2, const double* centre, double scale, bool panelled,
               const std::vector<int64_t>& stops, const std::string& instructions)
        : Z(Z), n(n), d(d), order(order), group(group), radius2(radius2), panelled(panelled),
          screened(!stops.empty()), panels((n + kPanel - 1) / kPanel),
          rows(aligned_floats(panels * kPanel * d)),
          coarse(n, d, instructions == "avx512bf16" ? stops : std::vector<int64_t>()),
          stops(stops.begin() + coarse.n_stops(), stops.end()),
          init(aligned_floats(panels * kPanel)), need(aligned_floats(panels * kPanel)),
          half(aligned_floats(panels * kPanel)), half_max(panels, 0.0f), centre_(centre),
          scale_(scale) {
        if (this->stops.empty()) return;
        // A vector from any stop on ends within the row.
        stride = (d - this->stops[0] + 2 * kRestLanes - 2) / kRestLanes * kRestLanes;
        rest = aligned_floats(panels * kPanel * stride);
        for (size_t s = 0; s < this->stops.size(); ++s) norms[s] = aligned_floats(panels * kPanel);
    }

    // Fill panels begin..end with centred, scaled float32 rows and the constants of their test.
    // rotated: the same rows in rotated coordinates, if they are screened.
    void pack(int64_t begin, int64_t end, const double* rotated) {
        for (int64_t p = begin; p < end; ++p) {
            for (int64_t i = p * kPanel; i < (p + 1) * kPanel; ++i) {
                const bool padding = i >= n;
                const double norm2 =
                    padding             ? pack_row(i, [](int64_t) { return 0.0; })
                    : rotated != nullptr ? pack_rotated(i, rotated + (i - begin * kPanel) * d)
                                         : pack_centred(i, Z + order[i] * d);
                if (padding) {  // near no row
                    init[i] = -1e30f;
                    need[i] = 1e30f;
                    half[i] = 0;
                } else {
                    pack_constants(i, norm2);
                }
                half_max[p] = std::max(half_max[p], half[i]);
                if (!stops.empty()) pack_rest(i);
                if (coarse.n_stops() > 0) coarse.pack(i, panel_row(i));
            }
        }
    }

    // First panel with a row of a class after that of the first row of panel p.
    int64_t first_panel_after(int64_t p) const {
        return (std::upper_bound(group, group + n, first_group(p)) - group) / kPanel;
    }

    int64_t first_group(int64_t p) const { return group[p * kPanel]; }
    int64_t last_group(int64_t p) const { return group[std::min(n, (p + 1) * kPanel) - 1]; }

    // The rows of the user, and of each sorted position its row and class.
    const T* const Z;
    const int64_t n, d;
    const int64_t *const order, *const group;
    const double* const radius2;
    const bool panelled, screened;
    const int64_t panels;
    // What is packed.
    Aligned<float> rows;
    CoarseRows coarse;
    const std::vector<int64_t> stops;  // those that are not coarse
    Aligned<float> init, need, half;
    std::vector<float> half_max;  // of each panel
    int64_t stride = 0;
    Aligned<float> rest, norms[kStops];

  private:
    // Row i of the panels; one direction of it follows another by kPanel.
    float* panel_row(int64_t i) const { return rows.get() + i / kPanel * kPanel * d + i % kPanel; }

    // Store row i from its values by feature; returns the squared norm of what is stored.
    template <typename Values>
    double pack_row(int64_t i, const Values& value_of) {
        float* row = panelled ? panel_row(i) : rows.get() + i * d;
        const int64_t step = panelled ? kPanel : 1;
        double norm2 = 0;
        for (int64_t f = 0; f < d; ++f) {
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
        const double k = !screened ? d + 8 : coarse.n_stops() == 0 ? d + 11 : 3 * d + 11;
        const double u = 0x1p-24, e = k * u / (1 - k * u);
        // Distances are at most 2, so a squared radius above 8 is the same as 8.
        const double tiny = d * 5e-324;  // underflow in double
        const double wide = (std::max(radius2[order[i]], 0.0) + tiny) * scale_;
        const double R = std::min(8.0, wide * scale_);
        init[i] = static_cast<float>(-norm2 * (0.5 - e));
        need[i] = static_cast<float>(norm2 * (0.5 - e));
        half[i] = static_cast<float>(R / 2 * (1 + e) + d * 0x1p-100);
    }

    // The directions of row i from the first stop on, and at least the norms of the rest.
    void pack_rest(int64_t i) {
        const float* row = panel_row(i);
        float* own = rest.get() + i * stride;
        double norm2 = 0;
        int64_t f = d;
        for (int s = static_cast<int>(stops.size()) - 1; s >= 0; --s) {
            for (; f > stops[s]; --f) {
                const float value = row[(f - 1) * kPanel];
                own[f - 1 - stops[0]] = value;
                norm2 += static_cast<double>(value) * value;
            }
            norms[s][i] = static_cast<float>(std::sqrt(norm2) * (1 + 0x1p-23));
        }
        for (int64_t k = d - stops[0]; k < stride; ++k) own[k] = 0;
    }

    const double* const centre_;
    const double scale_;
};

}  // namespace likewise
