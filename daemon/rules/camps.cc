#include "daemon/rules/camps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "daemon/rules/facts.h"

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

namespace {

void FailPort(const EqualOnRail& setting, const Camps& camps, const Camp& expected,
              const Camp& seen, const PortView& port, Verdicts& out) {
  const std::string wanted = setting.show(expected.value);
  const std::string basis = camps.Basis(expected);
  std::vector<v1::Evidence> evidence = {ToEvidence(*port.node, {.what = std::string(setting.what),
                                                                .expected = wanted,
                                                                .seen = setting.show(seen.value),
                                                                .source = setting.source(port),
                                                                .basis = basis})};
  if (setting.more != nullptr) setting.more(port, *expected.ports[0], evidence);
  out.Fail(port.Subject(),
           Format("{} {}, expected {} ({})", setting.what, setting.show(seen.value), wanted, basis),
           std::move(evidence), setting.remedies(port, expected.value), setting.key);
}

void FailRail(const EqualOnRail& setting, const Camps& camps, Verdicts& out) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_RAIL);
  subject.set_rail(camps.all()[0].ports[0]->rail->value());
  std::vector<std::string> sides;
  std::vector<v1::Evidence> evidence;
  for (const Camp& camp : camps.all()) {
    const PortView& first = *camp.ports[0];
    const std::string shown = setting.show(camp.value);
    const std::string who = NodeNames(camp.ports);
    if (sides.size() == kListedMax) {
      sides.push_back(Format("and {} more values", camps.all().size() - sides.size()));
      break;
    }
    sides.push_back(Format("{} on {}", shown, who));
    evidence.push_back(ToEvidence(*first.node, {.what = Format("{} of {}", setting.what, who),
                                                .expected = "the same on the whole rail",
                                                .seen = shown,
                                                .source = setting.source(first),
                                                .basis = camps.Basis(camp) + ", no majority"}));
  }
  std::vector<v1::Remedy> remedies =
      setting.remedies(*camps.all()[0].ports[0], camps.all()[0].value);
  for (v1::Remedy& remedy : remedies)
    remedy.set_note(
        Format("For {}; decide first which value is meant. {}", sides[0], remedy.note()));
  out.Fail(std::move(subject), Format("{} not the same: {}", setting.what, Join(sides, "; ")),
           std::move(evidence), std::move(remedies), setting.key);
}

}  // namespace

void Judge(const EqualOnRail& setting, const std::vector<PortView>& rail, Verdicts& out) {
  const Camps camps(rail, setting.value);
  const Camp* expected = camps.expected();
  if (expected == nullptr) {
    if (!camps.all().empty()) FailRail(setting, camps, out);
    return;
  }
  for (const Camp& camp : camps.all()) {
    for (const PortView* port : camp.ports) {
      if (&camp == expected)
        out.Pass();
      else
        FailPort(setting, camps, *expected, camp, *port, out);
    }
  }
}

}  // namespace fabric::rules
