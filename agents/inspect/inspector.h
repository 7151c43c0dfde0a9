// Inspectors: functions that read the machine into a NodeSnapshot.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "agents/host/event_set.h"
#include "agents/host/host.h"
#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/inventory.pb.h"

namespace fabric::inspect {

using host::Dir;
using host::EventKind;
using host::EventSet;
using host::Host;

// Fields of NodeSnapshot, by number: {v1::NodeSnapshot::kGpusFieldNumber}.
class FieldSet {
 public:
  constexpr FieldSet() = default;
  constexpr FieldSet(std::initializer_list<int> numbers) {
    for (const int number : numbers) bits_ |= std::uint64_t{1} << number;
  }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool Has(int number) const { return (bits_ >> number & 1) != 0; }
  constexpr bool Overlaps(FieldSet other) const { return (bits_ & other.bits_) != 0; }
  constexpr void Add(FieldSet other) { bits_ |= other.bits_; }

 private:
  std::uint64_t bits_ = 0;
};

// A stateless value. inspect() returns an error only when it could not read anything, which becomes
// a gap; it adds a gap itself for each missing attribute. Inspectors run in the order of the
// catalog and can read the fields that earlier ones have set.
struct Inspector {
  std::string_view name;
  std::string_view doc;
  Status (*inspect)(const Host&, v1::NodeSnapshot&);
  // Events after which it runs. For other events, an inspector that owns fields is skipped: the
  // fields and its gaps are moved from the previous snapshot. Inspectors that own the same field
  // run together. No other inspector sets an owned field.
  EventSet wakes = EventSet::All();
  FieldSet owns = {};
  // For an inspector that sets parts of other inspectors' fields: moves those parts from the
  // previous snapshot when it is skipped. Runs after all inspectors before it.
  void (*keep)(v1::NodeSnapshot& previous, v1::NodeSnapshot& snapshot) = nullptr;
};

std::span<const Inspector* const> AllInspectors();  // Generated; see CMakeLists.txt.

struct InspectOptions {
  std::string node_name;  // Empty: the host name of the machine.
  WallTime now;
  std::span<const Inspector* const> inspectors = AllInspectors();
  EventSet events = EventSet::All();          // Reasons for the inspection
  v1::NodeSnapshot* previous = nullptr;       // Source of skipped fields, consumed; null: run all
  std::span<const std::string> blocked = {};  // Inspectors to skip, with a gap
  std::function<void(const Inspector&)> begins = [](const Inspector&) {};
};

// Runs the inspectors in order. Lists of the result are sorted as inventory.proto specifies.
v1::NodeSnapshot Inspect(const Host& host, const InspectOptions& options);

// Adds a gap. `path`: the source that was read, relative to the root. The reason is the message of
// `status`, without its path where that names the same source.
void AddGap(v1::NodeSnapshot& snapshot, std::string_view inspector, std::string_view subject,
            std::string_view path, const Status& status);

}  // namespace fabric::inspect
