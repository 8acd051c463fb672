// Cyclic Bregman projections of a metric M onto constraints on squared distances, as in ITML.
//
// A constraint has a difference v, a sign y (+1: v'Mv at most the bound, -1: at least), a
// multiplier lambda and the inverse i of its bound with slack. With p = v'Mv and the slack's weight
// gamma,
//   alpha = min(lambda, y gamma / (gamma + 1) (1/p - i)),  lambda -= alpha,  i += y alpha / gamma,
//   M += beta (Mv)(Mv)',  beta = y alpha / (1 - y alpha p).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "instructions.hpp"
#include "lanes.hpp"

namespace likewise {

constexpr int kGroup = 8;  // constraints that share a pass over the matrix
using Rows = const double* [kGroup];

// Zeros aligned to a cache line, so that no vector spans two lines.
class AlignedZeros {
  public:
    explicit AlignedZeros(int64_t n) : storage_(n + kLanes), first_(storage_.data()) {
        while (reinterpret_cast<uintptr_t>(first_) % (8 * kLanes) != 0) ++first_;
    }
    AlignedZeros(const AlignedZeros&) = delete;
    AlignedZeros& operator=(const AlignedZeros&) = delete;

    double* data() { return first_; }
    const double* data() const { return first_; }

  private:
    std::vector<double> storage_;
    double* first_;
};

// A symmetric matrix in panels of 16 columns, each stored row by row, so that every pass reads
// memory in order. The last panel is padded with zeros.
class PaddedMatrix {
  public:
    PaddedMatrix(const double* M, int64_t d)
        : d_(d), width_((d + kPanelWidth - 1) / kPanelWidth * kPanelWidth),
          values_(d * width_) {
        for (int64_t i = 0; i < d; ++i)
            for (int64_t j = 0; j < d; ++j) values_.data()[place(i, j)] = M[i * d + j];
    }

    int64_t width() const { return width_; }

    void write(double* M) const {
        for (int64_t i = 0; i < d_; ++i)
            for (int64_t j = 0; j <= i; ++j)
                M[i * d_ + j] = M[j * d_ + i] = values_.data()[place(i, j)];
    }

    // Row g of out = M v_g, as a sum of rows of M: there is no sum across lanes, and every value
    // loaded serves a whole group.
    LIKEWISE_INLINE void multiply(const Rows& v, double* out) const {
        for (int64_t j = 0; j < width_; j += kPanelWidth) {
            Doubles total[kGroup][2] = {};
            const double* here = values_.data() + place(0, j);
            for (int64_t i = 0; i < d_; ++i, here += kPanelWidth) {
                const Doubles left = lanes(here), right = lanes(here + kLanes);
#pragma GCC unroll 8
                for (int g = 0; g < kGroup; ++g) {
                    total[g][0] += v[g][i] * left;
                    total[g][1] += v[g][i] * right;
                }
            }
            for (int g = 0; g < kGroup; ++g) {
                lanes(out + g * width_ + j) = total[g][0];
                lanes(out + g * width_ + j + kLanes) = total[g][1];
            }
        }
    }

    // M += the sum over the group of signed_u u'; u has the layout of the result of `multiply`.
    LIKEWISE_INLINE void add_outer(const double* u, const Rows& signed_u) {
        for (int64_t j = 0; j < width_; j += kPanelWidth) {
            Doubles added[kGroup][2];
            for (int g = 0; g < kGroup; ++g) {
                added[g][0] = lanes(u + g * width_ + j);
                added[g][1] = lanes(u + g * width_ + j + kLanes);
            }
            double* here = values_.data() + place(0, j);
            for (int64_t i = 0; i < d_; ++i, here += kPanelWidth) {
                Doubles left = lanes(here), right = lanes(here + kLanes);
#pragma GCC unroll 8
                for (int g = 0; g < kGroup; ++g) {
                    left += signed_u[g][i] * added[g][0];
                    right += signed_u[g][i] * added[g][1];
                }
                lanes(here) = left;
                lanes(here + kLanes) = right;
            }
        }
    }

  private:
    static constexpr int64_t kPanelWidth = 2 * kLanes;

    int64_t place(int64_t i, int64_t j) const {
        return (j / kPanelWidth * d_ + i) * kPanelWidth + j % kPanelWidth;
    }

    int64_t d_, width_;
    AlignedZeros values_;
};

struct BregmanSweep {
    double* M;
    int64_t d;
    const double *V, *sign;
    int64_t n;
    double slack_weight;
    double *multipliers, *inverse_bounds;
};

// Constraints are visited in groups. The Mv of a group are computed together; each is then
// corrected by the updates of its group before it, and these are added to M together at the end.
LIKEWISE_INLINE void bregman_sweep_body(const BregmanSweep& s) {
    PaddedMatrix M(s.M, s.d);
    const int64_t width = M.width();
    AlignedZeros moved(kGroup * width), changes(kGroup * width), signed_changes(kGroup * width);
    const double step_factor = s.slack_weight / (s.slack_weight + 1);
    const double slack_scale = 1 / s.slack_weight;
    const std::vector<double> nothing(s.d);
    Rows rows, signed_rows;
    for (int g = 0; g < kGroup; ++g) signed_rows[g] = signed_changes.data() + g * width;
    for (int64_t first = 0; first < s.n; first += kGroup) {
        const int64_t size = std::min<int64_t>(kGroup, s.n - first);
        for (int64_t g = 0; g < kGroup; ++g)
            rows[g] = g < size ? s.V + (first + g) * s.d : nothing.data();
        M.multiply(rows, moved.data());
        int n_changes = 0;
        for (int64_t g = 0; g < size; ++g) {
            const int64_t k = first + g;
            const double* v = s.V + k * s.d;
            const double y = s.sign[k];
            double* w = moved.data() + g * width;
            for (int c = 0; c < n_changes; ++c) {
                const double* u = changes.data() + c * width;
                const double along = dot(signed_rows[c], v, s.d);
                for (int64_t i = 0; i < width; i += kLanes) lanes(w + i) += along * lanes(u + i);
            }
            const double p = dot(v, w, s.d);
            if (!(p > 0)) continue;  // the square of v underflows
            const double unbounded = y * step_factor * (1 / p - s.inverse_bounds[k]);
            const double alpha = std::min(s.multipliers[k], unbounded);
            if (alpha == 0) continue;
            s.multipliers[k] -= alpha;
            s.inverse_bounds[k] += y * alpha * slack_scale;
            const double beta = y * alpha / (1 - y * alpha * p);
            const double root = std::sqrt(std::abs(beta));
            double* u = changes.data() + n_changes * width;
            double* signed_u = signed_changes.data() + n_changes * width;
            for (int64_t i = 0; i < width; ++i) {
                u[i] = root * w[i];
                signed_u[i] = beta < 0 ? -u[i] : u[i];
            }
            ++n_changes;
        }
        if (n_changes == 0) continue;
        std::fill(changes.data() + n_changes * width, changes.data() + kGroup * width, 0.0);
        M.add_outer(changes.data(), signed_rows);
    }
    M.write(s.M);
}
LIKEWISE_DISPATCH(void, bregman_sweep, (const BregmanSweep& s), (s))

}  // namespace likewise
