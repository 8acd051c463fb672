// Bindings of the loops of online classifiers.

#include "bindings.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "classifiers/covariance.hpp"

namespace {

using Counts = Array<int64_t, 1>;
using Cube = Array<double, 3>;
using Features = Array<const int32_t, 1>;
using Counted = std::pair<int64_t, int64_t>;

likewise::ClassifierRule rule_of(int kind, double size, double positive, double negative,
                                 double reach, double bias) {
    require(kind >= 0 && kind <= 7, "kind must be 0 to 7.");
    return {static_cast<likewise::Kind>(kind), size, positive, negative, reach, bias};
}

likewise::Models models_of(Matrix& W, Vector& reach, Matrix& scores, int64_t features, double bias) {
    const int64_t count = extent(W), width = extent(W, 1);
    require(width == features + (bias != 0), "W must have one column per feature, and one for a bias.");
    require(count > 0 && extent(scores, 1) == count && extent(reach) == count,
            "scores and reach must have one value per model.");
    return {W.data(), count, width, reach.data(), scores.data()};
}

void require_labels(const Indices& labels, int64_t n, const Matrix& scores, const Matrix& W,
                    bool top2) {
    require(extent(labels) == n && extent(scores) == n,
            "labels and scores must have one value per event.");
    require(!top2 || extent(W) > 1, "W must hold several models to choose two of.");
    const int64_t most = extent(W) == 1 ? 2 : extent(W);
    for (int64_t i = 0; i < n; ++i)
        require(labels.data()[i] >= 0 && labels.data()[i] < most, "labels must name models.");
}

// Without a precision the learner is of first order.
double* precision_of(Matrix& precision, const Matrix& W) {
    if (precision.size() == 0) return nullptr;
    require(same_shape(precision, W), "precision must be empty or have the shape of W.");
    return precision.data();
}

int64_t dense_events(Matrix W, Matrix precision, Vector reach, ConstMatrix X, Indices labels, bool top2,
                     int kind, double size, double positive, double negative, double R,
                     double bias, Matrix scores) {
    const auto rule = rule_of(kind, size, positive, negative, R, bias);
    const auto models = models_of(W, reach, scores, extent(X, 1), bias);
    require_labels(labels, extent(X), scores, W, top2);
    double* p = precision_of(precision, W);
    nb::gil_scoped_release unlocked;
    const likewise::DenseRows rows{X.data(), extent(X), extent(X, 1), bias};
    const auto pass = likewise::dense_events(models, p, rule, rows, labels.data(), top2);
    return pass.refused ? -1 : pass.updates;
}

int64_t csr_events(Matrix W, Matrix precision, Vector reach, ConstVector values, Features features,
                   Indices starts, int64_t width, Indices labels, bool top2, int kind, double size,
                   double positive, double negative, double R, double bias, Matrix scores) {
    const auto rule = rule_of(kind, size, positive, negative, R, bias);
    const auto models = models_of(W, reach, scores, width, bias);
    const int64_t n = extent(starts) - 1;
    require(n >= 0 && extent(values) == extent(features), "values and features must match.");
    require_labels(labels, n, scores, W, top2);
    double* p = precision_of(precision, W);
    for (int64_t i = 0; i < n; ++i)
        require(starts.data()[i] <= starts.data()[i + 1], "starts must not decrease.");
    require(starts.data()[0] >= 0 && starts.data()[n] <= extent(values),
            "starts must lie within values.");
    int32_t lowest = 0, highest = -1;
    for (int64_t j = starts.data()[0]; j < starts.data()[n]; ++j) {
        lowest = std::min(lowest, features.data()[j]);
        highest = std::max(highest, features.data()[j]);
    }
    require(lowest >= 0 && highest < width, "features must be columns of W.");
    nb::gil_scoped_release unlocked;
    const likewise::SparseRows rows{values.data(), features.data(), starts.data(), n, width, bias};
    const auto pass = likewise::sparse_events(models, p, rule, rows, labels.data(), top2);
    return pass.refused ? -1 : pass.updates;
}

Counted factor_events(Matrix W, Cube columns, Matrix diagonal, Vector reach, ConstMatrix X, Indices labels,
                      bool top2, int64_t max_updates, int kind, double size, double positive,
                      double negative, double R, double bias, Matrix scores) {
    const auto rule = rule_of(kind, size, positive, negative, R, bias);
    const auto models = models_of(W, reach, scores, extent(X, 1), bias);
    require_labels(labels, extent(X), scores, W, top2);
    require(same_shape(diagonal, W), "diagonal must have the shape of W.");
    require(extent(columns) == models.count && extent(columns, 1) == models.width &&
                extent(columns, 2) == likewise::padded(models.width),
            "columns must hold one padded column per feature and model.");
    nb::gil_scoped_release unlocked;
    const likewise::DenseRows rows{X.data(), extent(X), extent(X, 1), bias};
    const auto pass = likewise::factor_events(models, columns.data(), diagonal.data(), rule, rows,
                                              labels.data(), top2, max_updates);
    return {pass.taken, pass.updates};
}

Counted low_rank_events(Matrix W, Cube basis, Counts spanned, Cube sketch, Counts used,
                        Cube columns, Matrix diagonal, Vector trace, Matrix sums, Vector reach,
                        ConstMatrix X, Indices labels, bool top2, int kind, double size, double positive,
                        double negative, double R, double bias, Matrix scores) {
    const auto rule = rule_of(kind, size, positive, negative, R, bias);
    const auto models = models_of(W, reach, scores, extent(X, 1), bias);
    require_labels(labels, extent(X), scores, W, top2);
    const int64_t capacity = extent(basis, 1);
    require(extent(basis) == models.count && extent(basis, 2) == models.width &&
                extent(sums) == models.count && extent(sums, 1) == models.width,
            "basis and sums must hold rows as wide as W for each model.");
    require(extent(sketch) == models.count && extent(sketch, 1) == capacity &&
                extent(sketch, 2) == capacity,
            "sketch must have one row and one column per row of basis.");
    require(extent(columns) == models.count && extent(columns, 1) == capacity &&
                extent(columns, 2) == likewise::padded(capacity) &&
                extent(diagonal) == models.count && extent(diagonal, 1) == capacity,
            "columns and diagonal must be factors as wide as basis has rows.");
    require(extent(used) == models.count && extent(spanned) == models.count &&
                extent(trace) == models.count,
            "used, spanned and trace must have one value per model.");
    for (int64_t k = 0; k < models.count; ++k)
        require(used.data()[k] >= 0 && used.data()[k] <= capacity && spanned.data()[k] >= 0 &&
                    spanned.data()[k] <= std::min(used.data()[k], models.width),
                "used must lie within the sketch, and spanned within used and the features.");
    nb::gil_scoped_release unlocked;
    likewise::LowRankCovariance form(basis.data(), spanned.data(), sketch.data(), used.data(),
                                     columns.data(), diagonal.data(), trace.data(), sums.data(),
                                     capacity, models.count, models.width);
    const likewise::DenseRows rows{X.data(), extent(X), extent(X, 1), bias};
    const auto pass =
        likewise::low_rank_events(form, models, rule, rows, labels.data(), top2);
    return {pass.taken, pass.updates};
}

std::tuple<int64_t, int64_t, bool> block_events(Vector w, ConstMatrix sigma, ConstVector diagonal, ConstMatrix X,
                                                Indices labels, Indices asked, ConstMatrix known,
                                                ConstVector quadratics, Matrix history, Vector shrink,
                                                int kind, double size, double positive,
                                                double negative, double R, double bias,
                                                Vector scores) {
    const auto rule = rule_of(kind, size, positive, negative, R, bias);
    const int64_t n = extent(X), d = extent(X, 1);
    require(extent(w) == d && extent(sigma) == d && extent(sigma, 1) == d &&
                extent(diagonal) == d && extent(known, 1) == d && extent(history, 1) == d,
            "w, sigma, diagonal, known and history must be as wide as X.");
    require(extent(labels) == n && extent(scores) == n && extent(asked) == extent(known) &&
                extent(shrink) == extent(history),
            "labels, scores and shrink must be as long as what they go with.");
    require(extent(quadratics) == n || extent(quadratics) == 0,
            "quadratics must have one value per row, or none at all.");
    nb::gil_scoped_release unlocked;
    const likewise::Block block{sigma.data(),
                                diagonal.data(),
                                asked.data(),
                                known.data(),
                                extent(asked),
                                extent(quadratics) ? quadratics.data() : nullptr,
                                history.data(),
                                shrink.data(),
                                extent(history)};
    const likewise::DenseRows rows{X.data(), n, d, 0};
    const auto [pass, trusted] =
        likewise::block_events(block, w.data(), rule, rows, labels.data(), scores.data());
    return {pass.taken, pass.updates, trusted};
}

// Learns single events of a learner without correlations, with everything but the row at hand: to
// hand over so many arrays each time would take longer than to learn.
class EventLearner {
  public:
    EventLearner(Matrix W, Matrix precision, Vector reach, bool top2, int kind, double size,
                 double positive, double negative, double R, double bias)
        : W_(W), precision_(precision), reach_(reach), top2_(top2),
          rule_(rule_of(kind, size, positive, negative, R, bias)), scores_(extent(W)),
          features_(extent(W, 1) - (bias != 0)) {
        require(extent(W) > 0 && extent(reach) == extent(W),
                "reach must have one value per model.");
        require(!top2 || extent(W) > 1, "W must hold several models to choose two of.");
        precision_of(precision_, W_);
    }

    // Margin (of the label against the best other), whether it was a mistake, and the number of
    // updates. A row that cannot be learned from has margin NaN and changes nothing.
    std::tuple<double, bool, int64_t> learn(ConstVector x, int64_t label) {
        const int64_t count = extent(W_);
        require(extent(x) == features_, "x must have as many features as W.");
        require(label >= 0 && label < (count == 1 ? 2 : count), "label must name a model.");
        const likewise::DenseRows rows{x.data(), 1, features_, rule_.bias};
        const likewise::Models models{W_.data(), count, extent(W_, 1), reach_.data(),
                                      scores_.data()};
        double* precision = precision_.size() ? precision_.data() : nullptr;
        const auto pass = likewise::dense_events(models, precision, rule_, rows, &label, top2_);
        if (pass.refused) return {NAN, false, 0};
        return {likewise::margin(scores_.data(), count, label),
                likewise::predicted(scores_.data(), count) != label, pass.updates};
    }

  private:
    Matrix W_, precision_;
    Vector reach_;
    bool top2_;
    likewise::ClassifierRule rule_;
    std::vector<double> scores_;
    int64_t features_;
};

}  // namespace

void bind_classifiers(nb::module_& m) {
    nb::class_<EventLearner>(m, "EventLearner")
        .def(nb::init<Matrix, Matrix, Vector, bool, int, double, double, double, double, double>(),
             array("W"), array("precision"),
             array("reach"), "top2"_a, "kind"_a, "size"_a, "positive"_a,
             "negative"_a, "R"_a, "bias"_a)
        .def("learn", &EventLearner::learn, array("x"), "label"_a);
    m.def("dense_events", &dense_events, array("W"),
          array("precision"), array("reach"), array("X"),
          array("labels"), "top2"_a, "kind"_a, "size"_a, "positive"_a, "negative"_a,
          "R"_a, "bias"_a, array("scores"));
    m.def("csr_events", &csr_events, array("W"), array("precision"),
          array("reach"), array("values"),
          array("features"), array("starts"), "width"_a,
          array("labels"), "top2"_a, "kind"_a, "size"_a, "positive"_a, "negative"_a,
          "R"_a, "bias"_a, array("scores"));
    m.def("factor_events", &factor_events, array("W"),
          array("columns"), array("diagonal"),
          array("reach"), array("X"), array("labels"),
          "top2"_a, "max_updates"_a, "kind"_a, "size"_a, "positive"_a, "negative"_a, "R"_a,
          "bias"_a, array("scores"));
    m.def("low_rank_events", &low_rank_events, array("W"),
          array("basis"), array("spanned"),
          array("sketch"), array("used"),
          array("columns"), array("diagonal"),
          array("trace"), array("sums"),
          array("reach"), array("X"), array("labels"),
          "top2"_a, "kind"_a, "size"_a, "positive"_a, "negative"_a, "R"_a, "bias"_a,
          array("scores"));
    m.def("block_events", &block_events, array("w"), array("sigma"),
          array("diagonal"), array("X"),
          array("labels"), array("asked"),
          array("known"), array("quadratics"),
          array("history"), array("shrink"), "kind"_a, "size"_a,
          "positive"_a, "negative"_a, "R"_a, "bias"_a, array("scores"));
}
