// State of the controller: all parts, connected to each other. Guarded by the controller's lock.
#pragma once

#include <vector>

#include "base/clock.h"
#include "daemon/control/actions/node_actions.h"
#include "daemon/control/campaigns/campaigns.h"
#include "daemon/control/certificates/certificates.h"
#include "daemon/control/evaluator.h"
#include "daemon/control/events.h"
#include "daemon/control/findings/finding_registry.h"
#include "daemon/control/live_numbers.h"
#include "daemon/control/mesh/mesh.h"
#include "daemon/control/node_history.h"
#include "daemon/control/node_labels.h"
#include "daemon/control/options.h"
#include "daemon/control/outbox.h"
#include "daemon/control/probing/job_classes.h"
#include "daemon/control/probing/located_faults.h"
#include "daemon/control/schedules/rechecks.h"
#include "daemon/control/schedules/schedules.h"
#include "daemon/control/sessions.h"
#include "daemon/control/subnets/subnet_histories.h"
#include "daemon/control/subnets/subnet_leases.h"
#include "daemon/fleet/fleet.h"
#include "daemon/fleet/sites.h"
#include "daemon/store/store.h"
#include "subnet/wire/snapshot_outline.h"

namespace fabric::control {

struct State {
  State(const ControllerOptions& all_options, store::Store& store, AgentSink& agents,
        EventBus& events, Moment now);
  State(const State&) = delete;  // The parts refer to each other.
  State& operator=(const State&) = delete;

  // With its labels and the number of its findings.
  v1::NodeSummary SummaryOf(const fleet::NodeRecord& record) const;
  // Of one node. Zero without a topology, and for a lost node.
  // Those that agents read, and those from files.
  std::vector<v1::SubnetInfo> Subnets() const;
  fleet::TopologyCoverage CoverOf(const fleet::NodeRecord& record);

  ControllerOptions options;  // Parts refer to the profile in it.
  const Moment started;
  fleet::Fleet fleet;
  fleet::Sites sites;
  LiveNumbers numbers;
  Outbox outbox;
  Sessions sessions;
  NodeHistory history;
  NodeLabels labels;
  FindingRegistry findings;
  Evaluator evaluator;
  JobClasses job_classes;
  LocatedFaults located;
  Campaigns campaigns;
  Schedules schedules;
  NodeActions node_actions;
  Rechecks rechecks;
  Certificates certificates;
  Mesh mesh;
  SubnetLeases subnets;
  SubnetHistories subnet_histories;
  std::vector<subnet::FileSubnet> subnet_files;
};

// What does not change, and each rule with 0 findings.
FleetNumbers FirstNumbers(const ControllerOptions& options, Moment started);
// What does not follow from nodes and findings: LiveNumbers::SetOthers.
FleetNumbers OtherNumbers(State& state);

}  // namespace fabric::control
