// Bindings of the hinge losses in the energy of a labelling.

#include "bindings.hpp"

#include <algorithm>

#include "hinges/energy_hinges.hpp"

namespace {

// Classes must partition the columns, and the numbers of radii and of their buckets fit in 32 bits.
int64_t check_classes(const Indices& class_start, const ConstMatrix& sqdist, int64_t n_radii,
                      const Matrix& out) {
    const int64_t n_classes = extent(out, 1);
    const int64_t* start = class_start.data();
    require(extent(class_start) == n_classes + 1 && extent(out) == extent(sqdist),
            "out must have one row per row of sqdist and one column per class.");
    require(start[0] == 0 && start[n_classes] == extent(sqdist, 1) &&
                std::is_sorted(start, start + n_classes + 1),
            "class_start must rise from 0 to the number of columns.");
    require(n_radii <= 1 << 28, "sqradii must have at most 2^28 values per point.");
    return n_classes;
}

void anchor_hinges(ConstMatrix sqdist, Indices class_start, Array<const double, 3> sqradii,
                    Matrix out) {
    const int64_t n_radii = extent(sqradii, 1) * extent(sqradii, 2);
    const int64_t n_classes = check_classes(class_start, sqdist, n_radii, out);
    require(extent(sqradii) == extent(sqdist) && extent(sqradii, 1) == n_classes && n_radii > 0,
            "sqradii must have one row per row of sqdist, and at least one radius per class.");
    nb::gil_scoped_release unlocked;
    likewise::anchor_hinges(sqdist.data(), extent(sqdist), extent(sqdist, 1),
                             class_start.data(), n_classes, sqradii.data(), extent(sqradii, 2),
                             out.data());
}

void impostor_hinges(ConstMatrix sqdist, Indices class_start, ConstMatrix sqradii, Matrix out) {
    const int64_t n_classes = check_classes(class_start, sqdist, 0, out);
    require(extent(sqradii, 1) == extent(sqdist, 1),
            "sqradii must have one column per column of sqdist.");
    nb::gil_scoped_release unlocked;
    likewise::impostor_hinges(sqdist.data(), extent(sqdist), extent(sqdist, 1),
                             class_start.data(), n_classes, sqradii.data(), extent(sqradii),
                             out.data());
}

}  // namespace

void bind_energy_hinges(nb::module_& m) {
    m.def("anchor_hinges", &anchor_hinges, array("sqdist"), array("class_start"),
          array("sqradii"), array("out"));
    m.def("impostor_hinges", &impostor_hinges, array("sqdist"), array("class_start"),
          array("sqradii"), array("out"));
}
