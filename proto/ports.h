// Lookup of devices and interfaces by name, and names of ports.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric {

// The first message whose `name` is `name`; nullptr when there is none.
template <class Message>
const Message* FindNamed(const google::protobuf::RepeatedPtrField<Message>& messages,
                         std::string_view name) {
  const auto at = std::find_if(messages.begin(), messages.end(),
                               [&](const Message& message) { return message.name() == name; });
  return at == messages.end() ? nullptr : &*at;
}

inline const v1::NetInterface* FindNetdev(const v1::NodeSnapshot& snapshot, std::string_view name) {
  return FindNamed(snapshot.net_interfaces(), name);
}

std::string PortName(const v1::RdmaDevice& device, const v1::Port& port);  // "mlx5_0/1"
std::string PortName(const v1::ProbePort& port);  // "n4/rxe0/1"; "n4" without a device

}  // namespace fabric
