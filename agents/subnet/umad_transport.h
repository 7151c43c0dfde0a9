// Transport through a umad device of this node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "agents/subnet/transport.h"

namespace fabric::agent {

// Empty `device`: the first port. `port` 0: the first port of the device. NOT_FOUND with the ports
// that exist.
Result<std::unique_ptr<MadTransport>> OpenUmadTransport(const std::string& device,
                                                        std::uint32_t port);

}  // namespace fabric::agent
