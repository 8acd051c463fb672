// Bindings of the hinge losses of groups of pairs.

#include "bindings.hpp"
#include "hinges/group_hinges.hpp"

namespace {

// Where groups begin..end of n pairs begin: ascending, with one value more than there are groups.
void require_starts(const Indices& start, int64_t begin, int64_t end, int64_t n) {
    require_slice(begin, end, extent(start) - 1);
    for (int64_t g = begin; g < end; ++g)
        require_slice(start.data()[g], start.data()[g + 1], n);
}

void group_hinges(ConstVector near, Indices near_start, ConstVector far, Indices far_start,
                  ConstVector weights, double pull, double push, double margin, double smoothing,
                  int64_t begin, int64_t end, Vector value, Vector near_derivative,
                  Vector far_derivative) {
    require(extent(near_start) > 0,
            "near_start and far_start must have one value per group, plus one.");
    require(extent(near_start) == extent(far_start),
            "near_start and far_start must have the same length.");
    require_starts(near_start, begin, end, extent(near));
    require_starts(far_start, begin, end, extent(far));
    require(extent(weights) == extent(near_start) - 1, "weights must have one value per group.");
    require(extent(near_derivative) == extent(near),
            "near_derivative must have one value per near pair.");
    require(extent(far_derivative) == extent(far),
            "far_derivative must have one value per far pair.");
    require(extent(value) == extent(near_start) - 1, "value must have one value per group.");
    nb::gil_scoped_release unlocked;
    likewise::group_hinges(near.data(), near_start.data(), far.data(), far_start.data(),
                           weights.data(), pull, push, margin, smoothing, begin, end, value.data(),
                           near_derivative.data(), far_derivative.data());
}

}  // namespace

void bind_group_hinges(nb::module_& m) {
    m.def("group_hinges", &group_hinges, array("near"), array("near_start"), array("far"),
          array("far_start"), array("weights"), "pull"_a, "push"_a, "margin"_a, "smoothing"_a,
          "begin"_a, "end"_a, array("value"), array("near_derivative"), array("far_derivative"));
}
