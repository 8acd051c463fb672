// Bindings of the softmax over distances.

#include "bindings.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "softmax/near_softmax.hpp"
#include "softmax/softmax.hpp"

namespace {

void require_anchors(int64_t m, int64_t n, const Indices& anchors, const Indices& own_start,
                     const Indices& own_stop, const Vector& log_sums, const Vector& own_shares) {
    require(extent(anchors) == m && extent(own_start) == m && extent(own_stop) == m &&
                extent(log_sums) == m && extent(own_shares) == m,
            "anchors, own_start, own_stop, log_sums and own_shares must have one value per row.");
    for (int64_t r = 0; r < m; ++r) {
        const int64_t i = anchors.data()[r], start = own_start.data()[r], stop = own_stop.data()[r];
        if (start < 0 || start > i || i >= stop || stop > n)
            throw nb::index_error("An anchor must lie in its class, and that in the columns.");
    }
}

void softmax_rows(Matrix products, ConstVector sqnorm, Indices anchors, Indices own_start,
                  Indices own_stop, bool gains, Vector log_sums, Vector own_shares,
                  Vector columns) {
    const int64_t m = extent(products), n = extent(products, 1);
    require(extent(sqnorm) == n && extent(columns) == n,
            "sqnorm and columns must have one value per column.");
    require_anchors(m, n, anchors, own_start, own_stop, log_sums, own_shares);
    const likewise::SoftmaxBlock block{products.data(),
                                       sqnorm.data(),
                                       anchors.data(),
                                       own_start.data(),
                                       own_stop.data(),
                                       m,
                                       n,
                                       gains,
                                       log_sums.data(),
                                       own_shares.data(),
                                       columns.data()};
    nb::gil_scoped_release unlocked;
    likewise::softmax_rows(block);
}

void near_softmax(Array<float, 2> screen, double slack, ConstMatrix points, ConstMatrix summed,
                  Indices anchors, Indices own_start, Indices own_stop, bool gains,
                  Vector log_sums, Vector own_shares, Vector columns, Matrix sums,
                  std::optional<Matrix> returned) {
    const int64_t m = extent(screen), n = extent(screen, 1);
    require(extent(points) == n && extent(summed) == n && extent(columns) == n,
            "points, summed and columns must have one row per column of screen.");
    require(extent(sums) == m && extent(sums, 1) == extent(summed, 1),
            "sums must have one row per row of screen and one column per column of summed.");
    require(!returned || same_shape(*returned, points), "returned must have the shape of points.");
    require_anchors(m, n, anchors, own_start, own_stop, log_sums, own_shares);
    const likewise::NearBlock block{screen.data(),
                                    slack,
                                    points.data(),
                                    extent(points, 1),
                                    summed.data(),
                                    extent(summed, 1),
                                    anchors.data(),
                                    own_start.data(),
                                    own_stop.data(),
                                    m,
                                    n,
                                    gains,
                                    log_sums.data(),
                                    own_shares.data(),
                                    columns.data(),
                                    sums.data(),
                                    returned ? returned->data() : nullptr};
    nb::gil_scoped_release unlocked;
    likewise::near_softmax(block);
}

}  // namespace

void bind_softmax(nb::module_& m) {
    m.def("softmax_rows", &softmax_rows, array("products"), array("sqnorm"), array("anchors"),
          array("own_start"), array("own_stop"), "gains"_a, array("log_sums"),
          array("own_shares"), array("columns"));
    m.def("near_softmax", &near_softmax, array("screen"), "slack"_a, array("points"),
          array("summed"), array("anchors"), array("own_start"), array("own_stop"), "gains"_a,
          array("log_sums"), array("own_shares"), array("columns"), array("sums"),
          array("returned").none());
}
