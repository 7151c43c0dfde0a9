// Faults in single fields of a snapshot: a wrong value, no value, a value that could not be read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fabric/v1/inventory.pb.h"

namespace fabric::rules {

enum class FaultKind : std::uint8_t { kWrong, kRemoved, kUnreadable };
const char* NameOf(FaultKind fault);

using Mutation = std::function<void(v1::NodeSnapshot&)>;

// A fault of one element alone.
struct FieldFault {
  // "rdma_devices.ports.lid". Elements of different use have their own paths:
  // "pci_functions[nic].link", "net_interfaces[other].mtu_bytes".
  std::string path;
  std::string field;    // Of the snapshot: "pci_functions"
  std::string element;  // "pci_functions[7].link"
  FaultKind fault = {};
  // Wrong values of the field. The fault is noticed when one of them is.
  std::vector<Mutation> variants;
};

// Of all fields that the snapshot has, except gaps, times and counters. A repeated field gives a
// fault for each element alone, and one without all of them; of more than eight elements of one
// use, the first four and the last four.
std::vector<FieldFault> FaultsOf(const v1::NodeSnapshot& snapshot);

}  // namespace fabric::rules
