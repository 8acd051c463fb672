// Bindings of the loops of batch learners: check lengths and ranges, release the GIL, call them.

#include "batch_module.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "bregman.hpp"
#include "energy.hpp"
#include "margin_sweep.hpp"
#include "near_softmax.hpp"
#include "softmax.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Screen = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Reals = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void require(bool holds, const char* otherwise) {
    if (!holds) throw std::invalid_argument(otherwise);
}

void require_range(const Indices& numbers, size_t end, const char* otherwise) {
    for (size_t k = 0; k < numbers.shape(0); ++k)
        if (numbers.data()[k] < 0 || numbers.data()[k] >= static_cast<int64_t>(end))
            throw nb::index_error(otherwise);
}

void require_anchors(size_t m, size_t n, const Indices& anchors, const Indices& own_start,
                     const Indices& own_stop, const Vector& log_sums, const Vector& own_shares) {
    require(anchors.shape(0) == m && own_start.shape(0) == m && own_stop.shape(0) == m &&
                log_sums.shape(0) == m && own_shares.shape(0) == m,
            "anchors, own_start, own_stop, log_sums and own_shares must have one value a row.");
    for (size_t r = 0; r < m; ++r) {
        const int64_t i = anchors.data()[r], start = own_start.data()[r], stop = own_stop.data()[r];
        if (start < 0 || start > i || i >= stop || stop > static_cast<int64_t>(n)) {
            throw nb::index_error("An anchor must lie in its class, and that in the columns.");
        }
    }
}

void softmax_rows(Matrix products, Reals sqnorm, Indices anchors, Indices own_start,
                  Indices own_stop, bool gains, Vector log_sums, Vector own_shares,
                  Vector columns) {
    const size_t m = products.shape(0), n = products.shape(1);
    require(sqnorm.shape(0) == n && columns.shape(0) == n,
            "sqnorm and columns must have one value a column.");
    require_anchors(m, n, anchors, own_start, own_stop, log_sums, own_shares);
    const likewise::SoftmaxBlock block{products.data(),
                                       sqnorm.data(),
                                       anchors.data(),
                                       own_start.data(),
                                       own_stop.data(),
                                       static_cast<int64_t>(m),
                                       static_cast<int64_t>(n),
                                       gains,
                                       log_sums.data(),
                                       own_shares.data(),
                                       columns.data()};
    nb::gil_scoped_release unlocked;
    likewise::softmax_rows(block);
}

void near_softmax(Screen screen, double slack, Rows points, Rows summed, Indices anchors,
                  Indices own_start, Indices own_stop, bool gains, Vector log_sums,
                  Vector own_shares, Vector columns, Matrix sums, std::optional<Matrix> returned) {
    const size_t m = screen.shape(0), n = screen.shape(1);
    require(points.shape(0) == n && summed.shape(0) == n && columns.shape(0) == n,
            "points, summed and columns must have one row a column of screen.");
    require(sums.shape(0) == m && sums.shape(1) == summed.shape(1),
            "sums must have a row a row of screen and a column a column of summed.");
    require(!returned || (returned->shape(0) == n && returned->shape(1) == points.shape(1)),
            "returned must have the shape of points.");
    require_anchors(m, n, anchors, own_start, own_stop, log_sums, own_shares);
    const likewise::NearBlock block{screen.data(),
                                    slack,
                                    points.data(),
                                    static_cast<int64_t>(points.shape(1)),
                                    summed.data(),
                                    static_cast<int64_t>(summed.shape(1)),
                                    anchors.data(),
                                    own_start.data(),
                                    own_stop.data(),
                                    static_cast<int64_t>(m),
                                    static_cast<int64_t>(n),
                                    gains,
                                    log_sums.data(),
                                    own_shares.data(),
                                    columns.data(),
                                    sums.data(),
                                    returned ? returned->data() : nullptr};
    nb::gil_scoped_release unlocked;
    likewise::near_softmax(block);
}

void bregman_sweep(Matrix M, Rows V, Reals sign, double share, double softness, Vector multipliers,
                   Vector reciprocals) {
    const size_t n = V.shape(0);
    require(M.shape(0) == M.shape(1) && M.shape(0) == V.shape(1),
            "M must be square with a row a feature of V.");
    require(sign.shape(0) == n && multipliers.shape(0) == n && reciprocals.shape(0) == n,
            "sign, multipliers and reciprocals must have one value a constraint.");
    const likewise::BregmanSweep sweep{M.data(),
                                       static_cast<int64_t>(V.shape(1)),
                                       V.data(),
                                       sign.data(),
                                       static_cast<int64_t>(n),
                                       share,
                                       softness,
                                       multipliers.data(),
                                       reciprocals.data()};
    nb::gil_scoped_release unlocked;
    likewise::bregman_sweep(sweep);
}

// The classes must cut the columns into ranges, and the radii fit into 32 bits with their buckets.
int64_t check_classes(Indices class_start, const Rows& distances, int64_t n_radii, Matrix out) {
    const size_t n_classes = out.shape(1);
    const int64_t* start = class_start.data();
    require(class_start.shape(0) == n_classes + 1 && out.shape(0) == distances.shape(0),
            "out must have a row a row of distances and a column a class.");
    require(start[0] == 0 && start[n_classes] == static_cast<int64_t>(distances.shape(1)) &&
                std::is_sorted(start, start + n_classes + 1),
            "class_start must rise from 0 to the number of columns.");
    require(n_radii <= 1 << 28, "There are too many radii.");
    return static_cast<int64_t>(n_classes);
}

void invader_hinges(Rows distances, Indices class_start, Cube radii, Matrix out) {
    const int64_t n_radii = static_cast<int64_t>(radii.shape(1) * radii.shape(2));
    const int64_t n_classes = check_classes(class_start, distances, n_radii, out);
    require(radii.shape(0) == distances.shape(0) && radii.shape(1) == out.shape(1) && n_radii > 0,
            "radii must have a row a row of distances, and some for each class.");
    nb::gil_scoped_release unlocked;
    likewise::invader_hinges(distances.data(), static_cast<int64_t>(distances.shape(0)),
                             static_cast<int64_t>(distances.shape(1)), class_start.data(),
                             n_classes, radii.data(), static_cast<int64_t>(radii.shape(2)),
                             out.data());
}

void invaded_hinges(Rows distances, Indices class_start, Rows radii, Matrix out) {
    const int64_t n_classes = check_classes(class_start, distances, 0, out);
    require(radii.shape(1) == distances.shape(1), "radii must have a column a column of distances.");
    nb::gil_scoped_release unlocked;
    likewise::invaded_hinges(distances.data(), static_cast<int64_t>(distances.shape(0)),
                             static_cast<int64_t>(distances.shape(1)), class_start.data(),
                             n_classes, radii.data(), static_cast<int64_t>(radii.shape(0)),
                             out.data());
}

double margin_sweep(Matrix M, Rows V, Indices plus, std::optional<Indices> minus, Reals sign,
                    Reals curvature, Vector multipliers, Vector slopes, Indices order, double b,
                    double top, double softness, double weight) {
    const size_t n = sign.shape(0);
    require(M.shape(0) == M.shape(1) && M.shape(0) == V.shape(1),
            "M must be square with a row a feature of V.");
    require(plus.shape(0) == n && (!minus || minus->shape(0) == n) && curvature.shape(0) == n &&
                multipliers.shape(0) == n && slopes.shape(0) == n,
            "plus, minus, curvature, multipliers and slopes must have one value a constraint.");
    require_range(plus, V.shape(0), "plus and minus must be row numbers of V.");
    if (minus) require_range(*minus, V.shape(0), "plus and minus must be row numbers of V.");
    require_range(order, n, "order must have numbers of constraints.");
    const likewise::MarginSweep sweep{M.data(),
                                      static_cast<int64_t>(V.shape(1)),
                                      V.data(),
                                      plus.data(),
                                      minus ? minus->data() : nullptr,
                                      sign.data(),
                                      curvature.data(),
                                      multipliers.data(),
                                      slopes.data(),
                                      order.data(),
                                      static_cast<int64_t>(order.shape(0)),
                                      top,
                                      softness,
                                      weight};
    nb::gil_scoped_release unlocked;
    return likewise::margin_sweep(sweep, b);
}

}  // namespace

void bind_batch(nb::module_& m) {
    m.def("softmax_rows", &softmax_rows, nb::arg("products").noconvert(),
          nb::arg("sqnorm").noconvert(), nb::arg("anchors").noconvert(),
          nb::arg("own_start").noconvert(), nb::arg("own_stop").noconvert(), "gains"_a,
          nb::arg("log_sums").noconvert(), nb::arg("own_shares").noconvert(),
          nb::arg("columns").noconvert());
    m.def("near_softmax", &near_softmax, nb::arg("screen").noconvert(), "slack"_a,
          nb::arg("points").noconvert(), nb::arg("summed").noconvert(),
          nb::arg("anchors").noconvert(), nb::arg("own_start").noconvert(),
          nb::arg("own_stop").noconvert(), "gains"_a, nb::arg("log_sums").noconvert(),
          nb::arg("own_shares").noconvert(), nb::arg("columns").noconvert(),
          nb::arg("sums").noconvert(), nb::arg("returned").noconvert().none());
    m.def("bregman_sweep", &bregman_sweep, nb::arg("M").noconvert(), nb::arg("V").noconvert(),
          nb::arg("sign").noconvert(), "share"_a, "softness"_a,
          nb::arg("multipliers").noconvert(), nb::arg("reciprocals").noconvert());
    m.def("invader_hinges", &invader_hinges, nb::arg("distances").noconvert(),
          nb::arg("class_start").noconvert(), nb::arg("radii").noconvert(),
          nb::arg("out").noconvert());
    m.def("invaded_hinges", &invaded_hinges, nb::arg("distances").noconvert(),
          nb::arg("class_start").noconvert(), nb::arg("radii").noconvert(),
          nb::arg("out").noconvert());
    m.def("margin_sweep", &margin_sweep, nb::arg("M").noconvert(), nb::arg("V").noconvert(),
          nb::arg("plus").noconvert(), nb::arg("minus").noconvert().none(),
          nb::arg("sign").noconvert(), nb::arg("curvature").noconvert(),
          nb::arg("multipliers").noconvert(), nb::arg("slopes").noconvert(),
          nb::arg("order").noconvert(), "b"_a, "top"_a, "softness"_a, "weight"_a);
}
