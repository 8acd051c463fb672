// Passive-aggressive steps on a metric (M, b), one per pair.
//
// For a pair with difference v and sign y (+1 same, -1 different), with q = v'Mv:
//   p = 1 - y (b - q),  s = 1 + |v|^4 + relaxation,  and the step t of the variant;
//   M -= t y v v',  b += t y.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "instructions.hpp"
#include "lanes.hpp"
#include "lower_blocks.hpp"

namespace likewise {

enum class Variant : int { PA = 0, PA1 = 1, PA2 = 2, PALS = 3 };

struct StepRule {
    Variant variant;
    double C;           // PA-I: largest step; PA-II and PALS: aggressiveness
    double relaxation;  // added to s; POLA
    double tolerance;   // smaller steps are not taken

    // Whether signed loss p causes no step for any pair.
    bool passive(double p) const { return p <= 0 && variant != Variant::PALS; }

    // The step for signed loss p of a pair whose difference has squared norm n.
    double step(double p, double n, double y) const {
        if (n == 0 && y < 0) return 0;  // equal points marked different
        const double s = 1 + n * n + relaxation;
        double t = 0;
        switch (variant) {
            case Variant::PA: t = std::max(p, 0.0) / s; break;
            case Variant::PA1: t = std::min(C, std::max(p, 0.0) / s); break;
            case Variant::PA2: t = std::max(p, 0.0) / (s + 1 / (2 * C)); break;
            case Variant::PALS: t = p / (s + 1 / (2 * C)); break;
        }
        return std::abs(t) >= tolerance ? t : 0;
    }
};

constexpr double kMaxPairSqnorm = 1e150;  // largest squared norm whose square is finite

// M += weight v v' in place, for so few events that packing would cost more. The product of two
// entries of v comes first, which keeps M symmetric to the last bit.
LIKEWISE_INLINE void add_outer_in_place(double* M, int64_t d, double weight, const double* v) {
    for (int64_t i = 0; i < d; ++i)
        for (int64_t j = 0; j < d; ++j) M[i * d + j] += weight * (v[i] * v[j]);
}

LIKEWISE_INLINE double quadratic_in_place(const double* M, int64_t d, const double* v) {
    double q = 0;
    for (int64_t i = 0; i < d; ++i) q += v[i] * dot(M + i * d, v, d);
    return q;
}

LIKEWISE_INLINE int64_t few_pair_steps_body(double* M, int64_t d, double& b, const double* V,
                                            const double* y, int64_t n, const StepRule& rule,
                                            int64_t max_updates, double* p_out, double* step_out) {
    int64_t k = 0;
    for (; k < n && max_updates > 0; ++k) {
        const double* v = V + k * d;
        const double p = 1 - y[k] * (b - quadratic_in_place(M, d, v));
        const double step = rule.step(p, dot(v, v, d), y[k]);
        p_out[k] = p;
        step_out[k] = step;
        if (step == 0) continue;
        add_outer_in_place(M, d, -step * y[k], v);
        b += step * y[k];
        --max_updates;
    }
    return k;
}
LIKEWISE_DISPATCH(int64_t, few_pair_steps,
                  (double* M, int64_t d, double& b, const double* V, const double* y, int64_t n,
                   const StepRule& rule, int64_t max_updates, double* p_out, double* step_out),
                  (M, d, b, V, y, n, rule, max_updates, p_out, step_out))

// One event, from the two samples of the pair. A difference whose norm to the fourth power
// overflows has loss NaN and changes nothing.
LIKEWISE_INLINE void pair_step_body(double* M, int64_t d, double& b, const double* first,
                                    const double* second, double scale, double y,
                                    const StepRule& rule, double* p_out, double* step_out) {
    thread_local std::vector<double> difference;
    difference.resize(d);
    double* v = difference.data();
    for (int64_t i = 0; i < d; ++i) v[i] = scale * (first[i] - second[i]);
    *p_out = NAN;
    *step_out = 0;
    if (dot(v, v, d) <= kMaxPairSqnorm)
        few_pair_steps_body(M, d, b, v, &y, 1, rule, 1, p_out, step_out);
}
LIKEWISE_DISPATCH(void, pair_step,
                  (double* M, int64_t d, double& b, const double* first, const double* second,
                   double scale, double y, const StepRule& rule, double* p_out, double* step_out),
                  (M, d, b, first, second, scale, y, rule, p_out, step_out))

// Events one by one on an explicit matrix, for small d. Stops after max_updates updates; returns
// the number of events taken.
LIKEWISE_INLINE int64_t pair_steps_body(double* M, int64_t d, double& b, const double* V,
                                        const double* y, int64_t n, const StepRule& rule,
                                        int64_t max_updates, double* p_out, double* step_out) {
    LowerBlocks lower(M, d);
    std::vector<double> padded(lower.width(), 0.0);
    double* v = padded.data();
    int64_t k = 0;
    for (; k < n && max_updates > 0; ++k) {
        std::copy(V + k * d, V + (k + 1) * d, v);
        const double q = lower.quadratic(v);
        const double p = 1 - y[k] * (b - q);
        const double step = rule.step(p, dot(v, v, lower.width()), y[k]);
        p_out[k] = p;
        step_out[k] = step;
        if (step == 0) continue;
        lower.add_outer(-step * y[k], v);
        b += step * y[k];
        --max_updates;
    }
    lower.write(M);
    return k;
}
LIKEWISE_DISPATCH(int64_t, pair_steps,
                  (double* M, int64_t d, double& b, const double* V, const double* y, int64_t n,
                   const StepRule& rule, int64_t max_updates, double* p_out, double* step_out),
                  (M, d, b, V, y, n, rule, max_updates, p_out, step_out))

// The events of a block from their q = v'Mv at its start; M is not updated. Each pair is corrected
// by all updates before it, which is fastest where few pairs update.
LIKEWISE_INLINE int64_t pair_block_body(const double* V, int64_t d, const double* q,
                                        const double* y, int64_t n, double& b,
                                        const StepRule& rule, int64_t max_updates, double* p_out,
                                        double* step_out) {
    std::vector<const double*> changed;
    std::vector<double> weights, products(n);
    const auto row = [&](int64_t j) LIKEWISE_LAMBDA { return changed[j]; };
    int64_t k = 0;
    for (; k < n && max_updates > 0; ++k) {
        const double* v = V + k * d;
        const int64_t updates = static_cast<int64_t>(changed.size());
        dots(row, updates, v, d, products.data());
        double now = q[k];
        for (int64_t j = 0; j < updates; ++j) now += weights[j] * products[j] * products[j];
        const double p = 1 - y[k] * (b - now);
        const double step = rule.passive(p) ? 0 : rule.step(p, dot(v, v, d), y[k]);
        p_out[k] = p;
        step_out[k] = step;
        if (step == 0) continue;
        b += step * y[k];
        --max_updates;
        changed.push_back(v);
        weights.push_back(-step * y[k]);
    }
    return k;
}
LIKEWISE_DISPATCH(int64_t, pair_block,
                  (const double* V, int64_t d, const double* q, const double* y, int64_t n,
                   double& b, const StepRule& rule, int64_t max_updates, double* p_out,
                   double* step_out),
                  (V, d, q, y, n, b, rule, max_updates, p_out, step_out))

// The same from the Gram matrix G of the block, which is fastest where most pairs update. An update
// changes the q (in place) of the pairs after it by the squares of its row of G.
LIKEWISE_INLINE int64_t pair_gram_body(const double* G, double* q, const double* y, int64_t n,
                                       double& b, const StepRule& rule, int64_t max_updates,
                                       double* p_out, double* step_out) {
    int64_t k = 0;
    for (; k < n && max_updates > 0; ++k) {
        const double* products = G + k * n;
        const double p = 1 - y[k] * (b - q[k]);
        const double step = rule.step(p, products[k], y[k]);
        p_out[k] = p;
        step_out[k] = step;
        if (step == 0) continue;
        b += step * y[k];
        --max_updates;
        for (int64_t j = k + 1; j < n; ++j) q[j] -= step * y[k] * products[j] * products[j];
    }
    return k;
}
LIKEWISE_DISPATCH(int64_t, pair_gram,
                  (const double* G, double* q, const double* y, int64_t n, double& b,
                   const StepRule& rule, int64_t max_updates, double* p_out, double* step_out),
                  (G, q, y, n, b, rule, max_updates, p_out, step_out))

}  // namespace likewise
