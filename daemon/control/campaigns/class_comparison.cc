#include "daemon/control/campaigns/class_comparison.h"

#include <algorithm>

#include "base/text.h"

namespace fabric::control {
namespace {

// "lossless (DSCP 26, priority 3)"; "default (DSCP 0)"
std::string ClassName(const v1::TrafficClass& named) {
  if (!named.has_dscp() || named.name().starts_with("DSCP")) return named.name();
  std::string text = Format("{} (DSCP {}", named.name(), named.dscp());
  if (named.has_priority()) text += Format(", priority {}", named.priority());
  return text + ")";
}

void SetClass(const v1::TrafficClass& named, v1::Suspect& suspect) {
  suspect.set_traffic_class(named.traffic_class());
  suspect.set_traffic_class_name(ClassName(named));
}

bool HasPart(const v1::BlameReport& report, const v1::Suspect& part) {
  return std::ranges::any_of(report.suspects(), [&](const v1::Suspect& suspect) {
    return suspect.kind() == part.kind() && suspect.name() == part.name();
  });
}

}  // namespace

void NameClasses(const std::vector<v1::TrafficClass>& classes, const v1::BlameReport& other,
                 v1::BlameReport& report) {
  const v1::TrafficClass& first = classes.front();
  const v1::TrafficClass& second = classes.back();
  const bool compared = classes.size() > 1;
  for (v1::UndecidedGroup& group : *report.mutable_undecided())
    for (v1::Suspect& suspect : *group.mutable_suspects()) SetClass(first, suspect);
  for (v1::Suspect& suspect : *report.mutable_suspects()) {
    SetClass(first, suspect);
    if (!compared || other.state() == v1::BLAME_STATE_INSUFFICIENT_DATA) continue;
    const bool both = HasPart(other, suspect);
    suspect.add_evidence(both ? Format("the same in class {}", ClassName(second))
                              : Format("no fault in class {}", ClassName(second)));
  }
  for (const v1::Suspect& suspect : other.suspects()) {
    if (HasPart(report, suspect)) continue;
    v1::Suspect& added = *report.add_suspects();
    added = suspect;
    SetClass(second, added);
    added.add_evidence(Format("no fault in class {}", ClassName(first)));
    if (report.state() == v1::BLAME_STATE_HEALTHY) report.set_state(v1::BLAME_STATE_DECIDED);
  }
}

}  // namespace fabric::control
