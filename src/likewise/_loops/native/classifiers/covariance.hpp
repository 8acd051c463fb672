// Representations of a full covariance: factored, of low rank, and dense for a block of events.
#pragma once

#include <vector>

#include "classifiers/events.hpp"

namespace likewise {

// A row with its bias, padded with zeros.
LIKEWISE_INLINE void copy_padded(const DenseRow& row, double* x, int64_t width) {
    std::copy(row.x, row.x + row.n, x);
    std::fill(x + row.n, x + width, 0.0);
    if (row.bias != 0) x[row.n] = row.bias;
}

// The sums of eight vectors in one vector: halves are added, then quarters, then pairs, each time
// into the first of two.
LIKEWISE_INLINE void fold_halves(Doubles& a, const Doubles& b) {
    a = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
        __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
}
LIKEWISE_INLINE void fold_quarters(Doubles& a, const Doubles& b) {
    a = __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13) +
        __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15);
}
LIKEWISE_INLINE void fold_pairs(Doubles& a, const Doubles& b) {
    a = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14) +
        __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
}

inline int64_t padded(int64_t d) { return (d + kLanes - 1) / kLanes * kLanes; }

// Σ = U diag(D) U' with U unit upper triangular. It is positive definite despite rounding, because
// D is only multiplied by numbers between 0 and 1. Row j of `columns` holds the entries of column j
// of U above the diagonal, padded with zeros.
class FactoredCovariance {
  public:
    FactoredCovariance(double* columns, double* diagonal, int64_t d)
        : columns_(columns), diagonal_(diagonal), d_(d), width_(padded(d)) {
        for (Work& work : work_) {
            work.x.assign(width_, 0.0);
            work.f.assign(width_, 0.0);
            work.v.assign(width_, 0.0);
        }
        gain_.assign(width_, 0.0);
    }

    bool has_capacity() const { return true; }

    // u = x'Σx = Σ D_j f_j², with f = U'x.
    LIKEWISE_INLINE double variance(int slot, int64_t k, const DenseRow& row, double) {
        Work& work = work_[slot];
        copy_padded(row, work.x.data(), width_);
        project(k, work.x.data(), work.f.data());
        const double* D = diagonal_ + k * d_;
        double u = 0;
        for (int64_t j = 0; j < d_; ++j) {
            work.v[j] = D[j] * work.f[j];
            u += work.v[j] * work.f[j];
        }
        return u;
    }

    LIKEWISE_INLINE void update(int slot, const DenseRow&, double y, Step step,
                                const Models& models, const ClassifierRule&, int64_t k) {
        const double* g = absorb(slot, k, step.c);
        double* w = models.weights(k);
        const double weight = y * step.tau;
        for (int64_t j = 0; j < d_; ++j) w[j] += weight * g[j];
    }

    // Bierman's update of the factors by the last row passed to `variance`; returns g = Σx.
    LIKEWISE_INLINE const double* absorb(int slot, int64_t k, double c) {
        const Work& work = work_[slot];
        std::fill(gain_.begin(), gain_.end(), 0.0);
        absorb(k, work.f.data(), work.v.data(), c);
        return gain_.data();
    }

  private:
    struct Work {
        std::vector<double> x, f, v;
    };

    LIKEWISE_INLINE double* column(int64_t k, int64_t j) const {
        return columns_ + (k * d_ + j) * width_;
    }

    // f = U'x: eight columns at a time.
    LIKEWISE_INLINE void project(int64_t k, const double* x, double* f) const {
        int64_t j = 0;
        for (; j + kLanes <= d_; j += kLanes) {
            const double* c = column(k, j);
            Doubles t0{}, t1{}, t2{}, t3{}, t4{}, t5{}, t6{}, t7{};
            for (int64_t i = 0; i <= j; i += kLanes) {
                const Doubles part = lanes(x + i);
                t0 += lanes(c + i) * part;
                t1 += lanes(c + width_ + i) * part;
                t2 += lanes(c + 2 * width_ + i) * part;
                t3 += lanes(c + 3 * width_ + i) * part;
                t4 += lanes(c + 4 * width_ + i) * part;
                t5 += lanes(c + 5 * width_ + i) * part;
                t6 += lanes(c + 6 * width_ + i) * part;
                t7 += lanes(c + 7 * width_ + i) * part;
            }
            fold_halves(t0, t1), fold_halves(t2, t3), fold_halves(t4, t5), fold_halves(t6, t7);
            fold_quarters(t0, t2), fold_quarters(t4, t6);
            fold_pairs(t0, t4);
            lanes(f + j) = lanes(x + j) + t0;
        }
        for (; j < d_; ++j) {
            const double* c = column(k, j);
            Doubles t{};
            for (int64_t i = 0; i <= j; i += kLanes) t += lanes(c + i) * lanes(x + i);
            f[j] = x[j] + sum(t);
        }
    }

    LIKEWISE_INLINE void absorb(int64_t k, const double* f, const double* v, double c) {
        double* g = gain_.data();
        double* D = diagonal_ + k * d_;
        double before = 1;
        int64_t j = 0;
        for (; j + kLanes <= d_; j += kLanes) {
            double lambda[kLanes];
            for (int l = 0; l < kLanes; ++l) {
                const double after = before + c * (f[j + l] * v[j + l]);
                lambda[l] = -c * f[j + l] / before;
                D[j + l] = std::max(D[j + l] * (before / after), 1 / kMaxPrecision);
                before = after;
            }
            double* column_ = column(k, j);
            for (int64_t i = 0; i < j; i += kLanes) {
                Doubles part = lanes(g + i);
                LIKEWISE_UNROLL(8)
                for (int l = 0; l < kLanes; ++l) {
                    double* entry = column_ + l * width_ + i;
                    const Doubles old = lanes(entry);
                    lanes(entry) = old + lambda[l] * part;
                    part += v[j + l] * old;
                }
                lanes(g + i) = part;
            }
            // The triangle on the diagonal: g_j enters after column j.
            Doubles part{};
            LIKEWISE_UNROLL(8)
            for (int l = 0; l < kLanes; ++l) {
                double* entry = column_ + l * width_ + j;
                const Doubles old = lanes(entry);
                lanes(entry) = old + lambda[l] * part;
                part += v[j + l] * old;
                part[l] = v[j + l];
            }
            lanes(g + j) = part;
        }
        for (; j < d_; ++j) {
            const double after = before + c * (f[j] * v[j]);
            const double lambda = -c * f[j] / before;
            D[j] = std::max(D[j] * (before / after), 1 / kMaxPrecision);
            before = after;
            double* entries = column(k, j);
            for (int64_t i = 0; i <= j; i += kLanes) {
                const Doubles old = lanes(entries + i);
                lanes(entries + i) = old + lambda * lanes(g + i);
                lanes(g + i) += v[j] * old;
            }
            g[j] = v[j];
        }
    }

    double* columns_;
    double* diagonal_;
    int64_t d_, width_;
    Work work_[2];
    std::vector<double> gain_;
};

LIKEWISE_INLINE Pass factor_events_body(const Models& models, double* columns, double* diagonal,
                                        const ClassifierRule& rule, const DenseRows& rows,
                                        const int64_t* labels, bool top2, int64_t max_updates) {
    FactoredCovariance covariance(columns, diagonal, models.width);
    return learn_events(covariance, models, rule, rows, labels, top2, max_updates);
}
LIKEWISE_DISPATCH(Pass, factor_events,
                  (const Models& models, double* columns, double* diagonal,
                   const ClassifierRule& rule, const DenseRows& rows, const int64_t* labels,
                   bool top2, int64_t max_updates),
                  (models, columns, diagonal, rule, rows, labels, top2, max_updates))

// The relative norm outside of a basis that counts as rounding.
constexpr double kSpanTolerance = 1e-14;

// Σ⁻¹ = I/s + S'S with few rows in S. In an orthonormal basis of their span Σ is factored as above;
// in the complement it is s I. All terms are sums of squares, so there is no cancellation where
// rows are long and Σ is tiny along them. Unused coordinates have variance s.
class LowRankCovariance {
  public:
    LowRankCovariance(double* basis, int64_t* spanned, double* sketch, int64_t* used,
                      double* columns, double* diagonal, double* trace, double* sums,
                      int64_t capacity, int64_t count, int64_t d)
        : basis_(basis), spanned_(spanned), sketch_(sketch), used_(used), trace_(trace),
          sums_(sums), capacity_(capacity), count_(count), d_(d),
          inner_(columns, diagonal, capacity) {
        for (Work& work : work_) {
            work.outside.assign(d, 0.0);
            work.inside.assign(capacity, 0.0);
        }
        products_.assign(capacity, 0.0);
    }

    bool has_capacity() const {
        return std::all_of(used_, used_ + count_, [=](int64_t used) { return used < capacity_; });
    }

    LIKEWISE_INLINE double variance(int slot, int64_t k, const DenseRow& row, double sqnorm) {
        Work& work = work_[slot];
        copy_padded(row, work.outside.data(), d_);
        work.sqnorm = sqnorm + row.bias * row.bias;
        std::fill(work.inside.begin(), work.inside.end(), 0.0);
        move_inside(k, work);
        move_inside(k, work);  // removes the rounding error of the first pass
        const double rest = std::sqrt(dot(work.outside.data(), work.outside.data(), d_));
        work.fresh = spanned_[k] < d_ && rest > kSpanTolerance * std::sqrt(work.sqnorm);
        if (work.fresh) work.inside[spanned_[k]] = rest;
        return inner_.variance(slot, k, DenseRow{work.inside.data(), capacity_, 0}, 0);
    }

    LIKEWISE_INLINE void update(int slot, const DenseRow& row, double y, Step step,
                                const Models& models, const ClassifierRule& rule, int64_t k) {
        Work& work = work_[slot];
        if (rule.kind == Kind::second_order_perceptron) row.add(sums_ + k * d_, y, y);
        if (work.fresh) {
            double* direction = direction_of(k, spanned_[k]);
            const double rest = work.inside[spanned_[k]];
            for (int64_t i = 0; i < d_; ++i) direction[i] = work.outside[i] / rest;
            ++spanned_[k];
        }
        // Where the precision would overflow, only w is updated.
        const bool grows = trace_[k] + step.c * work.sqnorm < kMaxPrecision;
        const double c = grows ? step.c : 0;
        const double* g = inner_.absorb(slot, k, c);
        double* w = models.weights(k);
        for (int64_t j = 0; j < spanned_[k]; ++j) {
            const double* direction = direction_of(k, j);
            const double weight = y * step.tau * g[j];
            for (int64_t i = 0; i < d_; ++i) w[i] += weight * direction[i];
        }
        double* s = sketch_ + (k * capacity_ + used_[k]) * capacity_;
        for (int64_t j = 0; j < capacity_; ++j) s[j] = std::sqrt(c) * work.inside[j];
        trace_[k] += c * work.sqnorm;
        ++used_[k];
    }

  private:
    struct Work {
        std::vector<double> outside, inside;  // the residual of a row, and its coordinates
        double sqnorm = 0;
        bool fresh = false;
    };

    LIKEWISE_INLINE double* direction_of(int64_t k, int64_t j) const {
        return basis_ + (k * capacity_ + j) * d_;
    }

    LIKEWISE_INLINE void move_inside(int64_t k, Work& work) {
        const auto direction = [=](int64_t j) LIKEWISE_LAMBDA { return direction_of(k, j); };
        dots(direction, spanned_[k], work.outside.data(), d_, products_.data());
        for (int64_t j = 0; j < spanned_[k]; ++j) {
            const double* q = direction_of(k, j);
            for (int64_t i = 0; i < d_; ++i) work.outside[i] -= products_[j] * q[i];
            work.inside[j] += products_[j];
        }
    }

    double* basis_;
    int64_t* spanned_;
    double* sketch_;
    int64_t* used_;
    double *trace_, *sums_;
    int64_t capacity_, count_, d_;
    FactoredCovariance inner_;
    Work work_[2];
    std::vector<double> products_;
};

LIKEWISE_INLINE Pass low_rank_events_body(LowRankCovariance& covariance, const Models& models,
                                          const ClassifierRule& rule, const DenseRows& rows,
                                          const int64_t* labels, bool top2) {
    return learn_events(covariance, models, rule, rows, labels, top2, kNoLimit);
}
LIKEWISE_DISPATCH(Pass, low_rank_events,
                  (LowRankCovariance& covariance, const Models& models, const ClassifierRule& rule,
                   const DenseRows& rows, const int64_t* labels, bool top2),
                  (covariance, models, rule, rows, labels, top2))

// The updates of a block: Σ = Σ0 - G' diag(gain_weights) G, with the g of the updates as rows of G.
struct Block {
    const double* sigma;            // Σ0, d x d; entries below the diagonal are not read
    const double* diagonal;         // of Σ0
    const int64_t* known_rows;      // events whose Σ0 x is given, ascending
    const double* known_products;   // their Σ0 x
    int64_t n_known;
    const double* quadratic_forms;  // x'Σ0x of every event, or null
    double* gains;
    double* gain_weights;
    int64_t capacity;
};

// g = Σ0 x from the upper triangle.
LIKEWISE_INLINE void symmetric_product(const double* sigma, const double* x, double* g, int64_t d) {
    std::fill(g, g + d, 0.0);
    for (int64_t i = 0; i < d; ++i) {
        const double* row = sigma + i * d;
        const int64_t rest = d - i - 1;
        g[i] += row[i] * x[i] + dot(row + i + 1, x + i + 1, rest);
        int64_t j = i + 1;
        for (; j + kLanes <= d; j += kLanes) lanes(g + j) += x[i] * lanes(row + j);
        for (; j < d; ++j) g[j] += x[i] * row[j];
    }
}

// The sum of weight x^2.
LIKEWISE_INLINE double weighted_sqnorm(const double* weight, const double* x, int64_t d) {
    Doubles total{};
    int64_t j = 0;
    for (; j + kLanes <= d; j += kLanes) total += lanes(weight + j) * (lanes(x + j) * lanes(x + j));
    double rest = 0;
    for (; j < d; ++j) rest += weight[j] * (x[j] * x[j]);
    return sum(total) + rest;
}

// The smallest trusted ratio of u to its value without correlations.
constexpr double kCorrelationTolerance = 1e-6;
// The smallest trusted ratio of u to its value at the start of the block: below it, cancellation.
constexpr double kCancellationTolerance = 1e-3;

// Events of one model from Σ at the start of a block; stops at cancellation or where the capacity
// is used up. A bias is the last feature.
LIKEWISE_INLINE std::pair<Pass, bool> block_events_body(const Block& block, double* w,
                                                        const ClassifierRule& rule,
                                                        const DenseRows& rows,
                                                        const int64_t* labels, double* scores) {
    const int64_t d = rows.d;
    std::vector<double> g(d), t(block.capacity);
    const auto gains = [&](int64_t j) LIKEWISE_LAMBDA { return block.gains + j * d; };
    Pass pass;
    int64_t next = 0;
    for (; pass.taken < rows.n && pass.updates < block.capacity; ++pass.taken) {
        const int64_t i = pass.taken;
        const DenseRow row = rows[i];
        const double y = labels[i] == 1 ? 1.0 : -1.0;
        const double s = row.score(w), m = y * s;
        scores[i] = s;
        while (next < block.n_known && block.known_rows[next] < i) ++next;
        if (!rule.may_update(m, (s > 0) != (y > 0), 0.0)) continue;
        if (dot(row.x, row.x, d) < kMinSampleSqnorm) continue;
        const bool is_known = next < block.n_known && block.known_rows[next] == i;
        const bool later = !is_known && block.quadratic_forms;  // few of these cause an update
        if (is_known)
            std::copy_n(block.known_products + next * d, d, g.begin());
        else if (!later)
            symmetric_product(block.sigma, row.x, g.data(), d);
        const double at_start = later ? block.quadratic_forms[i] : dot(g.data(), row.x, d);
        dots(gains, pass.updates, row.x, d, t.data());
        double u = at_start;
        for (int64_t j = 0; j < pass.updates; ++j) u -= block.gain_weights[j] * t[j] * t[j];
        if (!(at_start > kCorrelationTolerance * weighted_sqnorm(block.diagonal, row.x, d)))
            return {pass, false};
        if (!(u > kCancellationTolerance * at_start)) return {pass, true};
        const Step step = rule.step(m, u);
        if (step.tau == 0) continue;
        if (later) symmetric_product(block.sigma, row.x, g.data(), d);
        for (int64_t j = 0; j < pass.updates; ++j) {
            const double weight = -block.gain_weights[j] * t[j];
            DenseRow{block.gains + j * d, d, 0}.add(g.data(), weight, 0);
        }
        std::copy(g.begin(), g.end(), block.gains + pass.updates * d);
        block.gain_weights[pass.updates] = step.c / (1 + step.c * u);
        DenseRow{g.data(), d, 0}.add(w, y * step.tau, 0);
        ++pass.updates;
    }
    return {pass, true};
}
using BlockPass = std::pair<Pass, bool>;
LIKEWISE_DISPATCH(BlockPass, block_events,
                  (const Block& block, double* w, const ClassifierRule& rule, const DenseRows& rows,
                   const int64_t* labels, double* scores),
                  (block, w, rule, rows, labels, scores))

}  // namespace likewise
