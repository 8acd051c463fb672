// Bindings of the passes over dual variables.

#include "bindings.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "sweeps/margin_sweep.hpp"

namespace {

double margin_sweep(Matrix M, ConstMatrix V, Indices far, std::optional<Indices> near,
                    ConstVector sign, ConstVector squared_norms, Vector multipliers,
                    Vector gradient, Indices order, double b, double upper_bound,
                    double curvature, double penalty) {
    const int64_t n = extent(sign);
    require_metric(M, V);
    require(extent(far) == n && (!near || extent(*near) == n) && extent(squared_norms) == n &&
                extent(multipliers) == n && extent(gradient) == n,
            "far, near, squared_norms, multipliers and gradient must have one value per "
            "constraint.");
    require_indices(far, extent(V), "far and near must be row numbers of V.");
    if (near) require_indices(*near, extent(V), "far and near must be row numbers of V.");
    require_indices(order, n, "order must hold numbers of constraints.");
    const likewise::MarginSweep sweep{M.data(),
                                      extent(V, 1),
                                      V.data(),
                                      far.data(),
                                      near ? near->data() : nullptr,
                                      sign.data(),
                                      squared_norms.data(),
                                      multipliers.data(),
                                      gradient.data(),
                                      order.data(),
                                      extent(order),
                                      upper_bound,
                                      curvature,
                                      penalty};
    nb::gil_scoped_release unlocked;
    return likewise::margin_sweep(sweep, b);
}

}  // namespace

void bind_sweeps(nb::module_& m) {
    m.def("margin_sweep", &margin_sweep, array("M"), array("V"), array("far"),
          array("near").none(), array("sign"), array("squared_norms"), array("multipliers"),
          array("gradient"), array("order"), "b"_a, "upper_bound"_a, "curvature"_a, "penalty"_a);
}
