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

constexpr double kShareMax = 0.2;  // Of the time
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
  if (details == nullptr || !details->counters || !details->first_counters || !node.tick ||
      details->between < kWaitIntervalMin || !port.rate.known())
    return std::nullopt;
  constexpr std::uint64_t kMaxOf32Bits = 0xffffffff;
  if (!details->wide_counters &&
      ValueOf(*details->counters, Counter::kTransmitWait) == kMaxOf32Bits)
    return std::nullopt;
  const double symbols = static_cast<double>(Increase(*details, Counter::kTransmitWait)) *
                         (*node.tick + 1.0) * (CountsOneLane(node.device_id) ? port.rate.lanes : 1);
  const double bytes_per_second = port.rate.GigabitsPerSecond() * 1e9 / 8;
  return symbols / bytes_per_second / std::chrono::duration<double>(details->between).count();
}

// The ports that wait, and which of them wait for which.
class Waits {
 public:
  Waits(const CheckInput& input, std::map<End, double> shares)
      : input_(input), shares_(std::move(shares)) {
    for (const auto& [end, share] : shares_)
      for (const End root : RootsOf(end)) waiting_[root].push_back(end);
  }

  double ShareOf(End end) const { return shares_.at(end); }
  // By port at which a wait begins: the ports that wait for it, with itself.
  const std::map<End, std::vector<End>>& waiting() const { return waiting_; }
  // Ports whose waits lead to no port at which one begins: they wait for each other.
  const std::vector<End>& in_cycles() const { return in_cycles_; }

 private:
  // Ports of the next switch that wait too, and that traffic of `end` can leave by.
  std::vector<End> Next(End end) const {
    const End peer = input_.subnet().port(end).Peer();
    const std::uint32_t index = input_.graph.IndexOf(peer.node);
    if (index == kNoSwitch) return {};
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

  std::vector<End> RootsOf(End start) {
    std::vector<End> roots;
    std::set<End> seen = {start};
    std::vector<End> open = {start};
    while (!open.empty()) {
      const End end = open.back();
      open.pop_back();
      const std::vector<End> next = Next(end);
      if (next.empty()) roots.push_back(end);
      for (const End each : next)
        if (seen.insert(each).second) open.push_back(each);
    }
    if (roots.empty()) in_cycles_.push_back(start);
    return roots;
  }

  const CheckInput& input_;
  const std::map<End, double> shares_;
  std::map<End, std::vector<End>> waiting_;
  std::vector<End> in_cycles_;
};

std::string Percent(double share) {
  return Format("{:.0f} %", std::min(share, 1.0) * 100);
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
      .expected = Format("at most {}", Percent(kShareMax)),
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

void FailCycle(const CheckInput& input, const Waits& waits, Verdicts& out) {
  const Subnet& subnet = input.subnet();
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
      else if (*share <= kShareMax)
        out.Pass();
      else
        shares.emplace(End{node, port}, *share);
    }
  }
  const Waits waits(input, std::move(shares));
  for (const auto& [root, waiting] : waits.waiting()) FailRoot(input, waits, root, waiting, out);
  if (!waits.in_cycles().empty()) FailCycle(input, waits, out);
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
