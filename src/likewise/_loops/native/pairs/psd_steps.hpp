// Passive-aggressive steps on a metric that is projected onto the PSD cone after every update.
//
// In the eigenbasis of the metric at the last decomposition, M = diag(values) + Σ weight_j y_j y_j'
// with few y. From a PSD M only a step with t y > 0 can make M - t v v' indefinite, and then it
// has one negative eigenvalue x, the root of t g(x) = 1 for g(x) = v'(M - x)^-1 v. Newton's method
// on 1/g, which is almost linear, finds it in a few steps; each costs O(d k²) by Woodbury's
// formula. The eigenvector is (M - x)^-1 v. All is computed in units of t |v|^2, in which v is a
// unit vector and t is 1, so that v of any norm causes no overflow.
#pragma once

#include "pairs/steps.hpp"

namespace likewise {

struct LowRankMetric {
    int64_t d, capacity;
    int64_t count;
    const double* values;  // d eigenvalues at the last decomposition, none negative
    double* rows;          // capacity × d: the y
    double* weights;       // capacity

    void add(const double* y, double weight) {
        std::copy(y, y + d, rows + count * d);
        weights[count++] = weight;
    }
};

// Solves (M / unit - x) w = v for x < 0 and returns v'w, by Woodbury's formula.
class LowRankSolver {
  public:
    explicit LowRankSolver(const LowRankMetric& metric)
        : m(metric), scaled(m.capacity * m.d), inverse(m.d), solution(m.d),
          matrix(m.capacity * m.capacity), c(m.capacity) {}

    LIKEWISE_INLINE double solve(const double* v, double x, double unit) {
        const int64_t d = m.d, k = m.count;
        for (int64_t i = 0; i < d; ++i) inverse[i] = 1 / (m.values[i] / unit - x);
        for (int64_t i = 0; i < d; ++i) solution[i] = inverse[i] * v[i];
        for (int64_t j = 0; j < k; ++j) {
            double* row = scaled.data() + j * d;
            for (int64_t i = 0; i < d; ++i) row[i] = inverse[i] * m.rows[j * d + i];
            c[j] = m.weights[j] / unit * dot(row, v, d);
        }
        for (int64_t j = 0; j < k; ++j) {
            for (int64_t l = 0; l <= j; ++l) {
                const double g = dot(scaled.data() + j * d, m.rows + l * d, d);
                matrix[j * k + l] = m.weights[j] / unit * g;
                matrix[l * k + j] = m.weights[l] / unit * g;
            }
        }
        for (int64_t j = 0; j < k; ++j) matrix[j * k + j] += 1;
        eliminate(k);
        for (int64_t j = 0; j < k; ++j) {
            const double* row = scaled.data() + j * d;
            for (int64_t i = 0; i < d; ++i) solution[i] -= c[j] * row[i];
        }
        return dot(solution.data(), v, d);
    }

    const double* result() const { return solution.data(); }

  private:
    // Gaussian elimination with row pivots: c becomes matrix⁻¹ c.
    LIKEWISE_INLINE void eliminate(int64_t k) {
        for (int64_t j = 0; j < k; ++j) {
            int64_t pivot = j;
            for (int64_t r = j + 1; r < k; ++r)
                if (std::abs(matrix[r * k + j]) > std::abs(matrix[pivot * k + j])) pivot = r;
            if (pivot != j) {
                std::swap_ranges(&matrix[j * k], &matrix[j * k] + k, &matrix[pivot * k]);
                std::swap(c[j], c[pivot]);
            }
            for (int64_t r = j + 1; r < k; ++r) {
                const double f = matrix[r * k + j] / matrix[j * k + j];
                for (int64_t l = j + 1; l < k; ++l) matrix[r * k + l] -= f * matrix[j * k + l];
                c[r] -= f * c[j];
            }
        }
        for (int64_t j = k - 1; j >= 0; --j) {
            for (int64_t l = j + 1; l < k; ++l) c[j] -= matrix[j * k + l] * c[l];
            c[j] /= matrix[j * k + j];
        }
    }

    const LowRankMetric& m;
    std::vector<double> scaled, inverse, solution, matrix, c;
};

// The same for a small explicit matrix, by a Cholesky decomposition.
class CholeskySolver {
  public:
    CholeskySolver(const double* matrix, int64_t rows)
        : M(matrix), d(rows), factor(d * d), solution(d) {}

    LIKEWISE_INLINE double solve(const double* v, double x, double unit) {
        const double scale = 1 / unit;
        double g = 0;
        for (int64_t i = 0; i < d; ++i) {
            double* row = factor.data() + i * d;
            for (int64_t j = 0; j < i; ++j) {
                const double rest = scale * M[i * d + j] - dot(row, factor.data() + j * d, j);
                row[j] = rest * factor[j * d + j];
            }
            const double pivot = scale * M[i * d + i] - x - dot(row, row, i);
            if (!(pivot > 0)) return -1;  // not positive definite: x is too far right
            row[i] = 1 / std::sqrt(pivot);
            solution[i] = (v[i] - dot(row, solution.data(), i)) * row[i];
            g += solution[i] * solution[i];
        }
        for (int64_t i = d - 1; i >= 0; --i) {
            const double* row = factor.data() + i * d;
            const double w = solution[i] *= row[i];
            for (int64_t j = 0; j < i; ++j) solution[j] -= w * row[j];
        }
        return g;
    }

    const double* result() const { return solution.data(); }

  private:
    const double* M;
    int64_t d;
    std::vector<double> factor, solution;
};

// The negative eigenvalue of M / unit - v v' for a unit vector v, or 0 if there is none below
// -floor; the solver then holds an eigenvector. `floor` exceeds the rounding error of an eigenvalue
// of M.
//
// The relative error of a solution at x is about eps |M| / |x|. The search therefore starts from
// the left, where |x| is large, and approaches zero by at most a factor of 1000 per step.
template <typename Solver>
LIKEWISE_INLINE double negative_eigenvalue(Solver& solver, const double* v, int64_t d, double unit,
                                           double floor) {
    double left = -1;  // Weyl: no eigenvalue lies further left
    double right = 0;
    if (!(left < -floor)) return 0;
    for (double x = left;;) {
        const double g = solver.solve(v, x, unit);
        const double* w = solver.result();
        (g > 0 && g <= 1 ? left : right) = x;
        double next = x + g * (1 - g) / dot(w, w, d);
        if (g > 0 && std::abs(next - x) <= 1e-14 * std::abs(x)) return x;
        if (right == 0) {
            if (x == -floor) return 0;
            // 1/g is concave: Newton's step may pass the root, so -floor is tried too.
            next = std::min(std::min(next, x / 1000), -floor);
        } else if (!(next > left && next < right)) {
            next = -std::sqrt(left * right);
            if (next <= left || next >= right) return x;  // adjacent floating-point numbers
        }
        x = next;
    }
}

// Whether M - t v v' has no eigenvalue near or below zero. With one, or with rounding errors that
// hide it, the solutions for two tiny shifts of very different size would differ, or reach 1. What
// a difference below the tolerance can hide moves an eigenvalue by at most 1e-19 of the norm.
template <typename Solver>
LIKEWISE_INLINE bool is_definite(Solver& solver, const double* v, double unit, double floor) {
    const double far = solver.solve(v, -1e-3 * floor, unit);
    const double near = solver.solve(v, -1e-6 * floor, unit);
    return far > 0 && near < 0.999 && std::abs(near - far) <= 1e-6 * far;
}

// The rounding error of an eigenvalue, as a fraction of the trace, with a safety factor of ten.
constexpr double kEigenvalueRounding = 1e-13;
// Below this fraction of the trace an eigenvalue is searched for only in a new eigenbasis, where
// the solver has no cancellation.
constexpr double kNewBasisBelow = 1e-7;

// Events one by one on an explicit matrix, for small d.
LIKEWISE_INLINE void pair_psd_steps_small_body(double* M, int64_t d, double& b, const double* V,
                                               const double* y, int64_t n, const StepRule& rule,
                                               double* p_out, double* step_out) {
    CholeskySolver solver(M, d);
    std::vector<double> direction(d);
    for (int64_t k = 0; k < n; ++k) {
        const double* v = V + k * d;
        double q = 0, trace = 0;
        for (int64_t i = 0; i < d; ++i) {
            q += v[i] * dot(M + i * d, v, d);
            trace += M[i * d + i];
        }
        const double sqnorm = dot(v, v, d);
        const double p = 1 - y[k] * (b - q);
        const double step = rule.step(p, sqnorm, y[k]);
        p_out[k] = p;
        step_out[k] = step;
        if (step == 0) continue;
        const double weight = -step * y[k];
        double x = 0;
        const double* w = solver.result();
        if (weight < 0) {
            const double unit = -weight * sqnorm, shrink = 1 / std::sqrt(sqnorm);
            for (int64_t i = 0; i < d; ++i) direction[i] = shrink * v[i];
            const double floor = kEigenvalueRounding * (trace / unit + 1);
            x = unit * negative_eigenvalue(solver, direction.data(), d, unit, floor);
        }
        const double scale = x < 0 ? -x / dot(w, w, d) : 0;
        // Products of two entries come first, which keeps M symmetric to the last bit.
        for (int64_t i = 0; i < d; ++i)
            for (int64_t j = 0; j < d; ++j)
                M[i * d + j] += weight * (v[i] * v[j]) + scale * (w[i] * w[j]);
        b = std::max(1.0, b + step * y[k]);
    }
}
LIKEWISE_DISPATCH(void, pair_psd_steps_small,
                  (double* M, int64_t d, double& b, const double* V, const double* y, int64_t n,
                   const StepRule& rule, double* p_out, double* step_out),
                  (M, d, b, V, y, n, rule, p_out, step_out))

// Events one by one; V is in the eigenbasis of the last decomposition. Stops before an event that
// might exceed the capacity or needs a new basis; returns the number taken.
LIKEWISE_INLINE int64_t pair_psd_steps_body(LowRankMetric& m, double& b, const double* V,
                                            const double* y, int64_t n, const StepRule& rule,
                                            double* p_out, double* step_out) {
    const int64_t d = m.d;
    LowRankSolver solver(m);
    std::vector<double> direction(d);
    double trace = 0;
    for (int64_t i = 0; i < d; ++i) trace += m.values[i];
    for (int64_t j = 0; j < m.count; ++j)
        trace += m.weights[j] * dot(m.rows + j * d, m.rows + j * d, d);
    int64_t k = 0;
    for (; k < n && m.count + 2 <= m.capacity; ++k) {
        const double* v = V + k * d;
        double q = 0;
        for (int64_t i = 0; i < d; ++i) q += m.values[i] * v[i] * v[i];
        for (int64_t j = 0; j < m.count; ++j) {
            const double c = dot(m.rows + j * d, v, d);
            q += m.weights[j] * c * c;
        }
        const double sqnorm = dot(v, v, d);
        const double p = 1 - y[k] * (b - q);
        const double step = rule.step(p, sqnorm, y[k]);
        p_out[k] = p;
        step_out[k] = step;
        if (step == 0) continue;
        const double weight = -step * y[k];
        double x = 0;
        const double unit = std::abs(weight) * sqnorm;  // rows are unit vectors
        if (unit > 0) {
            const double shrink = 1 / std::sqrt(sqnorm);
            for (int64_t i = 0; i < d; ++i) direction[i] = shrink * v[i];
            if (weight < 0) {
                const double floor =
                    (m.count ? kNewBasisBelow : kEigenvalueRounding) * (trace / unit + 1);
                x = unit * negative_eigenvalue(solver, direction.data(), d, unit, floor);
                if (x == 0 && m.count && !is_definite(solver, direction.data(), unit, floor)) break;
            }
            m.add(direction.data(), std::copysign(unit, weight));
            trace += weight * sqnorm;
        }
        if (x < 0) {
            const double* w = solver.result();
            const double shrink = 1 / std::sqrt(dot(w, w, d));
            for (int64_t i = 0; i < d; ++i) direction[i] = shrink * w[i];
            m.add(direction.data(), -x);
            trace -= x;
        }
        b = std::max(1.0, b + step * y[k]);
    }
    return k;
}
LIKEWISE_DISPATCH(int64_t, pair_psd_steps,
                  (LowRankMetric & m, double& b, const double* V, const double* y, int64_t n,
                   const StepRule& rule, double* p_out, double* step_out),
                  (m, b, V, y, n, rule, p_out, step_out))

}  // namespace likewise
