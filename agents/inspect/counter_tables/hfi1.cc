#include "agents/inspect/counter_tables/counter_table.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kHfi1Drivers[] = {"hfi1"};

}  // namespace

// Port counters as InfiniBand names them; some hundred hardware counters with names of their own.
extern const CounterTable hfi1 = {
    .name = "hfi1",
    .title = "Omni-Path (hw/hfi1/verbs.c). Port counters as of InfiniBand",
    .drivers = kHfi1Drivers,
    .device_prefix = "hfi1_",
    .port_counters = true,
};

}  // namespace fabric::inspect
