#include "daemon/rules/camps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"

namespace fabric::rules {

using fleet::PortView;

Camps::Camps(const std::vector<PortView>& rail, PortValue value) {
  std::map<std::uint64_t, std::vector<const PortView*>> by_value;
  for (const PortView& port : rail) {
    const std::optional<std::uint64_t> seen = value(port);
    if (!seen) continue;
    by_value[*seen].push_back(&port);
    ++ports_;
  }
  for (auto& [seen, ports] : by_value) camps_.push_back({.value = seen, .ports = std::move(ports)});
  std::stable_sort(camps_.begin(), camps_.end(),
                   [](const Camp& a, const Camp& b) { return a.ports.size() > b.ports.size(); });
}

const Camp* Camps::expected() const {
  if (camps_.empty()) return nullptr;
  if (camps_.size() > 1 && camps_[0].ports.size() == camps_[1].ports.size()) return nullptr;
  return &camps_[0];
}

std::uint64_t Camps::LargestUnion() const {
  std::uint64_t bits = 0;
  for (const Camp& camp : camps_)
    if (camp.ports.size() == camps_[0].ports.size()) bits |= camp.value;
  return bits;
}

bool Camps::Deviates(std::uint64_t value) const {
  const Camp* majority = expected();
  return camps_.size() > 1 && (majority == nullptr || majority->value != value);
}

std::string Camps::Basis(const Camp& camp) const {
  return Format("{} of {} nodes on rail {}", camp.ports.size(), ports_,
                camp.ports[0]->rail->value());
}

}  // namespace fabric::rules
