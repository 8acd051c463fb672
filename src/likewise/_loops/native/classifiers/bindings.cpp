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
                                 double radius, double bias) {
    require(kind >= 0 && kind <= 7, "kind must be 0 to 7.");
    return {static_cast<likewise::Kind>(kind), size, positive, negative, radius, bias};
}

likewise::Models models_of(Matrix& W, Vector& max_sqnorm, Matrix& scores, int64_t features,
                           double bias) {
    const int64_t count = extent(W), width = extent(W, 1);
    require(width == features + (bias != 0),
            "W must have one column per feature, and one for a bias.");
    require(count > 0 && extent(scores, 1) == count && extent(max_sqnorm) == count,
            "scores and max_sqnorm must have one value per model.");
    return {W.data(), count, width, max_sqnorm.data(), scores.data()};
}

void require_labels(const Indices& labels, int64_t n, const Matrix& scores, const Matrix& W,
                    bool top2) {
    require(extent(labels) == n && extent(scores) == n,
            "labels and scores must have one value per event.");
    require(!top2 || extent(W) > 1, "W must hold at least two models for top2.");
    const int64_t most = extent(W) == 1 ? 2 : extent(W);
    for (int64_t i = 0; i < n; ++i)
        require(labels.data()[i] >= 0 && labels.data()[i] < most,
                "labels must be numbers of models.");
}

// An empty precision is that of a first-order learner.
double* precision_of(Matrix& precision, const Matrix& W) {
    if (precision.size() == 0) return nullptr;
    require(same_shape(precision, W), "precision must be empty or have the shape of W.");
    return precision.data();
}

int64_t dense_events(Matrix W, Matrix precision, Vector max_sqnorm, ConstMatrix X, Indices labels,
                     bool top2, int kind, double size, double positive, double negative,
                     double radius, double bias, Matrix scores) {
    const auto rule = rule_of(kind, size, positive, negative, radius, bias);
    const auto models = models_of(W, max_sqnorm, scores, extent(X, 1), bias);
    require_labels(labels, extent(X), scores, W, top2);
    double* p = precision_of(precision, W);
    nb::gil_scoped_release unlocked;
    const likewise::DenseRows rows{X.data(), extent(X), extent(X, 1), bias};
    const auto pass = likewise::dense_events(models, p, rule, rows, labels.data(), top2);
    return pass.refused ? -1 : pass.updates;
}

int64_t csr_events(Matrix W, Matrix precision, Vector max_sqnorm, ConstVector values,
                   Features features, Indices starts, int64_t width, Indices labels, bool top2,
                   int kind, double size, double positive, double negative, double radius,
                   double bias, Matrix scores) {
    const auto rule = rule_of(kind, size, positive, negative, radius, bias);
    const auto models = models_of(W, max_sqnorm, scores, width, bias);
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

Counted factor_events(Matrix W, Cube columns, Matrix diagonal, Vector max_sqnorm, ConstMatrix X,
                      Indices labels, bool top2, int64_t max_updates, int kind, double size,
                      double positive, double negative, double radius, double bias, Matrix scores) {
    const auto rule = rule_of(kind, size, positive, negative, radius, bias);
    const auto models = models_of(W, max_sqnorm, scores, extent(X, 1), bias);
    require_labels(labels, extent(X), scores, W, top2);
    require(same_shape(diagonal, W), "diagonal must have the shape of W.");
    require(extent(columns) == models.count && extent(columns, 1) == models.width &&
                extent(columns, 2) == likewise::padded(models.width),
            "columns must hold one padded column per feature, for each model.");
    nb::gil_scoped_release unlocked;
    const likewise::DenseRows rows{X.data(), extent(X), extent(X, 1), bias};
    const auto pass = likewise::factor_events(models, columns.data(), diagonal.data(), rule, rows,
                                              labels.data(), top2, max_updates);
    return {pass.taken, pass.updates};
}

Counted low_rank_events(Matrix W, Cube basis, Counts spanned, Cube sketch, Counts used,
                        Cube columns, Matrix diagonal, Vector trace, Matrix sums, Vector max_sqnorm,
                        ConstMatrix X, Indices labels, bool top2, int kind, double size,
                        double positive, double negative, double radius, double bias,
                        Matrix scores) {
    const auto rule = rule_of(kind, size, positive, negative, radius, bias);
    const auto models = models_of(W, max_sqnorm, scores, extent(X, 1), bias);
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
            "columns and diagonal must be factors with one row per row of basis.");
    require(extent(used) == models.count && extent(spanned) == models.count &&
                extent(trace) == models.count,
            "used, spanned and trace must have one value per model.");
    for (int64_t k = 0; k < models.count; ++k)
        require(used.data()[k] >= 0 && used.data()[k] <= capacity && spanned.data()[k] >= 0 &&
                    spanned.data()[k] <= std::min(used.data()[k], models.width),
                "used must lie within the sketch, and spanned within used and the features.");
    nb::gil_scoped_release unlocked;
    likewise::LowRankCovariance covariance(basis.data(), spanned.data(), sketch.data(), used.data(),
                                     columns.data(), diagonal.data(), trace.data(), sums.data(),
                                     capacity, models.count, models.width);
    const likewise::DenseRows rows{X.data(), extent(X), extent(X, 1), bias};
    const auto pass =
        likewise::low_rank_events(covariance, models, rule, rows, labels.data(), top2);
    return {pass.taken, pass.updates};
}

std::tuple<int64_t, int64_t, bool> block_events(Vector w, ConstMatrix sigma, ConstVector diagonal,
                                                ConstMatrix X, Indices labels, Indices known_rows,
                                                ConstMatrix known_products,
                                                ConstVector quadratic_forms, Matrix gains,
                                                Vector gain_weights, int kind, double size,
                                                double positive, double negative, double radius,
                                                double bias, Vector scores) {
    const auto rule = rule_of(kind, size, positive, negative, radius, bias);
    const int64_t n = extent(X), d = extent(X, 1);
    require(extent(w) == d && extent(sigma) == d && extent(sigma, 1) == d &&
                extent(diagonal) == d && extent(known_products, 1) == d && extent(gains, 1) == d,
            "w, sigma, diagonal, known_products and gains must be as wide as X.");
    require(extent(labels) == n && extent(scores) == n &&
                extent(known_rows) == extent(known_products) &&
                extent(gain_weights) == extent(gains),
            "labels and scores must have one value per row of X, known_rows one per row of "
            "known_products, and gain_weights one per row of gains.");
    require(extent(quadratic_forms) == n || extent(quadratic_forms) == 0,
            "quadratic_forms must have one value per row, or none at all.");
    nb::gil_scoped_release unlocked;
    const likewise::Block block{sigma.data(),
                                diagonal.data(),
                                known_rows.data(),
                                known_products.data(),
                                extent(known_rows),
                                extent(quadratic_forms) ? quadratic_forms.data() : nullptr,
                                gains.data(),
                                gain_weights.data(),
                                extent(gains)};
    const likewise::DenseRows rows{X.data(), n, d, 0};
    const auto [pass, trusted] =
        likewise::block_events(block, w.data(), rule, rows, labels.data(), scores.data());
    return {pass.taken, pass.updates, trusted};
}

// Takes single events with a diagonal covariance or none. It keeps its arrays, because to pass them
// with each event would take longer than the update.
class EventLearner {
  public:
    EventLearner(Matrix W, Matrix precision, Vector max_sqnorm, bool top2, int kind, double size,
                 double positive, double negative, double radius, double bias)
        : W_(W), precision_(precision), max_sqnorm_(max_sqnorm), top2_(top2),
          rule_(rule_of(kind, size, positive, negative, radius, bias)), scores_(extent(W)),
          features_(extent(W, 1) - (bias != 0)) {
        require(extent(W) > 0 && extent(max_sqnorm) == extent(W),
                "max_sqnorm must have one value per model.");
        require(!top2 || extent(W) > 1, "W must hold at least two models for top2.");
        precision_of(precision_, W_);
    }

    // Returns the margin of the label over the best other, the predicted label, and the number of
    // updates. A sample that is refused has margin NaN and changes nothing.
    std::tuple<double, int64_t, int64_t> learn(ConstVector x, int64_t label) {
        const int64_t count = extent(W_);
        require(extent(x) == features_, "x must have as many features as W.");
        require(label >= 0 && label < (count == 1 ? 2 : count),
                "label must be the number of a model.");
        const likewise::DenseRows rows{x.data(), 1, features_, rule_.bias};
        const likewise::Models models{W_.data(), count, extent(W_, 1), max_sqnorm_.data(),
                                      scores_.data()};
        double* precision = precision_.size() ? precision_.data() : nullptr;
        const auto pass = likewise::dense_events(models, precision, rule_, rows, &label, top2_);
        if (pass.refused) return {NAN, 0, 0};
        return {likewise::margin(scores_.data(), count, label),
                likewise::predicted(scores_.data(), count), pass.updates};
    }

  private:
    Matrix W_, precision_;
    Vector max_sqnorm_;
    bool top2_;
    likewise::ClassifierRule rule_;
    std::vector<double> scores_;
    int64_t features_;
};

}  // namespace

void bind_classifiers(nb::module_& m) {
    nb::class_<EventLearner>(m, "EventLearner")
        .def(nb::init<Matrix, Matrix, Vector, bool, int, double, double, double, double, double>(),
             array("W"), array("precision"), array("max_sqnorm"), "top2"_a, "kind"_a, "size"_a,
             "positive"_a, "negative"_a, "radius"_a, "bias"_a)
        .def("learn", &EventLearner::learn, array("x"), "label"_a);
    m.def("dense_events", &dense_events, array("W"), array("precision"), array("max_sqnorm"),
          array("X"), array("labels"), "top2"_a, "kind"_a, "size"_a, "positive"_a, "negative"_a,
          "radius"_a, "bias"_a, array("scores"));
    m.def("csr_events", &csr_events, array("W"), array("precision"), array("max_sqnorm"),
          array("values"), array("features"), array("starts"), "width"_a, array("labels"), "top2"_a,
          "kind"_a, "size"_a, "positive"_a, "negative"_a, "radius"_a, "bias"_a, array("scores"));
    m.def("factor_events", &factor_events, array("W"), array("columns"), array("diagonal"),
          array("max_sqnorm"), array("X"), array("labels"), "top2"_a, "max_updates"_a, "kind"_a,
          "size"_a, "positive"_a, "negative"_a, "radius"_a, "bias"_a, array("scores"));
    m.def("low_rank_events", &low_rank_events, array("W"), array("basis"), array("spanned"),
          array("sketch"), array("used"), array("columns"), array("diagonal"), array("trace"),
          array("sums"), array("max_sqnorm"), array("X"), array("labels"), "top2"_a, "kind"_a,
          "size"_a, "positive"_a, "negative"_a, "radius"_a, "bias"_a, array("scores"));
    m.def("block_events", &block_events, array("w"), array("sigma"), array("diagonal"), array("X"),
          array("labels"), array("known_rows"), array("known_products"), array("quadratic_forms"),
          array("gains"), array("gain_weights"), "kind"_a, "size"_a, "positive"_a, "negative"_a,
          "radius"_a, "bias"_a, array("scores"));
}
