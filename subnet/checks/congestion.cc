// Congestion: ports that wait for credits, followed downstream to the place where the wait begins.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/lists.h"
#include "base/text.h"
#include "subnet/checks/check.h"
#include "subnet/port_counters.h"
#include "subnet/words.h"

namespace fabric::subnet {
namespace {

constexpr double kPercentMax = 20;  // Of the time
constexpr std::chrono::seconds kWaitIntervalMin(5);
constexpr std::size_t kAffectedMax = 64;

// PortXmitWait counts symbol times: of one lane by the specification, but of the whole port on
// Quantum and later switches. Source: NVIDIA ibdiagnet manual, congestion assessment.
bool CountsOneLane(std::uint32_t device_id) {
  constexpr std::array<std::uint32_t, 3> kModels = {0xc738, 0xcb20, 0xcf08};  // To Switch-IB 2
  return std::ranges::find(kModels, device_id) != kModels.end();
}

// Share of the time in which a switch port had data and could not send. Empty: not known.
std::optional<double> WaitShare(const Subnet& subnet, End end) {
  const Node& node = subnet.node(end.node);
  const Port& port = subnet.port(end);
  const PortDetails* const details = subnet.DetailsOf(port);
  if (details == nullptr || !details->first_counters || !details->wide_counters || !node.tick ||
      details->between < kWaitIntervalMin || !port.rate.known())
    return std::nullopt;
  const double symbols = static_cast<double>(Increase(*details, Counter::kTransmitWait)) *
                         (*node.tick + 1.0) * (CountsOneLane(node.device_id) ? port.rate.lanes : 1);
  const double bytes_per_second = port.rate.GigabitsPerSecond() * 1e9 / 8;
  return symbols / bytes_per_second / std::chrono::duration<double>(details->between).count();
}

// The ports that wait, and where their waits begin. Each port is visited once.
class Waits {
 public:
  Waits(const CheckInput& input, std::map<End, double> shares)
      : input_(input), shares_(std::move(shares)) {
    std::map<End, std::vector<End>> before;  // Ports that wait for a port
    std::vector<std::pair<End, End>> open;   // A port, and where its wait begins
    for (const auto& [end, share] : shares_) {
      const std::vector<End> next = Next(end);
      if (next.empty()) open.emplace_back(end, end);
      for (const End each : next) before[each].push_back(end);
    }
    std::set<End> seen;
    for (const auto& [root, same] : open) seen.insert(root);
    for (std::size_t at = 0; at < open.size(); ++at) {
      const auto [end, root] = open[at];
      waiting_[root].push_back(end);
      for (const End each : before[end])
        if (seen.insert(each).second) open.emplace_back(each, root);
    }
    for (const auto& [end, share] : shares_)
      if (!seen.contains(end)) in_cycles_.push_back(end);
  }

  double ShareOf(End end) const { return shares_.at(end); }
  // By port at which a wait begins: itself, and the ports that wait for it. A port that waits for
  // several is at the nearest one.
  const std::map<End, std::vector<End>>& waiting() const { return waiting_; }
  // Ports whose waits begin nowhere: they wait for each other.
  const std::vector<End>& in_cycles() const { return in_cycles_; }

 private:
  // Ports of the next switch that wait too, and that traffic of `end` can leave by.
  std::vector<End> Next(End end) const {
    const End peer = input_.subnet().port(end).Peer();
    if (input_.graph.IndexOf(peer.node) == kNoSwitch) return {};
    std::vector<End> next;
    for (auto at = shares_.lower_bound({peer.node, 0});
         at != shares_.end() && at->first.node == peer.node; ++at)
      if (at->first.port != peer.port && Continues(end, at->first)) next.push_back(at->first);
    return next;
  }
  // The routes show only how traffic continues to other switches.
  bool Continues(End end, End next) const {
    const End behind = input_.subnet().port(next).Peer();
    if (input_.routes == nullptr || input_.graph.IndexOf(behind.node) == kNoSwitch) return true;
    const std::size_t channel =
        std::size_t{input_.graph.IndexOf(end.node)} * input_.graph.stride() + end.port;
    return input_.routes->continues.Has(channel, next.port);
  }

  const CheckInput& input_;
  const std::map<End, double> shares_;
  std::map<End, std::vector<End>> waiting_;
  std::vector<End> in_cycles_;
};

std::string Percent(double share) {
  return Format("{:.0f} %", std::min(share, 1.0) * 100);
}

double ShareMax(const CheckInput& input) {
  return input.expected.xmit_wait_max_percent.value_or(kPercentMax) / 100;
}

void FailRoot(const CheckInput& input, const Waits& waits, End root,
              const std::vector<End>& waiting, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  const Cable cable{root, subnet.port(root).Peer()};
  const Node& peer = subnet.node(cable.to.node);
  const bool at_switch = peer.type == NodeType::kSwitch;
  const std::string share = Percent(waits.ShareOf(root));
  std::string why =
      at_switch ? Format(
                      "{} accepts packets too slowly, and none of its ports waits: more traffic "
                      "arrives than its links can carry",
                      NodeWords(peer))
                : Format("{} accepts packets too slowly", NodeWords(peer));
  if (const std::size_t others = waiting.size() - 1; others > 0)
    why += Format("; {} {} for it", Plural(others, "more port"), others == 1 ? "waits" : "wait");
  Failure failure{
      .subject = SubjectOf(subnet, cable),
      .key = EndWords(subnet, root),
      .title = Format("{} waits {} of the time: {}", EndWords(subnet, root), share, why),
      .what = Format("time that {} has data and cannot send", EndWords(subnet, root)),
      .expected = Format("at most {}", Percent(ShareMax(input))),
      .seen = share,
      .basis = "PortXmitWait and the tick of PortSamplesControl",
      .remedies = at_switch
                      ? std::vector{Advice("Spread the traffic: check the balance of routes, the "
                                           "oversubscription of the level, and jobs that send to "
                                           "few nodes.")}
                      : CableRemedies(subnet, cable,
                                      "Check why the node is slow: width and speed of its PCIe "
                                      "slot, ACS and IOMMU, memory, and its findings.")};
  for (const End end : waiting)
    if (failure.affected.size() < kAffectedMax) failure.affected.push_back(SubjectOf(subnet, end));
  out.Fail(std::move(failure));
}

// Without routes, a cycle can be one that no traffic takes.
void JudgeCycle(const CheckInput& input, const Waits& waits, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  if (input.routes == nullptr)
    return out.Unknown(Format("where {} wait: add the forwarding tables",
                              Plural(waits.in_cycles().size(), "switch port")));
  const End first = waits.in_cycles().front();
  out.Fail({.subject = SubjectOf(subnet, first),
            .key = "cycle",
            .title = Format("{} wait for each other in a cycle, {} first: the routing can have "
                            "stopped in a credit loop",
                            Plural(waits.in_cycles().size(), "port"), EndWords(subnet, first)),
            .what = "ports that wait for each other",
            .expected = "0",
            .seen = std::to_string(waits.in_cycles().size()),
            .remedies = {Advice("See subnet_no_credit_loops. Reset one link of the cycle to free "
                                "it; packets on it are lost.")}});
}

void JudgeWaits(const CheckInput& input, Verdicts& out) {
  const Subnet& subnet = input.subnet();
  std::map<End, double> shares;
  std::size_t unread = 0;
  for (std::uint32_t node = 0; node < subnet.nodes().size(); ++node) {
    if (subnet.node(node).type != NodeType::kSwitch) continue;
    for (std::uint32_t port = 1; port < subnet.node(node).ports.size(); ++port) {
      if (!subnet.port({node, port}).Peer().present()) continue;
      const std::optional<double> share = WaitShare(subnet, {node, port});
      if (!share)
        ++unread;
      else if (*share <= ShareMax(input))
        out.Pass();
      else
        shares.emplace(End{node, port}, *share);
    }
  }
  const Waits waits(input, std::move(shares));
  for (const auto& [root, waiting] : waits.waiting()) FailRoot(input, waits, root, waiting, out);
  if (!waits.in_cycles().empty()) JudgeCycle(input, waits, out);
  if (unread > 0)
    out.Unknown(
        Format("waits of {}: two readings of counters of 64 bits and of "
               "PortSamplesControl, which not all switches have",
               Plural(unread, "switch port")));
}

}  // namespace

extern const Check subnet_no_congestion = {
    .id = "subnet_no_congestion",
    .title = "No switch port waits for credits for long",
    .severity = v1::SEVERITY_WARNING,
    .why = "A receiver that is too slow stops the links before it, also for other traffic.",
    .judge = JudgeWaits};

}  // namespace fabric::subnet
