#include "agents/inspect/counter_tables/counter_table.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kCxgb4Drivers[] = {"cxgb4", "iw_cxgb4"};

constexpr CounterRow kCxgb4Rows[] = {
    {kHw, "ip4InSegs", "", "", "packets"},      {kHw, "ip4OutSegs", "", "", "packets"},
    {kHw, "ip6InSegs", "", "", "packets"},      {kHw, "ip6OutSegs", "", "", "packets"},
    {kHw, "ip4OutRsts", "", "", "packets"},     {kHw, "ip6OutRsts", "", "", "packets"},
    {kHw, "ip4RetransSegs", "", "", "packets"}, {kHw, "ip6RetransSegs", "", "", "packets"},
};

constexpr CounterSum kCxgb4Sums[] = {
    {kHw, "ip4RetransSegs", "ip6RetransSegs", "tcp_retransmitted_segments"},
};

}  // namespace

extern const CounterTable cxgb4 = {
    .name = "cxgb4",
    .title = "Chelsio T4 and later, iWARP (hw/cxgb4/provider.c). Segments of the whole card",
    .drivers = kCxgb4Drivers,
    .device_prefix = "cxgb4_",
    .rows = kCxgb4Rows,
    .sums = kCxgb4Sums,
};

}  // namespace fabric::inspect
