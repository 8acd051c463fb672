// Bindings of the hinge losses of groups of pairs.

#include "bindings.hpp"
#include "hinges/group_hinges.hpp"

namespace {

// Where the groups of n pairs begin: ascending, with one value more than there are groups.
void require_starts(const Indices& start, int64_t n) {
    require(extent(start) > 0,
            "near_start and far_start must have one value per group, plus one.");
    for (int64_t g = 0; g + 1 < extent(start); ++g)
        require_slice(start.data()[g], start.data()[g + 1], n);
}

void group_hinges(ConstVector near, Indices near_start, ConstVector far, Indices far_start,
                  double margin, double smoothing, int64_t begin, int64_t end, Vector value,
                  Vector near_derivative, Vector far_derivative) {
    require_starts(near_start, extent(near));
    require_starts(far_start, extent(far));
    require(extent(near_start) == extent(far_start),
            "near_start and far_start must have the same length.");
    require(extent(near_derivative) == extent(near),
            "near_derivative must have one value per near pair.");
    require(extent(far_derivative) == extent(far),
            "far_derivative must have one value per far pair.");
    require(extent(value) == extent(near_start) - 1, "value must have one value per group.");
    require_slice(begin, end, extent(value));
    nb::gil_scoped_release unlocked;
    likewise::group_hinges(near.data(), near_start.data(), far.data(), far_start.data(), margin,
                           smoothing, begin, end, value.data(), near_derivative.data(),
                           far_derivative.data());
}

}  // namespace

void bind_group_hinges(nb::module_& m) {
    m.def("group_hinges", &group_hinges, array("near"), array("near_start"), array("far"),
          array("far_start"), "margin"_a, "smoothing"_a, "begin"_a, "end"_a, array("value"),
          array("near_derivative"), array("far_derivative"));
}
