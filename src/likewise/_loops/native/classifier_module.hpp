// The bindings of the online classifiers, added to the module by module.cpp.
#pragma once

#include <nanobind/nanobind.h>

void bind_classifiers(nanobind::module_& m);
