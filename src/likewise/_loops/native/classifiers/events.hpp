// Online classification, event by event: a learner is a rule and a covariance.
#pragma once

#include <vector>

#include "classifiers/rules.hpp"

namespace likewise {

// The weights of all models, and the output for their scores.
struct Models {
    double* W;  // count x width
    int64_t count, width;
    double* max_sqnorm;  // largest squared norm of a sample so far, per model
    double* scores;      // events x count, before each update

    LIKEWISE_INLINE double* weights(int64_t k) const { return W + k * width; }
};

// First-order learners: the covariance is the identity and never updated.
struct NoCovariance {
    LIKEWISE_INLINE bool has_capacity() const { return true; }

    template <typename Row>
    LIKEWISE_INLINE double variance(int, int64_t, const Row& row, double sqnorm) {
        return sqnorm + row.bias * row.bias;
    }
    template <typename Row>
    LIKEWISE_INLINE void update(int, const Row& row, double y, Step step, const Models& models,
                                const ClassifierRule& rule, int64_t k) {
        const double weight = y * step.tau;
        // The perceptron with uneven margins moves its bias by R², the others by 1.
        const double along = rule.kind == Kind::paum ? models.max_sqnorm[k] : 1;
        row.add(models.weights(k), weight, weight * along);
    }
};

// One variance per feature, stored as its inverse: precision_i += c x_i².
struct DiagonalCovariance {
    double* precision;  // count x width
    int64_t width;
    std::vector<double> gain[2] = {};

    LIKEWISE_INLINE bool has_capacity() const { return true; }

    template <typename Row>
    LIKEWISE_INLINE double variance(int slot, int64_t k, const Row& row, double) {
        if (static_cast<int64_t>(gain[slot].size()) < row.n_stored())
            gain[slot].resize(row.n_stored());
        return row.variance(precision + k * width, gain[slot].data());
    }
    template <typename Row>
    LIKEWISE_INLINE void update(int slot, const Row& row, double y, Step step,
                                const Models& models, const ClassifierRule& rule, int64_t k) {
        double* w = models.weights(k);
        double* p = precision + k * width;
        if (rule.kind == Kind::second_order_perceptron) {
            // w = v / p with v += y x.
            row.each([=](int64_t, int64_t j, double x) LIKEWISE_LAMBDA {
                const double v = w[j] * p[j] + y * x;
                p[j] = std::min(p[j] + x * x, kMaxPrecision);
                w[j] = v / p[j];
            });
            return;
        }
        const double weight = y * step.tau, c = step.c;
        const double* g = gain[slot].data();
        row.each([=](int64_t i, int64_t j, double x) LIKEWISE_LAMBDA {
            w[j] += weight * g[i];
            p[j] = std::min(p[j] + c * (x * x), kMaxPrecision);
        });
    }
};

// The number of events taken and of updates, and whether a sample was refused.
struct Pass {
    int64_t taken = 0;
    int64_t updates = 0;
    bool refused = false;
};

enum class Outcome { kept, changed, refused };

// One event of one model with y = +1 or -1.
template <typename Covariance, typename Row>
LIKEWISE_INLINE Outcome one_versus_rest(Covariance& covariance, const Models& models,
                                        const ClassifierRule& rule, const Row& row, double y,
                                        int64_t k, double* score) {
    double sqnorm;
    const double s = row.score_and_sqnorm(models.weights(k), &sqnorm);
    const double m = y * s;
    *score = s;
    if (!(sqnorm <= kMaxSampleSqnorm)) return Outcome::refused;
    if (rule.kind == Kind::paum)
        models.max_sqnorm[k] = rule.radius > 0 ? rule.radius * rule.radius
                                         : std::max(models.max_sqnorm[k], sqnorm);
    const double threshold = y > 0 ? rule.positive : rule.negative;
    if (!rule.may_update(m, (s > 0) != (y > 0), threshold)) return Outcome::kept;
    if (rule.extended_sqnorm(sqnorm, models.max_sqnorm[k]) < kMinSampleSqnorm) return Outcome::kept;
    const double u = covariance.variance(0, k, row, sqnorm);
    const Step step = rule.step(m, u);
    if (step.tau == 0) return Outcome::kept;
    covariance.update(0, row, y, step, models, rule, k);
    return Outcome::changed;
}

// One event between its label and the best wrong label.
template <typename Covariance, typename Row>
LIKEWISE_INLINE Outcome label_against_best(Covariance& covariance, const Models& models,
                                        const ClassifierRule& rule, const Row& row, int64_t label,
                                        double* scores) {
    const double sqnorm = row.sqnorm();
    if (!(sqnorm <= kMaxSampleSqnorm)) return Outcome::refused;
    int64_t rival = -1;
    for (int64_t k = 0; k < models.count; ++k) {
        scores[k] = row.score(models.weights(k));
        if (k != label && (rival < 0 || scores[k] > scores[rival])) rival = k;
    }
    const double m = scores[label] - scores[rival];
    if (rule.kind == Kind::paum)
        for (int64_t k = 0; k < models.count; ++k)
            models.max_sqnorm[k] = rule.radius > 0 ? rule.radius * rule.radius
                                             : std::max(models.max_sqnorm[k], sqnorm);
    // The first of equal scores is the prediction.
    const bool mistake = m < 0 || (m == 0 && rival < label);
    if (!rule.may_update(m, mistake, rule.positive + rule.negative)) return Outcome::kept;
    if (rule.extended_sqnorm(sqnorm, models.max_sqnorm[label]) < kMinSampleSqnorm)
        return Outcome::kept;
    const double up = covariance.variance(0, label, row, sqnorm);
    const double down = covariance.variance(1, rival, row, sqnorm);
    Step step = rule.step(m, up + down), other = step;
    if (rule.kind == Kind::second_order_perceptron) {
        step = rule.step(scores[label], up);
        other = rule.step(-scores[rival], down);
    }
    if (step.tau == 0) return Outcome::kept;
    covariance.update(0, row, 1, step, models, rule, label);
    covariance.update(1, row, -1, other, models, rule, rival);
    return Outcome::changed;
}

// Events in order. One-versus-rest models are independent: all events of one model, then of the
// next. A limit on the updates is for a single model.
template <typename Covariance, typename Rows>
LIKEWISE_INLINE Pass learn_events(Covariance& covariance, const Models& models,
                                  const ClassifierRule& rule, const Rows& rows,
                                  const int64_t* labels, bool top2, int64_t max_updates) {
    Pass pass;
    if (top2) {
        for (; pass.taken < rows.n && pass.updates < max_updates && covariance.has_capacity();
             ++pass.taken) {
            const int64_t i = pass.taken;
            const Outcome outcome = label_against_best(covariance, models, rule, rows[i], labels[i],
                                                       models.scores + i * models.count);
            pass.refused = outcome == Outcome::refused;
            if (pass.refused) return pass;
            pass.updates += outcome == Outcome::changed;
        }
        return pass;
    }
    for (int64_t k = 0; k < models.count; ++k) {
        // A single model is that of label 1.
        const int64_t own = models.count == 1 ? 1 : k;
        for (pass.taken = 0;
             pass.taken < rows.n && pass.updates < max_updates && covariance.has_capacity();
             ++pass.taken) {
            const int64_t i = pass.taken;
            const Outcome outcome = one_versus_rest(covariance, models, rule, rows[i],
                                                     labels[i] == own ? 1.0 : -1.0, k,
                                                     models.scores + i * models.count + k);
            pass.refused = outcome == Outcome::refused;
            if (pass.refused) return pass;
            pass.updates += outcome == Outcome::changed;
        }
    }
    return pass;
}

constexpr int64_t kNoLimit = INT64_MAX;

// The first of the largest scores; a single score predicts label 1 if it is positive.
inline int64_t predicted(const double* scores, int64_t count) {
    if (count == 1) return scores[0] > 0;
    return std::max_element(scores, scores + count) - scores;
}

// The score of a label minus the best other one, or minus 0 with a single model.
inline double margin(const double* scores, int64_t count, int64_t label) {
    if (count == 1) return label == 1 ? scores[0] : -scores[0];
    double rival = -INFINITY;
    for (int64_t k = 0; k < count; ++k)
        if (k != label) rival = std::max(rival, scores[k]);
    return scores[label] - rival;
}

template <typename Rows>
LIKEWISE_INLINE Pass linear_body(const Models& models, double* precision,
                                 const ClassifierRule& rule, const Rows& rows,
                                 const int64_t* labels, bool top2) {
    if (precision) {
        DiagonalCovariance covariance{precision, models.width};
        return learn_events(covariance, models, rule, rows, labels, top2, kNoLimit);
    }
    NoCovariance covariance;
    return learn_events(covariance, models, rule, rows, labels, top2, kNoLimit);
}

LIKEWISE_INLINE Pass dense_events_body(const Models& models, double* precision,
                                       const ClassifierRule& rule, const DenseRows& rows,
                                       const int64_t* labels, bool top2) {
    return linear_body(models, precision, rule, rows, labels, top2);
}
LIKEWISE_DISPATCH(Pass, dense_events,
                  (const Models& models, double* precision, const ClassifierRule& rule,
                   const DenseRows& rows, const int64_t* labels, bool top2),
                  (models, precision, rule, rows, labels, top2))

LIKEWISE_INLINE Pass sparse_events_body(const Models& models, double* precision,
                                        const ClassifierRule& rule, const SparseRows& rows,
                                        const int64_t* labels, bool top2) {
    return linear_body(models, precision, rule, rows, labels, top2);
}
LIKEWISE_DISPATCH(Pass, sparse_events,
                  (const Models& models, double* precision, const ClassifierRule& rule,
                   const SparseRows& rows, const int64_t* labels, bool top2),
                  (models, precision, rule, rows, labels, top2))

}  // namespace likewise
