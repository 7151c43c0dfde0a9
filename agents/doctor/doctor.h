// Doctor of the agent: which features work with the permissions of this process, and which
// permission the others lack.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agents/host/host.h"
#include "agents/host/privileges.h"

namespace fabric::doctor {

enum class State {
  kWorks,
  kMissing,    // A permission is missing; `grant` gives it.
  kNotNeeded,  // This machine has nothing to read for the feature.
  kFails,      // Another reason than a permission
};

// How to give a permission to the agent.
struct Grant {
  std::string_view permission;  // "CAP_NET_ADMIN"
  std::string_view systemd;  // Lines of a drop-in of fabric-agent.service, or the shipped drop-in
  std::string_view kubernetes;  // Field of the pod or its securityContext
  // CAP_* that alone gives it; -1: none. A process that has it and is denied fails for another
  // reason.
  int capability = -1;
};

struct Feature {
  std::string_view name;
  std::string_view use;  // What the agent does with it
  State state = State::kNotNeeded;
  std::string reason;            // Of the kernel, or why it is not needed
  const Grant* grant = nullptr;  // With kMissing
};

// One call of the kernel for each feature, on one device each. A blocked driver blocks the caller.
std::vector<Feature> Examine(const host::Host& host, const host::Privileges& privileges);

// Table with the grants below it.
std::string Text(const std::vector<Feature>& features, const host::Privileges& privileges);
std::string Json(const std::vector<Feature>& features);
// One line for each missing permission, for a log.
std::vector<std::string> LogLines(const std::vector<Feature>& features);
// 1 when a permission is missing or a feature fails.
int ExitStatus(const std::vector<Feature>& features);

}  // namespace fabric::doctor
