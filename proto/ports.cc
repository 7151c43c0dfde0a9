#include "proto/ports.h"

#include "base/text.h"

namespace fabric {

std::string PortName(const v1::RdmaDevice& device, const v1::Port& port) {
  return Format("{}/{}", device.name(), port.number());
}

std::string PortName(const v1::ProbePort& port) {
  return port.device().empty() ? port.node()
                               : Format("{}/{}/{}", port.node(), port.device(), port.port());
}

}  // namespace fabric
