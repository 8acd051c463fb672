// The bindings of the loops of batch learners, added to the module by module.cpp.
#pragma once

#include <nanobind/nanobind.h>

void bind_batch(nanobind::module_& m);
