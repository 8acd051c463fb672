// Bindings of the event-by-event loops: check lengths, release the GIL, call them.

#include "stream_module.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <stdexcept>

#include "pair_rows.hpp"
#include "pairs_online.hpp"
#include "pairs_psd.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Matrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Events = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Reals = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr int64_t kFew = 4;  // events; more are worth packing the matrix for

void require(bool holds, const char* otherwise) {
    if (!holds) throw std::invalid_argument(otherwise);
}

void require_events(const Events& V, const Reals& sign, const Vector& losses, const Vector& steps) {
    const size_t n = V.shape(0);
    require(sign.shape(0) == n && losses.shape(0) == n && steps.shape(0) == n,
            "sign, losses and steps must have one value an event.");
}

void require_square(const Matrix& M, const Events& V) {
    require(M.shape(0) == M.shape(1) && M.shape(0) == V.shape(1),
            "M must be square with a row a feature of V.");
}

likewise::StepRule rule_of(int variant, double C, double slack, double tolerance) {
    require(variant >= 0 && variant <= 3, "variant must be 0 to 3.");
    return {static_cast<likewise::Variant>(variant), C, slack, tolerance};
}

int64_t rows_of(const Events& V) { return static_cast<int64_t>(V.shape(0)); }
int64_t features_of(const Events& V) { return static_cast<int64_t>(V.shape(1)); }

template <typename T>
double pair_differences(nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu> X,
                        nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> pairs,
                        double scale, Matrix V) {
    const int64_t n = static_cast<int64_t>(pairs.shape(0));
    require(pairs.shape(1) == 2, "pairs must have two columns.");
    require(V.shape(0) == pairs.shape(0) && V.shape(1) == X.shape(1),
            "V must have one row a pair and one column a feature.");
    const int64_t rows = static_cast<int64_t>(X.shape(0));
    for (int64_t k = 0; k < 2 * n; ++k) {
        if (pairs.data()[k] < 0 || pairs.data()[k] >= rows) {
            throw nb::index_error("Row numbers must lie within X, but some do not.");
        }
    }
    nb::gil_scoped_release unlocked;
    return likewise::pair_differences(X.data(), static_cast<int64_t>(X.shape(1)), pairs.data(), n,
                                      scale, V.data());
}

void triangle_quadratics(Events V, Events half, Reals diagonal, Vector q) {
    require(half.shape(0) == V.shape(0) && half.shape(1) == V.shape(1),
            "half must have V's shape.");
    require(diagonal.shape(0) == V.shape(1) && q.shape(0) == V.shape(0),
            "diagonal must have one value a feature, and q one a row.");
    nb::gil_scoped_release unlocked;
    likewise::triangle_quadratics(V.data(), half.data(), diagonal.data(), rows_of(V),
                                  features_of(V), q.data());
}

int64_t signed_rows(Events V, Reals weights, Matrix out) {
    require(weights.shape(0) == V.shape(0), "weights must have one value a row.");
    require(out.shape(0) == V.shape(0) && out.shape(1) == V.shape(1), "out must have V's shape.");
    nb::gil_scoped_release unlocked;
    return likewise::signed_rows(V.data(), weights.data(), rows_of(V), features_of(V), out.data());
}

std::pair<int64_t, double> pair_steps(Matrix M, double b, Events V, Reals sign, int variant,
                                      double C, double slack, double tolerance,
                                      int64_t max_updates, Vector losses, Vector steps) {
    require_events(V, sign, losses, steps);
    require_square(M, V);
    const auto rule = rule_of(variant, C, slack, tolerance);
    nb::gil_scoped_release unlocked;
    const auto loop = rows_of(V) < kFew ? likewise::few_pair_steps : likewise::pair_steps;
    const int64_t taken =
        loop(M.data(), features_of(V), b, V.data(), sign.data(), rows_of(V), rule,
                             max_updates, losses.data(), steps.data());
    return {taken, b};
}

std::tuple<double, double, double> pair_step(Matrix M, double b, Reals first, Reals second,
                                             double scale, double sign, int variant, double C,
                                             double slack, double tolerance) {
    const size_t d = first.shape(0);
    require(second.shape(0) == d && M.shape(0) == d && M.shape(1) == d,
            "M must be square with a row a feature of first and second.");
    const auto rule = rule_of(variant, C, slack, tolerance);
    double loss, step;
    likewise::pair_step(M.data(), static_cast<int64_t>(d), b, first.data(), second.data(), scale,
                        sign, rule, &loss, &step);
    return {loss, step, b};
}

std::pair<int64_t, double> pair_block_steps(Events V, Reals q, double b, Reals sign, int variant,
                                            double C, double slack, double tolerance,
                                            int64_t max_updates, Vector losses, Vector steps) {
    require_events(V, sign, losses, steps);
    require(q.shape(0) == V.shape(0), "q must have one value an event.");
    const auto rule = rule_of(variant, C, slack, tolerance);
    nb::gil_scoped_release unlocked;
    const int64_t taken =
        likewise::pair_block(V.data(), features_of(V), q.data(), sign.data(), rows_of(V), b, rule,
                             max_updates, losses.data(), steps.data());
    return {taken, b};
}

std::pair<int64_t, double> pair_gram_steps(Events gram, Vector q, double b, Reals sign,
                                           int variant, double C, double slack, double tolerance,
                                           int64_t max_updates, Vector losses, Vector steps) {
    require_events(gram, sign, losses, steps);
    require(gram.shape(0) == gram.shape(1) && q.shape(0) == gram.shape(0),
            "gram must be square, and q have one value an event.");
    const auto rule = rule_of(variant, C, slack, tolerance);
    nb::gil_scoped_release unlocked;
    const int64_t taken = likewise::pair_gram(gram.data(), q.data(), sign.data(), rows_of(gram), b,
                                              rule, max_updates, losses.data(), steps.data());
    return {taken, b};
}

double pair_psd_steps(Matrix M, double b, Events V, Reals sign, int variant, double C, double slack,
                      double tolerance, Vector losses, Vector steps) {
    require_events(V, sign, losses, steps);
    require_square(M, V);
    const auto rule = rule_of(variant, C, slack, tolerance);
    nb::gil_scoped_release unlocked;
    likewise::pair_psd_steps_small(M.data(), features_of(V), b, V.data(), sign.data(), rows_of(V),
                                   rule, losses.data(), steps.data());
    return b;
}

std::tuple<int64_t, int64_t, double> low_rank_psd_steps(Reals values, Matrix rows, Vector weights,
                                                        int64_t count, double b, Events V,
                                                        Reals sign, int variant, double C,
                                                        double slack, double tolerance,
                                                        Vector losses, Vector steps) {
    require_events(V, sign, losses, steps);
    require(values.shape(0) == V.shape(1) && rows.shape(1) == V.shape(1),
            "values and rows must have one column a feature of V.");
    require(weights.shape(0) == rows.shape(0), "weights must have one value a row of rows.");
    require(count >= 0 && count <= static_cast<int64_t>(rows.shape(0)),
            "count must lie within rows.");
    const auto rule = rule_of(variant, C, slack, tolerance);
    likewise::LowRankMetric metric{features_of(V),  static_cast<int64_t>(rows.shape(0)),
                                   count,           values.data(),
                                   rows.data(),     weights.data()};
    nb::gil_scoped_release unlocked;
    const int64_t taken = likewise::pair_psd_steps(metric, b, V.data(), sign.data(), rows_of(V),
                                                   rule, losses.data(), steps.data());
    return {taken, metric.count, b};
}

}  // namespace

void bind_stream(nb::module_& m) {
    m.def("choose_instructions", &likewise::choose_instructions, "instructions"_a);
    m.def("pair_differences", &pair_differences<double>, nb::arg("X").noconvert(),
          nb::arg("pairs").noconvert(), "scale"_a, nb::arg("V").noconvert());
    m.def("pair_differences", &pair_differences<float>, nb::arg("X").noconvert(),
          nb::arg("pairs").noconvert(), "scale"_a, nb::arg("V").noconvert());
    m.def("triangle_quadratics", &triangle_quadratics, nb::arg("V").noconvert(),
          nb::arg("half").noconvert(), nb::arg("diagonal").noconvert(), nb::arg("q").noconvert());
    m.def("signed_rows", &signed_rows, nb::arg("V").noconvert(), nb::arg("weights").noconvert(),
          nb::arg("out").noconvert());
    m.def("pair_step", &pair_step, nb::arg("M").noconvert(), "b"_a, nb::arg("first").noconvert(),
          nb::arg("second").noconvert(), "scale"_a, nb::arg("sign").noconvert(), "variant"_a,
          "C"_a, "slack"_a, "tolerance"_a);
    m.def("pair_steps", &pair_steps, nb::arg("M").noconvert(), "b"_a, nb::arg("V").noconvert(),
          nb::arg("sign").noconvert(), "variant"_a, "C"_a, "slack"_a, "tolerance"_a,
          "max_updates"_a, nb::arg("losses").noconvert(), nb::arg("steps").noconvert());
    m.def("pair_block_steps", &pair_block_steps, nb::arg("V").noconvert(),
          nb::arg("q").noconvert(), "b"_a, nb::arg("sign").noconvert(), "variant"_a, "C"_a,
          "slack"_a, "tolerance"_a, "max_updates"_a, nb::arg("losses").noconvert(),
          nb::arg("steps").noconvert());
    m.def("pair_gram_steps", &pair_gram_steps, nb::arg("gram").noconvert(),
          nb::arg("q").noconvert(), "b"_a, nb::arg("sign").noconvert(), "variant"_a, "C"_a,
          "slack"_a, "tolerance"_a, "max_updates"_a, nb::arg("losses").noconvert(),
          nb::arg("steps").noconvert());
    m.def("pair_psd_steps", &pair_psd_steps, nb::arg("M").noconvert(), "b"_a,
          nb::arg("V").noconvert(), nb::arg("sign").noconvert(), "variant"_a, "C"_a, "slack"_a,
          "tolerance"_a, nb::arg("losses").noconvert(), nb::arg("steps").noconvert());
    m.def("low_rank_psd_steps", &low_rank_psd_steps, nb::arg("values").noconvert(),
          nb::arg("rows").noconvert(), nb::arg("weights").noconvert(), "count"_a, "b"_a,
          nb::arg("V").noconvert(), nb::arg("sign").noconvert(), "variant"_a, "C"_a, "slack"_a,
          "tolerance"_a, nb::arg("losses").noconvert(), nb::arg("steps").noconvert());
}
