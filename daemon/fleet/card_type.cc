#include "daemon/fleet/card_type.h"

namespace fabric::fleet {
namespace {

// Unknown subsystem ids do not distinguish cards.
bool HaveSamePciIds(const PortView& a, const PortView& b) {
  if (!a.device->has_device_id() || a.device->device_id() != b.device->device_id() ||
      a.device->vendor_id() != b.device->vendor_id())
    return false;
  if (a.function == nullptr || b.function == nullptr) return true;
  if (!a.function->has_subsystem_device_id() || !b.function->has_subsystem_device_id()) return true;
  return a.function->subsystem_device_id() == b.function->subsystem_device_id() &&
         a.function->subsystem_vendor_id() == b.function->subsystem_vendor_id();
}

// The value that all of the ports have for which `is_equal` holds; empty if they differ.
template <class IsEqual, class ValueOf>
std::string_view CommonValue(std::span<const PortView> ports, IsEqual is_equal, ValueOf value_of) {
  std::string_view common;
  for (const PortView& port : ports) {
    const std::string_view value = value_of(port);
    if (value.empty() || !is_equal(port)) continue;
    if (!common.empty() && common != value) return {};
    common = value;
  }
  return common;
}

std::string_view OwnModel(const PortView& port) {
  return port.device->has_model() ? port.device->model() : port.device->device_id();
}

}  // namespace

std::string_view ModelOf(std::span<const PortView> ports, const PortView& port) {
  if (const std::string_view own = OwnModel(port); !own.empty()) return own;
  const std::string_view common = CommonValue(
      ports,
      [&](const PortView& other) {
        return other.rail && port.rail && !port.device->driver().empty() &&
               other.device->driver() == port.device->driver();
      },
      OwnModel);
  return common.empty() ? std::string_view(port.device->product()) : common;
}

std::string_view BoardOf(std::span<const PortView> ports, const PortView& port) {
  if (!port.device->board_id().empty()) return port.device->board_id();
  const std::string_view common = CommonValue(
      ports, [&](const PortView& other) { return HaveSamePciIds(port, other); },
      [](const PortView& other) { return std::string_view(other.device->board_id()); });
  return common.empty() ? ModelOf(ports, port) : common;
}

}  // namespace fabric::fleet
