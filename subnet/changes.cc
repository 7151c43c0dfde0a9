#include "subnet/changes.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "subnet/mad/attributes.h"
#include "subnet/plan.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

constexpr int kChangesMax = 64;

std::string Words(const PlannedCable& cable) {
  return Format("{} - {}", ToString(cable.from), ToString(cable.to));
}

class Changes {
 public:
  void Add(v1::CableChangeKind kind, std::string before, std::string now, std::uint32_t flaps = 0) {
    event_.set_total(event_.total() + 1);
    if (event_.changes_size() == kChangesMax) return;
    v1::CableChange& change = *event_.add_changes();
    change.set_kind(kind);
    change.set_before(std::move(before));
    change.set_now(std::move(now));
    change.set_flaps(flaps);
  }
  v1::SubnetEvent Take() { return std::move(event_); }

 private:
  v1::SubnetEvent event_;
};

// Ends, as plans name them, behind which a device did not answer.
std::set<std::string> SilentEnds(const Subnet& subnet) {
  std::set<std::string> silent;
  if (subnet.reading())
    for (const End end : subnet.reading()->silent)
      silent.insert(ToString(PlannedEnd{NameOf(subnet.node(end.node)), end.port}));
  return silent;
}

// Times that the link of the end was down since the reading before.
std::uint32_t FlapsOf(const Subnet& subnet, End end) {
  const PortDetails* const details = subnet.DetailsOf(subnet.port(end));
  if (details == nullptr || !details->counters || !details->first_counters) return 0;
  constexpr auto kDown = static_cast<std::size_t>(Counter::kLinkDowned);
  const std::uint32_t first = (*details->first_counters)[kDown];
  const std::uint32_t last = (*details->counters)[kDown];
  return last > first ? last - first : 0;  // Smaller after the counters were cleared
}

}  // namespace

v1::SubnetEvent ChangesBetween(const Subnet& before, const Subnet& now) {
  Changes changes;
  const PlanComparison found = Compare(PlanOf({}, before), now);
  for (const Miswired& each : found.miswired)
    changes.Add(v1::CABLE_CHANGE_KIND_MOVED, Words(each.planned),
                CableWords(now, {each.end, each.actual}));
  const std::set<std::string> silent = SilentEnds(now);
  for (const PlannedCable& each : found.missing)
    if (!silent.contains(ToString(each.from)) && !silent.contains(ToString(each.to)))
      changes.Add(v1::CABLE_CHANGE_KIND_GONE, Words(each), {});
  for (const Cable& each : found.unplanned)
    changes.Add(v1::CABLE_CHANGE_KIND_NEW, {}, CableWords(now, each));
  for (const Cable& each : now.Cables())
    if (const std::uint32_t flaps = std::max(FlapsOf(now, each.from), FlapsOf(now, each.to));
        flaps > 0)
      changes.Add(v1::CABLE_CHANGE_KIND_FLAPPED, {}, CableWords(now, each), flaps);
  return changes.Take();
}

}  // namespace fabric::subnet
