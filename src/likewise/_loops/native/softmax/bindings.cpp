// Bindings of the softmax over distances.

#include "bindings.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "softmax/near_softmax.hpp"
#include "softmax/softmax.hpp"

namespace {

void require_anchors(int64_t m, int64_t n, const Indices& anchors, const Indices& class_start,
                     const Indices& class_stop, const Vector& log_sums,
                     const Vector& same_class_probability) {
    require(extent(anchors) == m && extent(class_start) == m && extent(class_stop) == m &&
                extent(log_sums) == m && extent(same_class_probability) == m,
            "anchors, class_start, class_stop, log_sums and same_class_probability must have one "
            "value per row.");
    for (int64_t r = 0; r < m; ++r) {
        const int64_t i = anchors.data()[r], start = class_start.data()[r],
                      stop = class_stop.data()[r];
        if (start < 0 || start > i || i >= stop || stop > n)
            throw nb::index_error("An anchor must lie in its class, and that in the columns.");
    }
}

void softmax_rows(Matrix products, ConstVector sqnorm, Indices anchors, Indices class_start,
                  Indices class_stop, bool probability_gradient, Vector log_sums,
                  Vector same_class_probability, Vector column_sums) {
    const int64_t m = extent(products), n = extent(products, 1);
    require(extent(sqnorm) == n && extent(column_sums) == n,
            "sqnorm and column_sums must have one value per column.");
    require_anchors(m, n, anchors, class_start, class_stop, log_sums, same_class_probability);
    const likewise::SoftmaxBlock block{products.data(),
                                       sqnorm.data(),
                                       anchors.data(),
                                       class_start.data(),
                                       class_stop.data(),
                                       m,
                                       n,
                                       probability_gradient,
                                       log_sums.data(),
                                       same_class_probability.data(),
                                       column_sums.data()};
    nb::gil_scoped_release unlocked;
    likewise::softmax_rows(block);
}

void near_softmax(Array<float, 2> approx_sqdist, double error_bound, ConstMatrix points,
                  ConstMatrix summands, Indices anchors, Indices class_start, Indices class_stop,
                  bool probability_gradient, Vector log_sums, Vector same_class_probability,
                  Vector column_sums, Matrix weighted_sums, std::optional<Matrix> anchor_sums) {
    const int64_t m = extent(approx_sqdist), n = extent(approx_sqdist, 1);
    require(extent(points) == n && extent(summands) == n && extent(column_sums) == n,
            "points, summands and column_sums must have one row per column of approx_sqdist.");
    require(extent(weighted_sums) == m && extent(weighted_sums, 1) == extent(summands, 1),
            "weighted_sums must have one row per row of approx_sqdist and one column per column of "
            "summands.");
    require(!anchor_sums || same_shape(*anchor_sums, points),
            "anchor_sums must have the shape of points.");
    require_anchors(m, n, anchors, class_start, class_stop, log_sums, same_class_probability);
    const likewise::NearBlock block{approx_sqdist.data(),
                                    error_bound,
                                    points.data(),
                                    extent(points, 1),
                                    summands.data(),
                                    extent(summands, 1),
                                    anchors.data(),
                                    class_start.data(),
                                    class_stop.data(),
                                    m,
                                    n,
                                    probability_gradient,
                                    log_sums.data(),
                                    same_class_probability.data(),
                                    column_sums.data(),
                                    weighted_sums.data(),
                                    anchor_sums ? anchor_sums->data() : nullptr};
    nb::gil_scoped_release unlocked;
    likewise::near_softmax(block);
}

}  // namespace

void bind_softmax(nb::module_& m) {
    m.def("softmax_rows", &softmax_rows, array("products"), array("sqnorm"), array("anchors"),
          array("class_start"), array("class_stop"), "probability_gradient"_a, array("log_sums"),
          array("same_class_probability"), array("column_sums"));
    m.def("near_softmax", &near_softmax, array("approx_sqdist"), "error_bound"_a, array("points"),
          array("summands"), array("anchors"), array("class_start"), array("class_stop"),
          "probability_gradient"_a, array("log_sums"), array("same_class_probability"),
          array("column_sums"), array("weighted_sums"), array("anchor_sums").none());
}
