#include "agents/probe/probe.h"

namespace fabric::probe {

const ProbeKind* FindProbeKind(std::string_view name) {
  for (const ProbeKind* kind : AllProbeKinds())
    if (kind->name == name) return kind;
  return nullptr;
}

}  // namespace fabric::probe
