// Bindings of the loops over distances.

#include "bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <string>
#include <vector>

#include "distances/kd_order.hpp"
#include "distances/laplacian.hpp"
#include "distances/packed_rows.hpp"
#include "distances/radius.hpp"
#include "distances/smallest.hpp"
#include "distances/sqdist.hpp"

NB_MAKE_OPAQUE(likewise::Found)

namespace {

constexpr const char* kRowsWithin = "Row numbers must lie within the array, but some do not.";

void require_int32(int64_t n, const char* otherwise = "Z must have fewer than 2^31 rows.") {
    require(n <= std::numeric_limits<int32_t>::max(), otherwise);
}

// Packed rows, with the arrays that they point into.
template <typename T>
struct HeldRows {
    Array<const T, 2> Z;
    Indices order, group;
    ConstVector radius2, centre;
    std::string instructions;
    likewise::PackedRows<T> rows;

    HeldRows(Array<const T, 2> Z_, Indices order_, Indices group_, ConstVector radius2_,
             ConstVector centre_, double scale, bool panelled, const std::vector<int64_t>& stops,
             const std::string& instructions_)
        : Z(checked(Z_, order_, group_, radius2_, centre_, panelled, stops)), order(order_),
          group(group_), radius2(radius2_), centre(centre_), instructions(instructions_),
          rows(Z.data(), extent(Z), extent(Z, 1), order.data(), group.data(), radius2.data(),
               centre.data(), scale, panelled, stops, instructions) {}

    static Array<const T, 2> checked(const Array<const T, 2>& Z, const Indices& order,
                                     const Indices& group, const ConstVector& radius2,
                                     const ConstVector& centre, bool panelled,
                                     const std::vector<int64_t>& stops) {
        const int64_t n = extent(Z);
        require(stops.size() <= likewise::kStops && (panelled || stops.empty()),
                "stops must be few, and empty without panels.");
        for (size_t s = 0; s < stops.size(); ++s)
            require(stops[s] > (s == 0 ? 0 : stops[s - 1]) && stops[s] < extent(Z, 1),
                    "stops must ascend between 0 and the columns of Z.");
        require(extent(order) == n && extent(group) == n && extent(radius2) == n,
                "order, group and radius2 must have one value per row of Z.");
        require(extent(centre) == extent(Z, 1), "centre must have one value per column of Z.");
        require_int32(n);
        require_indices(order, n, kRowsWithin);
        return Z;
    }
};

template <typename T>
void bind_rows_of_scan(nb::module_& m, const char* name) {
    using Rows = HeldRows<T>;
    nb::class_<Rows>(m, name)
        .def(nb::init<Array<const T, 2>, Indices, Indices, ConstVector, ConstVector, double, bool,
                      const std::vector<int64_t>&, const std::string&>(),
             array("Z"), array("order"), array("group"), array("radius2"), array("centre"),
             "scale"_a, "panelled"_a, "stops"_a, "instructions"_a)
        .def_prop_ro("panels", [](const Rows& s) { return s.rows.panels; })
        .def_prop_ro("panelled", [](const Rows& s) { return s.rows.panelled; })
        .def("rows",
             [](Rows& s) {
                 return nb::ndarray<nb::numpy, float, nb::ndim<2>>(
                     s.rows.rows.get(), {s.Z.shape(0), s.Z.shape(1)}, nb::find(s));
             })
        .def("pack",
             [](Rows& s, int64_t begin, int64_t end) {
                 require_slice(begin, end, s.rows.panels);
                 require(!s.rows.screened, "rows that are screened must be rotated.");
                 nb::gil_scoped_release unlocked;
                 s.rows.pack(begin, end, nullptr);
             },
             "begin"_a, "end"_a)
        .def("pack_rotated",
             [](Rows& s, int64_t begin, int64_t end, ConstMatrix rotated) {
                 require_slice(begin, end, s.rows.panels);
                 const int64_t last = std::min(end * likewise::kPanel, extent(s.Z));
                 require(extent(rotated) == last - begin * likewise::kPanel &&
                             extent(rotated, 1) == extent(s.Z, 1),
                         "rotated must have the rows of the panels.");
                 nb::gil_scoped_release unlocked;
                 s.rows.pack(begin, end, rotated.data());
             },
             "begin"_a, "end"_a, array("rotated"));
}

template <typename T>
likewise::RadiusScan<T>* make_scan(const HeldRows<T>& first, const HeldRows<T>& second,
                                   bool same_class, int64_t limit) {
    const auto &one = first.rows, &two = second.rows;
    require(one.d == two.d && one.panelled == two.panelled && one.screened == two.screened &&
                one.stops == two.stops && first.instructions == second.instructions,
            "both sets of rows must be packed alike.");
    return new likewise::RadiusScan<T>(one, two, same_class, limit, first.instructions);
}

template <typename T>
void bind_scan(nb::module_& m, const char* name) {
    using Scan = likewise::RadiusScan<T>;
    nb::class_<Scan>(m, name)
        .def(nb::new_(&make_scan<T>), "first"_a, "second"_a, "same_class"_a, "limit"_a,
             nb::keep_alive<0, 2>(),
             nb::keep_alive<0, 3>())  // 1 is the class
        .def_prop_ro("found", &Scan::found)
        .def_prop_ro("dropped", &Scan::dropped)
        .def("first_column_panel",
             [](const Scan& s, int64_t panel) {
                 require_slice(panel, panel + 1, s.first().panels);
                 return s.first_column_panel(panel);
             },
             "panel"_a)
        .def("scan_tiles",
             [](Scan& s, int64_t begin, int64_t end, likewise::Found& found,
                likewise::Found& reverse) {
                 require_slice(begin, end, s.first().panels);
                 require(s.first().panelled, "rows must be in panels.");
                 nb::gil_scoped_release unlocked;
                 s.scan_tiles(begin, end, found, reverse);
             },
             "begin"_a, "end"_a, "found"_a, "reverse"_a)
        .def("scan_products",
             [](Scan& s, Array<const float, 2> products, int64_t row, int64_t column,
                likewise::Found& found, likewise::Found& reverse) {
                 require_slice(row, row + extent(products), s.first().n);
                 require_slice(column, column + extent(products, 1), s.second().n);
                 require(column % likewise::kPanel == 0, "column must begin a panel.");
                 nb::gil_scoped_release unlocked;
                 s.scan_products(products.data(), row, extent(products), column,
                                 extent(products, 1), found, reverse);
             },
             array("products"), "row"_a, "column"_a, "found"_a, "reverse"_a);
}

void gather_found(std::vector<likewise::Found*> blocks, Array<int64_t, 1> start,
                  Array<int64_t, 1> rows, Array<int64_t, 1> cols, Vector sqdist) {
    const int64_t n = extent(start) - 1;
    int64_t m = 0;
    for (const auto* block : blocks) {
        m += static_cast<int64_t>(block->size());
        for (const likewise::Pair& pair : *block)
            if (pair.row >= n)
                throw nb::index_error("start must have one value per row, plus one.");
    }
    require(extent(rows) == m && extent(cols) == m && extent(sqdist) == m,
            "rows, cols and sqdist must have one value per pair found.");
    nb::gil_scoped_release unlocked;
    likewise::gather_found(blocks, n, start.data(), rows.data(), cols.data(), sqdist.data());
}

void sort_found(Indices start, int64_t begin, int64_t end, Array<int64_t, 1> cols, Vector sqdist) {
    require_slice(begin, end, extent(start) - 1);
    require(extent(cols) == extent(sqdist), "cols and sqdist must have the same length.");
    for (int64_t i = begin; i < end; ++i)
        require_slice(start.data()[i], start.data()[i + 1], extent(cols));
    nb::gil_scoped_release unlocked;
    likewise::sort_found(start.data(), begin, end, cols.data(), sqdist.data());
}

void smallest_of_groups(ConstVector values, Indices start, int64_t begin, int64_t end,
                        Array<int64_t, 2> out) {
    require_slice(begin, end, extent(start) - 1);
    require(extent(out) == extent(start) - 1, "out must have one row per group.");
    for (int64_t g = begin; g < end; ++g)
        require_slice(start.data()[g], start.data()[g + 1], extent(values));
    nb::gil_scoped_release unlocked;
    likewise::smallest_of_groups(values.data(), start.data(), begin, end, extent(out, 1),
                                 out.data());
}

void kd_order(Array<const float, 2> points, Array<int64_t, 1> order, int64_t begin, int64_t end) {
    require_slice(begin, end, extent(order));
    for (int64_t i = begin; i < end; ++i)
        if (order.data()[i] < 0 || order.data()[i] >= extent(points))
            throw nb::index_error(kRowsWithin);
    nb::gil_scoped_release unlocked;
    likewise::kd_order(points.data(), extent(points, 1), order.data(), begin, end);
}

likewise::Incidence* make_incidence(Indices rows, Indices cols, int64_t n) {
    require(extent(rows) == extent(cols), "rows and cols must have the same length.");
    require_int32(n);
    require_int32(extent(rows), "There must be fewer than 2^31 pairs.");
    require_indices(rows, n, kRowsWithin);
    require_indices(cols, n, kRowsWithin);
    nb::gil_scoped_release unlocked;
    return new likewise::Incidence(rows.data(), cols.data(), extent(rows), n);
}

template <typename T>
void laplacian_rows(Array<const T, 2> Z, const std::vector<const likewise::Incidence*>& lists,
                    const std::vector<ConstVector>& weights, int64_t begin, int64_t end,
                    Array<T, 2> out) {
    require_slice(begin, end, extent(Z));
    require(lists.size() == weights.size(), "every list of pairs must have weights.");
    std::vector<const double*> values;
    for (size_t l = 0; l < lists.size(); ++l) {
        require(lists[l] && static_cast<int64_t>(lists[l]->start.size()) == extent(Z) + 1,
                "pairs must index the rows of Z.");
        require(extent(weights[l]) == lists[l]->n_pairs, "weights must have one value per pair.");
        values.push_back(weights[l].data());
    }
    require(extent(out) == end - begin && extent(out, 1) == extent(Z, 1),
            "out must have one row per row of the slice.");
    nb::gil_scoped_release unlocked;
    std::vector<double> sum(extent(Z, 1));
    const likewise::Adjacency pairs(lists, values, begin, end);
    likewise::laplacian_rows(Z.data(), extent(Z, 1), pairs, begin, sum.data(), out.data());
}

template <typename T>
void pair_sqdist(Array<const T, 2> Z, Array<const T, 2> points, Indices rows, Indices cols,
                 Vector out) {
    require(extent(Z, 1) == extent(points, 1), "Z and points must have the same features.");
    require(extent(rows) == extent(cols), "rows and cols must have the same length.");
    require(extent(out) == extent(rows), "out must have one value per pair.");
    require_indices(rows, extent(Z), kRowsWithin);
    require_indices(cols, extent(points), kRowsWithin);
    nb::gil_scoped_release unlocked;
    likewise::pair_sqdist(Z.data(), points.data(), extent(Z, 1), rows.data(), cols.data(),
                          extent(rows), out.data());
}

template <typename T>
void bind_rows(nb::module_& m) {
    m.def("laplacian_rows", &laplacian_rows<T>, array("Z"), "lists"_a, array("weights"), "begin"_a,
          "end"_a, array("out"));
    m.def("pair_sqdist", &pair_sqdist<T>, array("Z"), array("points"), array("rows"),
          array("cols"), array("out"));
}

}  // namespace

void bind_distances(nb::module_& m) {
    m.attr("PANEL") = likewise::kPanel;
    m.def("instruction_sets", &likewise::instruction_sets);
    nb::class_<likewise::Found>(m, "Found")
        .def(nb::init<>())
        .def("__len__", [](const likewise::Found& found) { return found.size(); });
    bind_rows_of_scan<float>(m, "PackedRowsFloat32");
    bind_rows_of_scan<double>(m, "PackedRowsFloat64");
    bind_scan<float>(m, "RadiusScanFloat32");
    bind_scan<double>(m, "RadiusScanFloat64");
    m.def("gather_found", &gather_found, "blocks"_a, array("start"), array("rows"), array("cols"),
          array("sqdist"));
    m.def("sort_found", &sort_found, array("start"), "begin"_a, "end"_a, array("cols"),
          array("sqdist"));
    m.def("smallest_of_groups", &smallest_of_groups, array("values"), array("start"), "begin"_a,
          "end"_a, array("out"));
    m.def("kd_order", &kd_order, array("points"), array("order"), "begin"_a, "end"_a);
    nb::class_<likewise::Incidence>(m, "Incidence")
        .def(nb::new_(&make_incidence), array("rows"), array("cols"), "n"_a)
        .def_ro("n_pairs", &likewise::Incidence::n_pairs);
    bind_rows<float>(m);
    bind_rows<double>(m);
}
