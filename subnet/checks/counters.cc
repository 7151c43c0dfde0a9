// Checks of the error counters of ports. Rates: a counter alone does not show when errors occurred.
#include <algorithm>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/port_counters.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

constexpr std::chrono::seconds kIntervalMin(1);

struct Limit {
  Counter counter;
  double per_hour;  // Rates above are failures.
};
// Not here: PortRcvRemotePhysicalErrors, which another link caused; VL15Dropped and PortXmitWait,
// which are load.
constexpr Limit kLimits[] = {
    {Counter::kSymbolErrors, 10},
    {Counter::kLinkErrorRecovery, 0},
    {Counter::kLinkDowned, 0},
    {Counter::kReceiveErrors, 0},
    {Counter::kReceiveSwitchRelayErrors, 100},
    {Counter::kTransmitDiscards, 0},
    {Counter::kTransmitConstraintErrors, 0},
    {Counter::kReceiveConstraintErrors, 0},
    {Counter::kLocalLinkIntegrityErrors, 0},
    {Counter::kExcessiveBufferOverrunErrors, 0},
};

const CounterField& FieldOf(Counter counter) {
  return CounterFields()[static_cast<std::size_t>(counter)];
}

std::vector<std::string> Exceeded(const PortDetails& port, const Expectations& expected) {
  const double hours = std::chrono::duration<double, std::ratio<3600>>(port.between).count();
  std::vector<std::string> texts;
  for (const Limit& limit : kLimits) {
    const std::uint64_t increase = Increase(port, limit.counter);
    // One event in a short interval is not yet a rate.
    const double per_hour = limit.counter == Counter::kSymbolErrors
                                ? expected.symbol_errors_max_per_hour.value_or(limit.per_hour)
                                : limit.per_hour;
    if (increase == 0 || (per_hour > 0 && increase < 2)) continue;
    if (static_cast<double>(increase) / hours <= per_hour) continue;
    texts.push_back(Format("{} +{}", FieldOf(limit.counter).name, increase));
  }
  return texts;
}

// As an operand of perfquery.
std::string LidOf(const Subnet& subnet, End end) {
  const bool is_switch = subnet.node(end.node).type == NodeType::kSwitch;
  const Port* const port = subnet.FindPort({end.node, is_switch ? 0 : end.port});
  return port != nullptr && IsAssigned(port->lid) ? std::to_string(*port->lid) : "LID";
}

// Calls `judge` for each connected switch port, and for each adapter port that was read.
template <class Judge>
void ForEachPort(const Subnet& subnet, Judge judge) {
  for (std::uint32_t node = 0; node < subnet.nodes().size(); ++node)
    for (std::uint32_t number = 1; number < subnet.node(node).ports.size(); ++number) {
      const Port& port = subnet.node(node).ports[number];
      if (!port.Peer().present()) continue;
      const PortDetails* const details = subnet.DetailsOf(port);
      const bool read = details != nullptr && details->counters;
      if (read || subnet.node(node).type == NodeType::kSwitch)
        judge(End{node, number}, port, read ? details : nullptr);
    }
}

void JudgeErrors(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  std::size_t unread = 0;
  ForEachPort(subnet, [&](End end, const Port& port, const PortDetails* details) {
    if (details == nullptr || !details->first_counters || details->between < kIntervalMin) {
      ++unread;
      return;
    }
    const std::vector<std::string> exceeded = Exceeded(*details, input.expected);
    if (exceeded.empty()) return out.Pass();
    const Cable cable{end, port.Peer()};
    const auto seconds = std::chrono::duration<double>(details->between).count();
    out.Fail({.subject = SubjectOf(subnet, cable),
              .key = EndWords(subnet, end),
              .title = Format("{}: errors at {} in {:.0f} s: {}", CableWords(subnet, cable),
                              EndWords(subnet, end), seconds, ListSome(exceeded, 4)),
              .what = Format("increase of error counters at {}", EndWords(subnet, end)),
              .expected = "0",
              .seen = ListSome(exceeded, 12),
              .remedies = CableRemedies(subnet, cable,
                                        "Reseat the cable; if the errors stay, replace it.")});
  });
  if (unread > 0)
    out.Unknown(
        Format("two values of the counters of {}: read the subnet with 'fabric-agent "
               "subnet read --rate-interval 60s'",
               Plural(unread, "switch port")));
}

void JudgeSaturated(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  std::size_t unread = 0;
  ForEachPort(subnet, [&](End end, const Port& port, const PortDetails* details) {
    if (details == nullptr) {
      ++unread;
      return;
    }
    std::vector<std::string> full;
    for (const CounterField& field : CounterFields())
      if (!details->wide_counters && field.counter != Counter::kTransmitWait &&
          ValueOf(*details->counters, field.counter) == field.Max())
        full.push_back(Format("{} {}", field.name, field.Max()));
    if (full.empty()) return out.Pass();
    out.Fail({.subject = SubjectOf(subnet, Cable{end, port.Peer()}),
              .key = EndWords(subnet, end),
              .title = Format("{}: counters at their maximum: {}", EndWords(subnet, end),
                              ListSome(full, 4)),
              .what = "counters at their maximum",
              .expected = "0",
              .seen = ListSome(full, 12),
              .remedies = {Advice(
                  Format("New errors are not visible. Reset the counters of this port: perfquery "
                         "-C DEVICE -P PORT -R {} {}, through a port of this subnet.",
                         LidOf(subnet, end), end.port))}});
  });
  if (unread > 0)
    out.Unknown(Format("counters of {}: read the subnet with 'fabric-agent subnet read'",
                       Plural(unread, "switch port")));
}

}  // namespace

extern const Check subnet_port_errors = {
    .id = "subnet_port_errors",
    .title = "Error counters of switch ports do not increase",
    .severity = v1::SEVERITY_ERROR,
    .why = "A link with errors repeats or loses packets, which delays all traffic over it.",
    .judge = JudgeErrors};

extern const Check subnet_counters_saturated = {
    .id = "subnet_counters_saturated",
    .title = "No error counter is at its maximum",
    .severity = v1::SEVERITY_INFO,
    .why = "A counter stops at its maximum, and then hides new errors.",
    .judge = JudgeSaturated};

}  // namespace fabric::subnet
