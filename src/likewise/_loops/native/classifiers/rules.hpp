// Update rules of online classifiers, and dense and sparse samples.
//
// With the score s = w.x of a model, y = +1 or -1 and the margin m = y s, an update is
//   w += tau y g,  precision += c x x',  where g = precision^-1 x and u = x.g.
// The precision of a first-order learner is the identity and never updated.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "instructions.hpp"
#include "lanes.hpp"

namespace likewise {

enum class Kind : int {
    perceptron = 0, paum = 1, pa = 2, pa_i = 3, pa_ii = 4, cw = 5, arow = 6,
    second_order_perceptron = 7,
};

constexpr double kMinSampleSqnorm = 1e-100;  // smaller squared norms, bias included, count as 0
constexpr double kMaxSampleSqnorm = 1e100;   // samples of larger squared norm are refused
// The inverse of the smallest variance: a precision that grows with every mistake would overflow.
constexpr double kMaxPrecision = 1e150;

// After an update the margin of the sample equals the required one up to rounding. A violation
// below this is no loss; otherwise rounding would decide whether a repeated sample causes an
// update.
constexpr double kMarginTolerance = 1e-10;

// Half as wide as `Doubles`, for the rest of a row.
using Quad = double __attribute__((vector_size(4 * kLanes), aligned(8)));
LIKEWISE_INLINE const Quad& quad(const double* p) { return *reinterpret_cast<const Quad*>(p); }
LIKEWISE_INLINE Quad& quad(double* p) { return *reinterpret_cast<Quad*>(p); }

struct Step {
    double tau = 0;  // of w
    double c = 0;    // of the precision
};

struct ClassifierRule {
    Kind kind;
    double size;      // C, phi, r or eta
    double positive;  // margins of the uneven perceptron
    double negative;
    double radius;  // their R; 0 for the largest norm so far
    double bias;   // value of the feature added to each row; 0 for none

    // Whether a sample may cause an update, as far as its margin alone can tell.
    LIKEWISE_INLINE bool may_update(double m, bool mistake, double threshold) const {
        switch (kind) {
            case Kind::perceptron:
            case Kind::second_order_perceptron: return mistake;
            case Kind::paum: return m <= threshold;
            case Kind::cw: return true;
            default: return m < 1 - kMarginTolerance;
        }
    }

    // The squared norm of a sample with its bias. The perceptron with uneven margins adds R², not 1,
    // to its intercept: its bias counts R times.
    LIKEWISE_INLINE double extended_sqnorm(double sqnorm, double max_sqnorm) const {
        return sqnorm + bias * bias * (kind == Kind::paum ? max_sqnorm : 1);
    }

    LIKEWISE_INLINE Step step(double m, double u) const {
        switch (kind) {
            case Kind::perceptron: return {1, 0};
            case Kind::paum: return {size, 0};
            case Kind::pa: return {(1 - m) / u, 1};
            case Kind::pa_i: return {std::min(size, (1 - m) / u), 1};
            case Kind::pa_ii: return {(1 - m) / (u + 1 / (2 * size)), 1};
            case Kind::arow: return {(1 - m) / (u + size), 1 / size};
            case Kind::second_order_perceptron: return {(1 - m) / (1 + u), 1};
            case Kind::cw: {
                const double phi = size;
                if (!(m < phi * u * (1 - kMarginTolerance))) return {};
                const double b = 1 + 2 * phi * m;
                const double minus = 1 - 2 * phi * m;
                const double root = std::sqrt(minus * minus + 8 * phi * phi * u);
                // Two expressions of one number: each avoids cancellation where the other has it.
                const double alpha = b > 0 ? 2 * (phi * u - m) / (u * (b + root))
                                           : (root - b) / (4 * phi * u);
                return {alpha, 2 * alpha * phi};
            }
        }
        return {};
    }
};

// A row of a dense matrix; `bias` is one more feature.
struct DenseRow {
    const double* x;
    int64_t n;
    double bias;

    LIKEWISE_INLINE double score(const double* w) const {
        return dot(w, x, n) + (bias != 0 ? bias * w[n] : 0);
    }
    LIKEWISE_INLINE double sqnorm() const { return dot(x, x, n); }
    // Both in one pass.
    LIKEWISE_INLINE double score_and_sqnorm(const double* w, double* sqnorm) const {
        Doubles score{}, odd{}, squares{}, odd_squares{};
        int64_t j = 0;
        for (; j + 2 * kLanes <= n; j += 2 * kLanes) {
            score += lanes(w + j) * lanes(x + j);
            squares += lanes(x + j) * lanes(x + j);
            odd += lanes(w + j + kLanes) * lanes(x + j + kLanes);
            odd_squares += lanes(x + j + kLanes) * lanes(x + j + kLanes);
        }
        if (j + kLanes <= n) {
            score += lanes(w + j) * lanes(x + j);
            squares += lanes(x + j) * lanes(x + j);
            j += kLanes;
        }
        double score_rest = bias != 0 ? bias * w[n] : 0, squares_rest = 0;
        if (j + kLanes / 2 <= n) {
            const Quad s = quad(w + j) * quad(x + j), q = quad(x + j) * quad(x + j);
            score_rest += (s[0] + s[2]) + (s[1] + s[3]);
            squares_rest += (q[0] + q[2]) + (q[1] + q[3]);
            j += kLanes / 2;
        }
        for (; j < n; ++j) {
            score_rest += w[j] * x[j];
            squares_rest += x[j] * x[j];
        }
        *sqnorm = sum(squares + odd_squares) + squares_rest;
        return sum(score + odd) + score_rest;
    }
    // x'Σx for a diagonal Σ; writes Σx to `gain`.
    LIKEWISE_INLINE double variance(const double* precision, double* gain) const {
        Doubles many{};
        int64_t j = 0;
        for (; j + kLanes <= n; j += kLanes) {
            lanes(gain + j) = lanes(x + j) / lanes(precision + j);
            many += lanes(x + j) * lanes(gain + j);
        }
        double rest = 0;
        for (; j < n; ++j) {
            gain[j] = x[j] / precision[j];
            rest += x[j] * gain[j];
        }
        if (bias != 0) {
            gain[n] = bias / precision[n];
            rest += bias * gain[n];
        }
        return sum(many) + rest;
    }
    LIKEWISE_INLINE int64_t n_stored() const { return n + (bias != 0); }
    LIKEWISE_INLINE void add(double* w, double weight, double bias_weight) const {
        int64_t j = 0;
        for (; j + kLanes <= n; j += kLanes) lanes(w + j) += weight * lanes(x + j);
        if (j + kLanes / 2 <= n) {
            quad(w + j) += weight * quad(x + j);
            j += kLanes / 2;
        }
        for (; j < n; ++j) w[j] += weight * x[j];
        if (bias != 0) w[n] += bias_weight * bias;
    }
    // Calls change(position among the stored features, feature, value) for each.
    template <typename Change>
    LIKEWISE_INLINE void each(const Change& change) const {
        for (int64_t j = 0; j < n; ++j) change(j, j, x[j]);
        if (bias != 0) change(n, n, bias);
    }
};

struct DenseRows {
    const double* X;
    int64_t n, d;
    double bias;
    LIKEWISE_INLINE DenseRow operator[](int64_t i) const { return {X + i * d, d, bias}; }
};

// A row of a sparse matrix without duplicate features.
struct SparseRow {
    const double* values;
    const int32_t* features;
    int64_t stored, n;
    double bias;

    LIKEWISE_INLINE double score(const double* w) const {
        double even = 0, odd = 0;
        int64_t j = 0;
        for (; j + 2 <= stored; j += 2) {
            even += values[j] * w[features[j]];
            odd += values[j + 1] * w[features[j + 1]];
        }
        if (j < stored) even += values[j] * w[features[j]];
        return even + odd + (bias != 0 ? bias * w[n] : 0);
    }
    LIKEWISE_INLINE double sqnorm() const { return dot(values, values, stored); }
    LIKEWISE_INLINE double score_and_sqnorm(const double* w, double* sqnorm) const {
        *sqnorm = this->sqnorm();
        return score(w);
    }
    LIKEWISE_INLINE double variance(const double* precision, double* gain) const {
        double total = 0;
        for (int64_t j = 0; j < stored; ++j) {
            gain[j] = values[j] / precision[features[j]];
            total += values[j] * gain[j];
        }
        if (bias != 0) {
            gain[stored] = bias / precision[n];
            total += bias * gain[stored];
        }
        return total;
    }
    LIKEWISE_INLINE int64_t n_stored() const { return stored + (bias != 0); }
    LIKEWISE_INLINE void add(double* w, double weight, double bias_weight) const {
        for (int64_t j = 0; j < stored; ++j) w[features[j]] += weight * values[j];
        if (bias != 0) w[n] += bias_weight * bias;
    }
    template <typename Change>
    LIKEWISE_INLINE void each(const Change& change) const {
        for (int64_t j = 0; j < stored; ++j) change(j, features[j], values[j]);
        if (bias != 0) change(stored, n, bias);
    }
};

struct SparseRows {
    const double* values;
    const int32_t* features;
    const int64_t* starts;
    int64_t n, d;
    double bias;
    LIKEWISE_INLINE SparseRow operator[](int64_t i) const {
        return {values + starts[i], features + starts[i], starts[i + 1] - starts[i], d, bias};
    }
};

}  // namespace likewise
