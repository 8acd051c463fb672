// Cyclic Bregman projections of a metric M on constraints on squared distances, one by one.
//
// A constraint is a difference v, its sign y (+1: at most, -1: at least) and the reciprocal of its
// bound. With p = v'Mv and its multiplier lambda,
//   alpha = min(lambda, y share (1/p - reciprocal)),  lambda -= alpha,  reciprocal += y alpha softness,
//   M += beta (Mv)(Mv)',  beta = y alpha / (1 - y alpha p).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "instructions.hpp"
#include "lanes.hpp"

namespace likewise {

constexpr int kGroup = 8;  // constraints that go through the matrix together

// A symmetric matrix in panels of 16 columns, each from its first row to its last, so that every
// pass reads memory in order. The last panel is padded with zeros.
class PaddedMatrix {
  public:
    PaddedMatrix(const double* M, int64_t d)
        : d_(d), width_((d + kPanelWidth - 1) / kPanelWidth * kPanelWidth),
          values_(d * width_, 0.0) {
        for (int64_t i = 0; i < d; ++i)
            for (int64_t j = 0; j < d; ++j) values_[place(i, j)] = M[i * d + j];
    }

    int64_t width() const { return width_; }

    void write(double* M) const {
        for (int64_t i = 0; i < d_; ++i)
            for (int64_t j = 0; j <= i; ++j) M[i * d_ + j] = M[j * d_ + i] = values_[place(i, j)];
    }

    // Rows g of out = M v_g, as sums of the rows of M: no sum across lanes, and every number that
    // is read serves a whole group. v holds the entries i of all v_g side by side.
    LIKEWISE_INLINE void multiply(const double* v, double* out) const {
        for (int64_t j = 0; j < width_; j += kPanelWidth) {
            Doubles total[kGroup][2] = {};
            const double *here = values_.data() + place(0, j), *factors = v;
            for (int64_t i = 0; i < d_; ++i, here += kPanelWidth, factors += kGroup) {
                const Doubles left = lanes(here), right = lanes(here + kLanes);
#pragma GCC unroll 8
                for (int g = 0; g < kGroup; ++g) {
                    total[g][0] += factors[g] * left;
                    total[g][1] += factors[g] * right;
                }
            }
            for (int g = 0; g < kGroup; ++g) {
                lanes(out + g * width_ + j) = total[g][0];
                lanes(out + g * width_ + j + kLanes) = total[g][1];
            }
        }
    }

    // M += sum over the group of signed_u u', both laid out as in `multiply` (u: as its out).
    LIKEWISE_INLINE void add_outer(const double* u, const double* signed_u) {
        for (int64_t j = 0; j < width_; j += kPanelWidth) {
            Doubles added[kGroup][2];
            for (int g = 0; g < kGroup; ++g) {
                added[g][0] = lanes(u + g * width_ + j);
                added[g][1] = lanes(u + g * width_ + j + kLanes);
            }
            double* here = values_.data() + place(0, j);
            const double* factors = signed_u;
            for (int64_t i = 0; i < d_; ++i, here += kPanelWidth, factors += kGroup) {
                Doubles left = lanes(here), right = lanes(here + kLanes);
#pragma GCC unroll 8
                for (int g = 0; g < kGroup; ++g) {
                    left += factors[g] * added[g][0];
                    right += factors[g] * added[g][1];
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
    std::vector<double> values_;
};

struct BregmanSweep {
    double* M;
    int64_t d;
    const double *V, *sign;
    int64_t n;
    double share, softness;
    double *multipliers, *reciprocals;
};

// Constraints go in groups: the Mv of all are computed at once, each is then corrected by the few
// updates of its own group that came before it, and these reach M together at the end.
LIKEWISE_INLINE void bregman_sweep_body(const BregmanSweep& s) {
    PaddedMatrix M(s.M, s.d);
    const int64_t width = M.width();
    std::vector<double> side_by_side(s.d * kGroup), signed_changes(s.d * kGroup);
    std::vector<double> moved(kGroup * width), changes(kGroup * width);
    double signs[kGroup];
    for (int64_t first = 0; first < s.n; first += kGroup) {
        const int64_t size = std::min<int64_t>(kGroup, s.n - first);
        std::fill(side_by_side.begin(), side_by_side.end(), 0.0);
        for (int64_t g = 0; g < size; ++g)
            for (int64_t i = 0; i < s.d; ++i)
                side_by_side[i * kGroup + g] = s.V[(first + g) * s.d + i];
        M.multiply(side_by_side.data(), moved.data());
        int n_changes = 0;
        for (int64_t g = 0; g < size; ++g) {
            const int64_t k = first + g;
            const double* v = s.V + k * s.d;
            const double y = s.sign[k];
            double* w = moved.data() + g * width;
            for (int c = 0; c < n_changes; ++c) {
                const double* u = changes.data() + c * width;
                const double along = signs[c] * dot(u, v, s.d);
                for (int64_t i = 0; i < width; i += kLanes) lanes(w + i) += along * lanes(u + i);
            }
            const double p = dot(v, w, s.d);
            if (!(p > 0)) continue;  // so short that its square vanished: it says nothing
            const double wished = y * s.share * (1 / p - s.reciprocals[k]);
            const double alpha = std::min(s.multipliers[k], wished);
            if (alpha == 0) continue;
            s.multipliers[k] -= alpha;
            s.reciprocals[k] += y * alpha * s.softness;
            const double beta = y * alpha / (1 - y * alpha * p);
            const double root = std::sqrt(std::abs(beta));
            double* u = changes.data() + n_changes * width;
            for (int64_t i = 0; i < width; ++i) u[i] = root * w[i];
            signs[n_changes++] = beta < 0 ? -1.0 : 1.0;
        }
        if (n_changes == 0) continue;
        std::fill(changes.begin() + n_changes * width, changes.end(), 0.0);
        for (int c = 0; c < kGroup; ++c)
            for (int64_t i = 0; i < s.d; ++i)
                signed_changes[i * kGroup + c] =
                    c < n_changes ? signs[c] * changes[c * width + i] : 0.0;
        M.add_outer(changes.data(), signed_changes.data());
    }
    M.write(s.M);
}
LIKEWISE_DISPATCH(void, bregman_sweep, (const BregmanSweep& s), (s))

}  // namespace likewise
