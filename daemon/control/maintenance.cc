#include "daemon/control/maintenance.h"

#include <map>
#include <string>

#include "base/text.h"
#include "proto/timestamps.h"

namespace fabric::control {

void UpdateMaintenance(State& state) {
  std::map<std::string, std::string> reasons;
  for (const v1::Silence& silence : state.findings.silences().all())  // By their ends
    if (silence.maintenance())
      reasons[silence.node()] = Format("until {}: {} ({})", ToString(silence.until()),
                                       silence.reason(), silence.author());
  state.fleet.SetMaintenance(reasons);
}

}  // namespace fabric::control
