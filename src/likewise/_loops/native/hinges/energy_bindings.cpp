// Bindings of the hinge losses in the energy of a labelling.

#include "bindings.hpp"

#include <algorithm>

#include "hinges/energy_hinges.hpp"

namespace {

// The classes must cut the columns into ranges, and the radii fit into 32 bits with their buckets.
int64_t check_classes(const Indices& class_start, const ConstMatrix& distances, int64_t n_radii,
                      const Matrix& out) {
    const int64_t n_classes = extent(out, 1);
    const int64_t* start = class_start.data();
    require(extent(class_start) == n_classes + 1 && extent(out) == extent(distances),
            "out must have one row per row of distances and one column per class.");
    require(start[0] == 0 && start[n_classes] == extent(distances, 1) &&
                std::is_sorted(start, start + n_classes + 1),
            "class_start must rise from 0 to the number of columns.");
    require(n_radii <= 1 << 28, "There are too many radii.");
    return n_classes;
}

void invader_hinges(ConstMatrix distances, Indices class_start, Array<const double, 3> radii,
                    Matrix out) {
    const int64_t n_radii = extent(radii, 1) * extent(radii, 2);
    const int64_t n_classes = check_classes(class_start, distances, n_radii, out);
    require(extent(radii) == extent(distances) && extent(radii, 1) == n_classes && n_radii > 0,
            "radii must have one row per row of distances, and at least one radius per class.");
    nb::gil_scoped_release unlocked;
    likewise::invader_hinges(distances.data(), extent(distances), extent(distances, 1),
                             class_start.data(), n_classes, radii.data(), extent(radii, 2),
                             out.data());
}

void invaded_hinges(ConstMatrix distances, Indices class_start, ConstMatrix radii, Matrix out) {
    const int64_t n_classes = check_classes(class_start, distances, 0, out);
    require(extent(radii, 1) == extent(distances, 1),
            "radii must have one column per column of distances.");
    nb::gil_scoped_release unlocked;
    likewise::invaded_hinges(distances.data(), extent(distances), extent(distances, 1),
                             class_start.data(), n_classes, radii.data(), extent(radii),
                             out.data());
}

}  // namespace

void bind_energy_hinges(nb::module_& m) {
    m.def("invader_hinges", &invader_hinges, array("distances"), array("class_start"),
          array("radii"), array("out"));
    m.def("invaded_hinges", &invaded_hinges, array("distances"), array("class_start"),
          array("radii"), array("out"));
}
