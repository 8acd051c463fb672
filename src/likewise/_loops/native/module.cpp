// The extension module: each family binds its own loops.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "instructions.hpp"

namespace nb = nanobind;
using namespace nb::literals;

void bind_distances(nb::module_& m);
void bind_group_hinges(nb::module_& m);
void bind_energy_hinges(nb::module_& m);
void bind_softmax(nb::module_& m);
void bind_sweeps(nb::module_& m);
void bind_pairs(nb::module_& m);
void bind_classifiers(nb::module_& m);

NB_MODULE(_native, m) {
    // What a process still holds when it ends, such as rows and pairs in the memory of a worker of
    // Dask, is no leak.
    nb::set_leak_warnings(false);
    m.def("choose_instructions", &likewise::choose_instructions, "instructions"_a);
    bind_distances(m);
    bind_group_hinges(m);
    bind_energy_hinges(m);
    bind_softmax(m);
    bind_sweeps(m);
    bind_pairs(m);
    bind_classifiers(m);
}
