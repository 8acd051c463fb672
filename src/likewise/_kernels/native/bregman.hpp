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

// A symmetric matrix whose rows are padded with zeros to whole lanes.
class PaddedMatrix {
  public:
    PaddedMatrix(const double* M, int64_t d)
        : d_(d), width_((d + kLanes - 1) / kLanes * kLanes), values_(d * width_, 0.0) {
        for (int64_t i = 0; i < d; ++i) std::copy(M + i * d, M + (i + 1) * d, row(i));
    }

    int64_t width() const { return width_; }

    void write(double* M) const {
        for (int64_t i = 0; i < d_; ++i)
            for (int64_t j = 0; j <= i; ++j) M[i * d_ + j] = M[j * d_ + i] = values_[i * width_ + j];
    }

    // out = Mv, as a sum of rows: no sum across lanes, and 64 columns stay in registers.
    LIKEWISE_INLINE void multiply(const double* v, double* out) {
        in_tiles<false>(nullptr, 0, v, out);
    }

    // M += sign u u', and then out = Mv, in one pass over M. The same two numbers are multiplied
    // for both entries of a pair, which keeps M symmetric.
    LIKEWISE_INLINE void add_outer_and_multiply(const double* u, double sign, const double* v,
                                                double* out) {
        in_tiles<true>(u, sign, v, out);
    }

  private:
    double* row(int64_t i) { return values_.data() + i * width_; }

    template <bool Update>
    LIKEWISE_INLINE void in_tiles(const double* u, double sign, const double* v, double* out) {
        int64_t j = 0;
        for (; j + 8 * kLanes <= width_; j += 8 * kLanes) tile<8, Update>(u, sign, v, out, j);
        for (; j + 4 * kLanes <= width_; j += 4 * kLanes) tile<4, Update>(u, sign, v, out, j);
        for (; j < width_; j += kLanes) tile<1, Update>(u, sign, v, out, j);
    }

    template <int Count, bool Update>
    LIKEWISE_INLINE void tile(const double* u, double sign, const double* v, double* out,
                              int64_t j) {
        Doubles total[Count] = {}, added[Count] = {};
        if (Update)
            for (int c = 0; c < Count; ++c) added[c] = lanes(u + j + c * kLanes);
        double* here = values_.data() + j;
        for (int64_t i = 0; i < d_; ++i, here += width_) {
            const double a = Update ? sign * u[i] : 0.0, b = v[i];
            for (int c = 0; c < Count; ++c) {
                Doubles x = lanes(here + c * kLanes);
                if (Update) {
                    x += a * added[c];
                    lanes(here + c * kLanes) = x;
                }
                total[c] += b * x;
            }
        }
        for (int c = 0; c < Count; ++c) lanes(out + j + c * kLanes) = total[c];
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

LIKEWISE_INLINE void bregman_sweep_body(const BregmanSweep& s) {
    if (s.n == 0) return;
    PaddedMatrix M(s.M, s.d);
    std::vector<double> moved(M.width()), change(M.width()), nothing(s.d, 0.0);
    double *w = moved.data(), *u = change.data();  // Mv, and what an update adds
    M.multiply(s.V, w);
    for (int64_t k = 0; k < s.n; ++k) {
        const double* v = s.V + k * s.d;
        const double* next = k + 1 < s.n ? v + s.d : nothing.data();
        const double y = s.sign[k], p = dot(v, w, s.d);
        // A p that vanished or is no number says nothing: the constraint is left as it is.
        const double alpha =
            p > 0 ? std::min(s.multipliers[k], y * s.share * (1 / p - s.reciprocals[k])) : 0.0;
        if (alpha == 0) {
            M.multiply(next, w);
            continue;
        }
        s.multipliers[k] -= alpha;
        s.reciprocals[k] += y * alpha * s.softness;
        const double beta = y * alpha / (1 - y * alpha * p);
        const double root = std::sqrt(std::abs(beta));
        for (int64_t i = 0; i < M.width(); ++i) u[i] = root * w[i];
        M.add_outer_and_multiply(u, beta < 0 ? -1.0 : 1.0, next, w);
    }
    M.write(s.M);
}
LIKEWISE_DISPATCH(void, bregman_sweep, (const BregmanSweep& s), (s))

}  // namespace likewise
