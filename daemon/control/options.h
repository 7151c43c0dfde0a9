// Options of the controller and of its parts.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ed25519.h"
#include "daemon/control/actions/action_options.h"
#include "daemon/control/background.h"
#include "daemon/control/findings/lifecycle.h"
#include "daemon/control/turns.h"
#include "daemon/fleet/sites.h"
#include "daemon/profile/profile.h"
#include "daemon/rules/rule.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::control {

// Rules that operators wrote.
struct CustomRules {
  std::vector<rules::NodeRule> rules = {};
  std::vector<v1::RuleInfo> infos = {};  // One for each rule
  std::uint32_t problems = 0;            // In the rule files
};

// What Controller::SetPolicy replaces.
struct Policy {
  profile::Profile profile = {};
  profile::Places places = {};
  CustomRules custom_rules = {};
};

struct CertificateOptions {
  std::optional<SigningKey> key = {};  // Required to issue certificates
  Duration lifetime = std::chrono::minutes(15);
  std::string issuer = "fabricd";
  // Called with each issued certificate, under the controller's lock. Must not block.
  std::function<void(const v1::Certificate&)> on_issued = {};
};

struct MeshSettings {
  bool on = false;
  std::uint32_t paths = 16;              // Equal-cost paths between two leaves
  std::uint32_t pings_per_second = 100;  // Per node
};

struct ControllerOptions {
  Duration heartbeat_interval = std::chrono::seconds(1);
  Duration lost_after = std::chrono::seconds(3);  // Without a message from the agent
  std::uint32_t pairs_at_once_max = 64;           // Over all campaigns
  profile::Profile profile = {};                  // Expectations of the fabric
  fleet::Sites sites = {};                        // Locations of ports
  LifecycleOptions lifecycle = {};                // Of findings
  // Older settings are not judged. Agents report them at least once a minute.
  Duration settings_age_max = std::chrono::minutes(5);
  // Lost nodes are removed after this time; 0: never. It counts from the start of fabricd at least.
  Duration node_expiry = {};
  CustomRules custom_rules = {};
  CertificateOptions certificates = {};
  MeshSettings mesh = {};
  ActionOptions actions = {};
  Duration subnet_interval = {};  // Between readings of InfiniBand subnets by agents; 0: none
  std::uint64_t nodes_max = 0;    // 0: the bound "nodes"
  // Called after each turn longer than TurnRecorder::kLong, from any thread, without locks.
  std::function<void(const LongTurn&)> on_long_turn = {};
  // Judges the results of large campaigns. nullptr: within a turn. Outlives the controller.
  Background* background = nullptr;
  const Clock* turn_clock = nullptr;  // Measures turns; nullptr: the system's
};

}  // namespace fabric::control
