// Transport to ibsim, the InfiniBand simulator, over its datagram sockets. For tests and the
// quickstart. Protocol: ibsim, include/ibsim.h and umad2sim/sim_client.c.
#pragma once

#include <memory>
#include <string>

#include "agents/subnet/transport.h"

namespace fabric::agent {

// `name`: IBSIM_SOCKNAME of the simulator. `host`: id of the node in its file ("H-00..."), or its
// description. UNAVAILABLE when no simulator answers.
Result<std::unique_ptr<MadTransport>> OpenIbsim(const std::string& name, const std::string& host);

}  // namespace fabric::agent
