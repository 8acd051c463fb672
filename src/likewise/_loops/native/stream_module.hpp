// The bindings of the event-by-event loops, added to the module by module.cpp.
#pragma once

#include <nanobind/nanobind.h>

void bind_stream(nanobind::module_& m);
