// Jobs and routes of built nodes (see nodes.h).
#pragma once

#include <algorithm>
#include <string>

#include "fabric/v1/inventory.pb.h"

namespace fabric::testing {

// The job of --pid: process 4711 python3, with a known and empty environment.
inline v1::JobView& AddJob(v1::NodeSnapshot& node) {
  v1::JobView& job = *node.mutable_job();
  job.set_pid(4711);
  job.set_process("python3");
  job.mutable_memlock()->set_unlimited(true);
  job.set_environment_known(true);
  return job;
}

// Sets or replaces a variable; `job` is a JobView or an RdmaProcess.
template <class Job>
void SetVariable(Job& job, const std::string& name, const std::string& value) {
  for (v1::JobVariable& variable : *job.mutable_variables())
    if (variable.name() == name) return variable.set_value(value);
  v1::JobVariable& variable = *job.add_variables();
  variable.set_name(name);
  variable.set_value(value);
  variable.set_source("environment");
}

template <class Job>
void Map(Job& job, const std::string& library, const std::string& version) {
  v1::JobLibrary& mapped = *job.add_libraries();
  mapped.set_name(library);
  mapped.set_version(version);
  mapped.set_path("/usr/lib/x86_64-linux-gnu/" + library + ".so." + version);
  mapped.set_mapped(true);
}

// A route of table main; routes and rules of the node are known from then on.
inline v1::IpRoute& AddRoute(v1::NodeSnapshot& node, const std::string& destination,
                             const std::string& netdev, const std::string& gateway = {}) {
  node.mutable_routing()->set_routes_known(true);
  node.mutable_routing()->set_rules_known(true);
  v1::IpRoute& route = *node.add_ip_routes();
  route.set_destination(destination);
  route.set_netdev(netdev);
  route.set_table(254);
  if (!gateway.empty()) route.set_gateway(gateway);
  return route;
}

}  // namespace fabric::testing
