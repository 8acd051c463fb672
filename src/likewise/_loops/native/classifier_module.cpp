// Bindings of the online classifiers: check lengths, release the GIL, call them.

#include "classifier_module.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <stdexcept>
#include <vector>

#include "classifier_covariance.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <typename T, int dimensions>
using Array = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
using Matrix = Array<double, 2>;
using Vector = Array<double, 1>;
using Cube = Array<double, 3>;
using Rows = Array<const double, 2>;
using Reals = Array<const double, 1>;
using Labels = Array<const int64_t, 1>;
using Counts = Array<int64_t, 1>;
using Features = Array<const int32_t, 1>;
using Counted = std::pair<int64_t, int64_t>;

void require(bool holds, const char* otherwise) {
    if (!holds) throw std::invalid_argument(otherwise);
}

template <typename A>
int64_t size_of(const A& array, int axis = 0) {
    return static_cast<int64_t>(array.shape(axis));
}

likewise::ClassifierRule rule_of(int kind, double size, double positive, double negative,
                                 double reach, double bias) {
    require(kind >= 0 && kind <= 7, "kind must be 0 to 7.");
    return {static_cast<likewise::Kind>(kind), size, positive, negative, reach, bias};
}

likewise::Models models_of(Matrix& W, Vector& reach, Matrix& scores, int64_t features, double bias) {
    const int64_t count = size_of(W), width = size_of(W, 1);
    require(width == features + (bias != 0), "W must have a column a feature, and one for a bias.");
    require(count > 0 && size_of(scores, 1) == count && size_of(reach) == count,
            "scores and reach must have one value a model.");
    return {W.data(), count, width, reach.data(), scores.data()};
}

void require_labels(const Labels& labels, int64_t n, const Matrix& scores, const Matrix& W,
                    bool top2) {
    require(size_of(labels) == n && size_of(scores) == n,
            "labels and scores must have one value an event.");
    require(!top2 || size_of(W) > 1, "W must hold several models to choose two of.");
    const int64_t most = size_of(W) == 1 ? 2 : size_of(W);
    for (int64_t i = 0; i < n; ++i)
        require(labels.data()[i] >= 0 && labels.data()[i] < most, "labels must name models.");
}

// Without a precision the learner is of first order.
double* precision_of(Matrix& precision, const Matrix& W) {
    if (precision.size() == 0) return nullptr;
    require(precision.shape(0) == W.shape(0) && precision.shape(1) == W.shape(1),
            "precision must be empty or as large as W.");
    return precision.data();
}

int64_t dense_events(Matrix W, Matrix precision, Vector reach, Rows X, Labels labels, bool top2,
                     int kind, double size, double positive, double negative, double R,
                     double bias, Matrix scores) {
    const auto rule = rule_of(kind, size, positive, negative, R, bias);
    const auto models = models_of(W, reach, scores, size_of(X, 1), bias);
    require_labels(labels, size_of(X), scores, W, top2);
    double* p = precision_of(precision, W);
    nb::gil_scoped_release unlocked;
    const likewise::DenseRows rows{X.data(), size_of(X), size_of(X, 1), bias};
    const auto pass = likewise::dense_events(models, p, rule, rows, labels.data(), top2);
    return pass.refused ? -1 : pass.updates;
}

int64_t csr_events(Matrix W, Matrix precision, Vector reach, Reals values, Features features,
                   Labels starts, int64_t width, Labels labels, bool top2, int kind, double size,
                   double positive, double negative, double R, double bias, Matrix scores) {
    const auto rule = rule_of(kind, size, positive, negative, R, bias);
    const auto models = models_of(W, reach, scores, width, bias);
    const int64_t n = size_of(starts) - 1;
    require(n >= 0 && size_of(values) == size_of(features), "values and features must match.");
    require_labels(labels, n, scores, W, top2);
    double* p = precision_of(precision, W);
    for (int64_t i = 0; i < n; ++i)
        require(starts.data()[i] <= starts.data()[i + 1], "starts must not decrease.");
    require(starts.data()[0] >= 0 && starts.data()[n] <= size_of(values),
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

Counted factor_events(Matrix W, Cube columns, Matrix diagonal, Vector reach, Rows X, Labels labels,
                      bool top2, int64_t max_updates, int kind, double size, double positive,
                      double negative, double R, double bias, Matrix scores) {
    const auto rule = rule_of(kind, size, positive, negative, R, bias);
    const auto models = models_of(W, reach, scores, size_of(X, 1), bias);
    require_labels(labels, size_of(X), scores, W, top2);
    require(diagonal.shape(0) == W.shape(0) && diagonal.shape(1) == W.shape(1),
            "diagonal must be as large as W.");
    require(size_of(columns) == models.count && size_of(columns, 1) == models.width &&
                size_of(columns, 2) == likewise::padded(models.width),
            "columns must hold a padded column a feature and model.");
    nb::gil_scoped_release unlocked;
    const likewise::DenseRows rows{X.data(), size_of(X), size_of(X, 1), bias};
    const auto pass = likewise::factor_events(models, columns.data(), diagonal.data(), rule, rows,
                                              labels.data(), top2, max_updates);
    return {pass.taken, pass.updates};
}

Counted low_rank_events(Matrix W, Cube basis, Counts spanned, Cube sketch, Counts used,
                        Cube columns, Matrix diagonal, Vector trace, Matrix sums, Vector reach,
                        Rows X, Labels labels, bool top2, int kind, double size, double positive,
                        double negative, double R, double bias, Matrix scores) {
    const auto rule = rule_of(kind, size, positive, negative, R, bias);
    const auto models = models_of(W, reach, scores, size_of(X, 1), bias);
    require_labels(labels, size_of(X), scores, W, top2);
    const int64_t capacity = size_of(basis, 1);
    require(size_of(basis) == models.count && size_of(basis, 2) == models.width &&
                size_of(sums) == models.count && size_of(sums, 1) == models.width,
            "basis and sums must hold rows as wide as W, a model.");
    require(size_of(sketch) == models.count && size_of(sketch, 1) == capacity &&
                size_of(sketch, 2) == capacity,
            "sketch must have a row and a column a row of basis.");
    require(size_of(columns) == models.count && size_of(columns, 1) == capacity &&
                size_of(columns, 2) == likewise::padded(capacity) &&
                size_of(diagonal) == models.count && size_of(diagonal, 1) == capacity,
            "columns and diagonal must be factors as wide as basis has rows.");
    require(size_of(used) == models.count && size_of(spanned) == models.count &&
                size_of(trace) == models.count,
            "used, spanned and trace must have one value a model.");
    for (int64_t k = 0; k < models.count; ++k)
        require(used.data()[k] >= 0 && used.data()[k] <= capacity && spanned.data()[k] >= 0 &&
                    spanned.data()[k] <= std::min(used.data()[k], models.width),
                "used must lie within the sketch, and spanned within used and the features.");
    nb::gil_scoped_release unlocked;
    likewise::LowRankCovariance form(basis.data(), spanned.data(), sketch.data(), used.data(),
                                     columns.data(), diagonal.data(), trace.data(), sums.data(),
                                     capacity, models.count, models.width);
    const likewise::DenseRows rows{X.data(), size_of(X), size_of(X, 1), bias};
    const auto pass =
        likewise::low_rank_events(form, models, rule, rows, labels.data(), top2);
    return {pass.taken, pass.updates};
}

std::tuple<int64_t, int64_t, bool> block_events(Vector w, Rows sigma, Reals diagonal, Rows X,
                                                Labels labels, Labels asked, Rows known,
                                                Reals quadratics, Matrix history, Vector shrink,
                                                int kind, double size, double positive,
                                                double negative, double R, double bias,
                                                Vector scores) {
    const auto rule = rule_of(kind, size, positive, negative, R, bias);
    const int64_t n = size_of(X), d = size_of(X, 1);
    require(size_of(w) == d && size_of(sigma) == d && size_of(sigma, 1) == d &&
                size_of(diagonal) == d && size_of(known, 1) == d && size_of(history, 1) == d,
            "w, sigma, diagonal, known and history must be as wide as X.");
    require(size_of(labels) == n && size_of(scores) == n && size_of(asked) == size_of(known) &&
                size_of(shrink) == size_of(history),
            "labels, scores and shrink must be as long as what they go with.");
    require(size_of(quadratics) == n || size_of(quadratics) == 0,
            "quadratics must have one value a row, or none at all.");
    nb::gil_scoped_release unlocked;
    const likewise::Block block{sigma.data(),
                                diagonal.data(),
                                asked.data(),
                                known.data(),
                                size_of(asked),
                                size_of(quadratics) ? quadratics.data() : nullptr,
                                history.data(),
                                shrink.data(),
                                size_of(history)};
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
          rule_(rule_of(kind, size, positive, negative, R, bias)), scores_(size_of(W)),
          features_(size_of(W, 1) - (bias != 0)) {
        require(size_of(W) > 0 && size_of(reach) == size_of(W),
                "reach must have one value a model.");
        require(!top2 || size_of(W) > 1, "W must hold several models to choose two of.");
        precision_of(precision_, W_);
    }

    // Margin (of the label against the best other), whether it was a mistake, and the number of
    // updates. A row that cannot be learned from has margin NaN and changes nothing.
    std::tuple<double, bool, int64_t> learn(Reals x, int64_t label) {
        const int64_t count = size_of(W_);
        require(size_of(x) == features_, "x must have as many features as W.");
        require(label >= 0 && label < (count == 1 ? 2 : count), "label must name a model.");
        const likewise::DenseRows rows{x.data(), 1, features_, rule_.bias};
        const likewise::Models models{W_.data(), count, size_of(W_, 1), reach_.data(),
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
             nb::arg("W").noconvert(), nb::arg("precision").noconvert(),
             nb::arg("reach").noconvert(), "top2"_a, "kind"_a, "size"_a, "positive"_a,
             "negative"_a, "R"_a, "bias"_a)
        .def("learn", &EventLearner::learn, nb::arg("x").noconvert(), "label"_a);
    m.def("dense_events", &dense_events, nb::arg("W").noconvert(),
          nb::arg("precision").noconvert(), nb::arg("reach").noconvert(), nb::arg("X").noconvert(),
          nb::arg("labels").noconvert(), "top2"_a, "kind"_a, "size"_a, "positive"_a, "negative"_a,
          "R"_a, "bias"_a, nb::arg("scores").noconvert());
    m.def("csr_events", &csr_events, nb::arg("W").noconvert(), nb::arg("precision").noconvert(),
          nb::arg("reach").noconvert(), nb::arg("values").noconvert(),
          nb::arg("features").noconvert(), nb::arg("starts").noconvert(), "width"_a,
          nb::arg("labels").noconvert(), "top2"_a, "kind"_a, "size"_a, "positive"_a, "negative"_a,
          "R"_a, "bias"_a, nb::arg("scores").noconvert());
    m.def("factor_events", &factor_events, nb::arg("W").noconvert(),
          nb::arg("columns").noconvert(), nb::arg("diagonal").noconvert(),
          nb::arg("reach").noconvert(), nb::arg("X").noconvert(), nb::arg("labels").noconvert(),
          "top2"_a, "max_updates"_a, "kind"_a, "size"_a, "positive"_a, "negative"_a, "R"_a,
          "bias"_a, nb::arg("scores").noconvert());
    m.def("low_rank_events", &low_rank_events, nb::arg("W").noconvert(),
          nb::arg("basis").noconvert(), nb::arg("spanned").noconvert(),
          nb::arg("sketch").noconvert(), nb::arg("used").noconvert(),
          nb::arg("columns").noconvert(), nb::arg("diagonal").noconvert(),
          nb::arg("trace").noconvert(), nb::arg("sums").noconvert(),
          nb::arg("reach").noconvert(), nb::arg("X").noconvert(), nb::arg("labels").noconvert(),
          "top2"_a, "kind"_a, "size"_a, "positive"_a, "negative"_a, "R"_a, "bias"_a,
          nb::arg("scores").noconvert());
    m.def("block_events", &block_events, nb::arg("w").noconvert(), nb::arg("sigma").noconvert(),
          nb::arg("diagonal").noconvert(), nb::arg("X").noconvert(),
          nb::arg("labels").noconvert(), nb::arg("asked").noconvert(),
          nb::arg("known").noconvert(), nb::arg("quadratics").noconvert(),
          nb::arg("history").noconvert(), nb::arg("shrink").noconvert(), "kind"_a, "size"_a,
          "positive"_a, "negative"_a, "R"_a, "bias"_a, nb::arg("scores").noconvert());
}
