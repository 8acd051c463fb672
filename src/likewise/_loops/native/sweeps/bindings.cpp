// Bindings of the passes over dual variables.

#include "bindings.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "sweeps/bregman_sweep.hpp"
#include "sweeps/margin_sweep.hpp"

namespace {

void bregman_sweep(Matrix M, ConstMatrix V, ConstVector sign, double share, double softness,
                   Vector multipliers, Vector reciprocals) {
    const int64_t n = extent(V);
    require_metric(M, V);
    require(extent(sign) == n && extent(multipliers) == n && extent(reciprocals) == n,
            "sign, multipliers and reciprocals must have one value per constraint.");
    const likewise::BregmanSweep sweep{M.data(), extent(V, 1), V.data(),
                                       sign.data(), n, share,
                                       softness, multipliers.data(), reciprocals.data()};
    nb::gil_scoped_release unlocked;
    likewise::bregman_sweep(sweep);
}

double margin_sweep(Matrix M, ConstMatrix V, Indices plus, std::optional<Indices> minus,
                    ConstVector sign, ConstVector curvature, Vector multipliers, Vector slopes,
                    Indices order, double b, double top, double softness, double weight) {
    const int64_t n = extent(sign);
    require_metric(M, V);
    require(extent(plus) == n && (!minus || extent(*minus) == n) && extent(curvature) == n &&
                extent(multipliers) == n && extent(slopes) == n,
            "plus, minus, curvature, multipliers and slopes must have one value per constraint.");
    require_indices(plus, extent(V), "plus and minus must be row numbers of V.");
    if (minus) require_indices(*minus, extent(V), "plus and minus must be row numbers of V.");
    require_indices(order, n, "order must hold numbers of constraints.");
    const likewise::MarginSweep sweep{M.data(),
                                      extent(V, 1),
                                      V.data(),
                                      plus.data(),
                                      minus ? minus->data() : nullptr,
                                      sign.data(),
                                      curvature.data(),
                                      multipliers.data(),
                                      slopes.data(),
                                      order.data(),
                                      extent(order),
                                      top,
                                      softness,
                                      weight};
    nb::gil_scoped_release unlocked;
    return likewise::margin_sweep(sweep, b);
}

}  // namespace

void bind_sweeps(nb::module_& m) {
    m.def("bregman_sweep", &bregman_sweep, array("M"), array("V"), array("sign"), "share"_a,
          "softness"_a, array("multipliers"), array("reciprocals"));
    m.def("margin_sweep", &margin_sweep, array("M"), array("V"), array("plus"),
          array("minus").none(), array("sign"), array("curvature"), array("multipliers"),
          array("slopes"), array("order"), "b"_a, "top"_a, "softness"_a, "weight"_a);
}
