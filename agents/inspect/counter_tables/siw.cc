#include "agents/inspect/counter_tables/counter_table.h"

namespace fabric::inspect {
namespace {

constexpr std::string_view kSiwDrivers[] = {"siw"};

}  // namespace

extern const CounterTable siw = {
    .name = "siw",
    .title = "Soft iWARP (sw/siw). Nothing is counted",
    .drivers = kSiwDrivers,
    .device_prefix = "siw",
    .hw_counters = false,
};

}  // namespace fabric::inspect
