// Bindings of the online steps on pairs.

#include "bindings.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "pairs/differences.hpp"
#include "pairs/psd_steps.hpp"
#include "pairs/steps.hpp"

namespace {

constexpr int64_t kMinPacked = 4;  // from this many events on, packing the matrix pays

void require_events(const ConstMatrix& V, const ConstVector& sign, const Vector& losses,
                    const Vector& steps) {
    const int64_t n = extent(V);
    require(extent(sign) == n && extent(losses) == n && extent(steps) == n,
            "sign, losses and steps must have one value per event.");
}

likewise::StepRule rule_of(int variant, double C, double relaxation, double tolerance) {
    require(variant >= 0 && variant <= 3, "variant must be 0 to 3.");
    return {static_cast<likewise::Variant>(variant), C, relaxation, tolerance};
}

template <typename T>
double pair_differences(Array<const T, 2> X, Array<const int64_t, 2> pairs, double scale,
                        Matrix V) {
    const int64_t n = extent(pairs);
    require(extent(pairs, 1) == 2, "pairs must have two columns.");
    require(extent(V) == n && extent(V, 1) == extent(X, 1),
            "V must have one row per pair and one column per feature.");
    require_indices(pairs.data(), 2 * n, extent(X),
                    "Row numbers must lie within X, but some do not.");
    nb::gil_scoped_release unlocked;
    return likewise::pair_differences(X.data(), extent(X, 1), pairs.data(), n, scale, V.data());
}

void triangle_quadratics(ConstMatrix V, ConstMatrix half, ConstVector diagonal, Vector q) {
    require(same_shape(half, V), "half must have V's shape.");
    require(extent(diagonal) == extent(V, 1) && extent(q) == extent(V),
            "diagonal must have one value per feature, and q one per row.");
    nb::gil_scoped_release unlocked;
    likewise::triangle_quadratics(V.data(), half.data(), diagonal.data(), extent(V), extent(V, 1),
                                  q.data());
}

int64_t signed_rows(ConstMatrix V, ConstVector weights, Matrix out) {
    require(extent(weights) == extent(V), "weights must have one value per row.");
    require(same_shape(out, V), "out must have V's shape.");
    nb::gil_scoped_release unlocked;
    return likewise::signed_rows(V.data(), weights.data(), extent(V), extent(V, 1), out.data());
}

std::pair<int64_t, double> pair_steps(Matrix M, double b, ConstMatrix V, ConstVector sign,
                                      int variant, double C, double relaxation, double tolerance,
                                      int64_t max_updates, Vector losses, Vector steps) {
    require_events(V, sign, losses, steps);
    require_metric(M, V);
    const auto rule = rule_of(variant, C, relaxation, tolerance);
    nb::gil_scoped_release unlocked;
    const auto loop = extent(V) < kMinPacked ? likewise::few_pair_steps : likewise::pair_steps;
    const int64_t taken = loop(M.data(), extent(V, 1), b, V.data(), sign.data(), extent(V), rule,
                               max_updates, losses.data(), steps.data());
    return {taken, b};
}

std::tuple<double, double, double> pair_step(Matrix M, double b, ConstVector first,
                                             ConstVector second, double scale, double sign,
                                             int variant, double C, double relaxation,
                                             double tolerance) {
    const int64_t d = extent(first);
    require(extent(second) == d && extent(M) == d && extent(M, 1) == d,
            "M must be square with one row per feature of first and second.");
    const auto rule = rule_of(variant, C, relaxation, tolerance);
    double loss, step;
    likewise::pair_step(M.data(), d, b, first.data(), second.data(), scale, sign, rule, &loss,
                        &step);
    return {loss, step, b};
}

std::pair<int64_t, double> pair_block_steps(ConstMatrix V, ConstVector q, double b,
                                            ConstVector sign, int variant, double C,
                                            double relaxation, double tolerance,
                                            int64_t max_updates, Vector losses, Vector steps) {
    require_events(V, sign, losses, steps);
    require(extent(q) == extent(V), "q must have one value per event.");
    const auto rule = rule_of(variant, C, relaxation, tolerance);
    nb::gil_scoped_release unlocked;
    const int64_t taken =
        likewise::pair_block(V.data(), extent(V, 1), q.data(), sign.data(), extent(V), b, rule,
                             max_updates, losses.data(), steps.data());
    return {taken, b};
}

std::pair<int64_t, double> pair_gram_steps(ConstMatrix gram, Vector q, double b, ConstVector sign,
                                           int variant, double C, double relaxation,
                                           double tolerance, int64_t max_updates, Vector losses,
                                           Vector steps) {
    require_events(gram, sign, losses, steps);
    require(extent(gram) == extent(gram, 1) && extent(q) == extent(gram),
            "gram must be square, and q have one value per event.");
    const auto rule = rule_of(variant, C, relaxation, tolerance);
    nb::gil_scoped_release unlocked;
    const int64_t taken = likewise::pair_gram(gram.data(), q.data(), sign.data(), extent(gram), b,
                                              rule, max_updates, losses.data(), steps.data());
    return {taken, b};
}

double pair_psd_steps(Matrix M, double b, ConstMatrix V, ConstVector sign, int variant, double C,
                      double relaxation, double tolerance, Vector losses, Vector steps) {
    require_events(V, sign, losses, steps);
    require_metric(M, V);
    const auto rule = rule_of(variant, C, relaxation, tolerance);
    nb::gil_scoped_release unlocked;
    likewise::pair_psd_steps_small(M.data(), extent(V, 1), b, V.data(), sign.data(), extent(V),
                                   rule, losses.data(), steps.data());
    return b;
}

std::tuple<int64_t, int64_t, double> low_rank_psd_steps(ConstVector values, Matrix rows,
                                                        Vector weights, int64_t count, double b,
                                                        ConstMatrix V, ConstVector sign,
                                                        int variant, double C, double relaxation,
                                                        double tolerance, Vector losses,
                                                        Vector steps) {
    require_events(V, sign, losses, steps);
    require(extent(values) == extent(V, 1) && extent(rows, 1) == extent(V, 1),
            "values and rows must have one column per feature of V.");
    require(extent(weights) == extent(rows), "weights must have one value per row of rows.");
    require(count >= 0 && count <= extent(rows), "count must lie within rows.");
    const auto rule = rule_of(variant, C, relaxation, tolerance);
    likewise::LowRankMetric metric{extent(V, 1),  extent(rows), count,
                                   values.data(), rows.data(),  weights.data()};
    nb::gil_scoped_release unlocked;
    const int64_t taken = likewise::pair_psd_steps(metric, b, V.data(), sign.data(), extent(V),
                                                   rule, losses.data(), steps.data());
    return {taken, metric.count, b};
}

template <typename T>
void bind_differences(nb::module_& m) {
    m.def("pair_differences", &pair_differences<T>, array("X"), array("pairs"), "scale"_a,
          array("V"));
}

}  // namespace

void bind_pairs(nb::module_& m) {
    bind_differences<double>(m);
    bind_differences<float>(m);
    m.def("triangle_quadratics", &triangle_quadratics, array("V"), array("half"),
          array("diagonal"), array("q"));
    m.def("signed_rows", &signed_rows, array("V"), array("weights"), array("out"));
    m.def("pair_step", &pair_step, array("M"), "b"_a, array("first"), array("second"), "scale"_a,
          "sign"_a, "variant"_a, "C"_a, "relaxation"_a, "tolerance"_a);
    m.def("pair_steps", &pair_steps, array("M"), "b"_a, array("V"), array("sign"), "variant"_a,
          "C"_a, "relaxation"_a, "tolerance"_a, "max_updates"_a, array("losses"), array("steps"));
    m.def("pair_block_steps", &pair_block_steps, array("V"), array("q"), "b"_a, array("sign"),
          "variant"_a, "C"_a, "relaxation"_a, "tolerance"_a, "max_updates"_a, array("losses"),
          array("steps"));
    m.def("pair_gram_steps", &pair_gram_steps, array("gram"), array("q"), "b"_a, array("sign"),
          "variant"_a, "C"_a, "relaxation"_a, "tolerance"_a, "max_updates"_a, array("losses"),
          array("steps"));
    m.def("pair_psd_steps", &pair_psd_steps, array("M"), "b"_a, array("V"), array("sign"),
          "variant"_a, "C"_a, "relaxation"_a, "tolerance"_a, array("losses"), array("steps"));
    m.def("low_rank_psd_steps", &low_rank_psd_steps, array("values"), array("rows"),
          array("weights"), "count"_a, "b"_a, array("V"), array("sign"), "variant"_a, "C"_a,
          "relaxation"_a, "tolerance"_a, array("losses"), array("steps"));
}
