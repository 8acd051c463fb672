// One pass of dual coordinate ascent over large-margin constraints on a matrix M.
//
// Constraint l is h (<M, X> + b) >= 1 with X = uu' (pairs) or X = uu' - vv' (triplets), multiplier
// lambda and k = |X|^2. With q = <M, X>, the optimum in one multiplier alone is
//   lambda' = clip(lambda - g / (k + curvature + penalty), 0, upper_bound),
//   g = h (q + b) - 1 + curvature lambda,
// and the change t = (lambda' - lambda) h gives M += t X,  b += t penalty.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "instructions.hpp"
#include "lanes.hpp"
#include "lower_blocks.hpp"

namespace likewise {

constexpr int kAhead = 4;  // constraints by which rows are prefetched

struct MarginSweep {
    double* M;
    int64_t d;
    const double* V;         // differences, one per row
    const int64_t* far;      // row of the positive part of X, per constraint
    const int64_t* near;     // row of the negative part; null for pairs
    const double* sign;      // per constraint, as are the next three
    const double* squared_norms;
    double* multipliers;
    double* gradient;        // g of the constraints visited, before their update
    const int64_t* order;    // the constraints to visit
    int64_t n;
    double upper_bound, curvature, penalty;
};

LIKEWISE_INLINE double margin_sweep_body(const MarginSweep& s, double b) {
    LowerBlocks M(s.M, s.d);
    const int64_t width = M.width();
    std::vector<double> padded(2 * width, 0.0);
    const auto row = [&](int64_t number, double* copy) LIKEWISE_LAMBDA -> const double* {
        const double* found = s.V + number * s.d;
        if (width == s.d) return found;
        std::copy(found, found + s.d, copy);
        return copy;
    };
    const auto fetch = [&](int64_t number) LIKEWISE_LAMBDA {
        for (int64_t j = 0; j < s.d; j += kLanes) __builtin_prefetch(s.V + number * s.d + j);
    };
    for (int64_t k = 0; k < s.n; ++k) {
        const int64_t l = s.order[k];
        if (k + kAhead < s.n) {
            const int64_t later = s.order[k + kAhead];
            fetch(s.far[later]);
            if (s.near) fetch(s.near[later]);
        }
        const double* v = row(s.far[l], padded.data());
        double q = M.quadratic(v);
        const double* w = nullptr;
        if (s.near) {
            w = row(s.near[l], padded.data() + width);
            q -= M.quadratic(w);
        }
        const double before = s.multipliers[l];
        const double g = s.sign[l] * (q + b) - 1 + s.curvature * before;
        s.gradient[l] = g;
        const double second_derivative = s.squared_norms[l] + s.curvature + s.penalty;
        if (!(second_derivative > 0)) continue;  // X is zero: no multiplier matters
        const double unbounded = before - g / second_derivative;
        const double after = std::min(std::max(unbounded, 0.0), s.upper_bound);
        const double t = (after - before) * s.sign[l];
        if (t == 0) continue;
        s.multipliers[l] = after;
        b += t * s.penalty;
        M.add_outer(t, v);
        if (s.near) M.add_outer(-t, w);
    }
    M.write(s.M);
    return b;
}
LIKEWISE_DISPATCH(double, margin_sweep, (const MarginSweep& s, double b), (s, b))

}  // namespace likewise
