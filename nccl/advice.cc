#include "nccl/advice.h"

#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "nccl/parts.h"

namespace fabric::nccl {

std::string ChosenPort::Name() const {
  return Format("{}:{}", device->name(), port->number());
}

void Set(v1::NcclAdvice& advice, std::string name, std::string value, std::string reason) {
  v1::NcclVariable& variable = *advice.add_variables();
  variable.set_name(std::move(name));
  variable.set_value(std::move(value));
  variable.set_reason(std::move(reason));
}

void LeaveUnset(v1::NcclAdvice& advice, std::string name, std::string reason) {
  v1::NcclRemark& remark = *advice.add_left_unset();
  remark.set_name(std::move(name));
  remark.set_reason(std::move(reason));
}

void Undecided(v1::NcclAdvice& advice, std::string name, std::string reason) {
  v1::NcclRemark& remark = *advice.add_undecided();
  remark.set_name(std::move(name));
  remark.set_reason(std::move(reason));
}

std::string Few(const std::vector<std::string>& words) {
  constexpr std::size_t kShown = 4;
  return ListSome(words, words.size() == kShown + 1 ? words.size() : kShown);
}

std::string Names(const std::vector<ChosenPort>& ports) {
  std::vector<std::string> names;
  for (const ChosenPort& port : ports) names.push_back(port.Name());
  return Few(names);
}

v1::NcclAdvice Advise(const v1::NodeSnapshot& snapshot) {
  v1::NcclAdvice advice;
  const Facts facts{.snapshot = snapshot, .ports = ChoosePorts(snapshot, advice)};
  if (facts.ports.empty()) return advice;
  AdviseAddressing(facts, advice);
  AdviseTrafficClass(facts, advice);
  AdviseSockets(facts, advice);
  AdviseOrdering(facts, advice);
  AdviseGpuDirect(facts, advice);
  AdviseRouting(facts, advice);
  return advice;
}

}  // namespace fabric::nccl
