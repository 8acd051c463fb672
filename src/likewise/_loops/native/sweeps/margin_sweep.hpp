// One pass of coordinate ascent over the multipliers of large-margin constraints on a matrix M.
//
// Constraint l is about X = vv' (pairs) or X = uu' - vv' (triplets), with sign h, multiplier
// lambda and k = |X|^2. At q = <M, X>, one multiplier alone is best at
//   lambda' = clip(lambda - g / (k + softness + weight), 0, top),  g = h (q + b) - 1 + softness lambda,
// and the change t = (lambda' - lambda) h makes M += t X,  b += t weight.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "instructions.hpp"
#include "lanes.hpp"
#include "lower_blocks.hpp"

namespace likewise {

constexpr int kAhead = 4;  // constraints whose rows are fetched before they are needed

struct MarginSweep {
    double* M;
    int64_t d;
    const double* V;         // differences, one a row
    const int64_t* plus;     // which row makes the positive part of X, one a constraint
    const int64_t* minus;    // which the negative part; null for pairs
    const double* sign;      // one a constraint, as are the next three
    const double* curvature;
    double* multipliers;
    double* slopes;          // g of the constraints that were visited, as it was found
    const int64_t* order;    // the constraints to visit
    int64_t n;
    double top, softness, weight;
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
            fetch(s.plus[later]);
            if (s.minus) fetch(s.minus[later]);
        }
        const double* v = row(s.plus[l], padded.data());
        double q = M.quadratic(v);
        const double* w = nullptr;
        if (s.minus) {
            w = row(s.minus[l], padded.data() + width);
            q -= M.quadratic(w);
        }
        const double before = s.multipliers[l];
        const double g = s.sign[l] * (q + b) - 1 + s.softness * before;
        s.slopes[l] = g;
        const double down = s.curvature[l] + s.softness + s.weight;
        if (!(down > 0)) continue;  // an X of zero, which no multiplier changes
        const double after = std::min(std::max(before - g / down, 0.0), s.top);
        const double t = (after - before) * s.sign[l];
        if (t == 0) continue;
        s.multipliers[l] = after;
        b += t * s.weight;
        M.add_outer(t, v);
        if (s.minus) M.add_outer(-t, w);
    }
    M.write(s.M);
    return b;
}
LIKEWISE_DISPATCH(double, margin_sweep, (const MarginSweep& s, double b), (s, b))

}  // namespace likewise
