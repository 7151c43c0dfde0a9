// The listeners of a controller that leads, or is the only one.
#pragma once

#include <signal.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/settings.h"
#include "base/status.h"
#include "daemon/api/agent_front.h"
#include "daemon/control/controller.h"
#include "daemon/control/events.h"
#include "daemon/files/addresses_file.h"
#include "daemon/files/subnet_files.h"
#include "daemon/leadership.h"
#include "daemon/notify/notifier.h"
#include "daemon/operator_log.h"
#include "daemon/signing_keys.h"
#include "daemon/site_access.h"
#include "daemon/transport.h"

namespace fabric {

// What the listeners use.
struct Served {
  const Clock& clock;
  WallTime started;  // This process
  Transport& transport;
  const Leadership* leadership;  // Null: there is one controller
  SiteAccess& site;
  SigningKeys& keys;
  OperatorLog& operator_log;
  control::EventBus& events;
  api::AgentFront& agents;
  control::Controller& controller;
  SubnetFiles& subnets;
  notify::Notifier& notifier;
  std::function<Result<std::vector<notify::Receiver>>(const Settings&)> receivers_of;
  const std::vector<std::string>& arguments;           // Of the command line
  std::function<void(std::string_view state)> notify;  // Of systemd
};

// Serves until a signal ends the program, which it returns, or another controller leads (0).
Result<int> ServeFronts(const Settings& settings, const Served& with,
                        const sigset_t& ending_signals);

// At start-up: passes the subnets to the controller and logs their errors.
void ReadSubnets(SubnetFiles& subnets, control::Controller& controller, Moment now);

// On standard output and in the addresses file.
Status ShowAddresses(const Settings& settings, std::string_view scheme, const Addresses& addresses);

}  // namespace fabric
