#include "daemon/control/subnets/subnet_leases.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "proto/bounds.h"

namespace fabric::control {
namespace {

// How often leases are looked at, and all ports of the fleet, which takes time for each node.
constexpr Duration kLookEvery = std::chrono::seconds(1);
constexpr Duration kLookAtPortsEvery = std::chrono::seconds(10);

bool IsReadable(const v1::Port& port) {
  return port.link_layer() == v1::LINK_LAYER_INFINIBAND && port.state() == v1::PORT_STATE_ACTIVE;
}

}  // namespace

std::string SubnetLeases::Candidate::Port() const {
  return Format("{}/{}", device, port);
}
std::string SubnetLeases::Candidate::Name() const {
  return Format("{} {}", node, Port());
}

SubnetLeases::SubnetLeases(Duration interval, const fleet::Sites& sites, Sessions& agents)
    : interval_(interval), sites_(sites), agents_(agents) {}

// Of ports in no known subnet; with `all`, also of the others. In the order of the nodes.
std::vector<SubnetLeases::Candidate> SubnetLeases::Candidates(const fleet::Fleet& fleet,
                                                              bool all) const {
  std::vector<Candidate> candidates;
  for (const auto& [node, record] : fleet.nodes()) {
    const Session* const session = agents_.Usable(node);
    if (session == nullptr || !session->reads_subnets) continue;
    for (const v1::RdmaDevice& device : record.snapshot.rdma_devices()) {
      if (device.function().kind() == v1::FUNCTION_KIND_VIRTUAL) continue;  // May not send SMPs
      for (const v1::Port& port : device.ports()) {
        const auto guid = ParseGuid(port.port_guid());
        if (!guid.ok() || !IsReadable(port) || (!all && IsKnown(guid->value()))) continue;
        candidates.push_back({.session = session->id,
                              .node = node,
                              .device = device.name(),
                              .port = port.number(),
                              .guid = guid->value()});
      }
    }
  }
  return candidates;
}

bool SubnetLeases::IsKnown(std::uint64_t guid) const {
  return sites_.infiniband().HasPort(guid) ||
         std::ranges::any_of(leases_, [&](const auto& each) { return each.second.HasPort(guid); });
}

bool SubnetLeases::MayTry(const Candidate& candidate, Moment now) const {
  const auto at = retry_at_.find(candidate.Name());
  return at == retry_at_.end() || at->second <= now.steady;
}

void SubnetLeases::Order(const Candidate& holder, bool read) {
  v1::ControllerMessage message;
  v1::SubnetOrder& order = *message.mutable_subnet_order();
  if (read) {
    order.set_device(holder.device);
    order.set_port(holder.port);
    order.set_interval_ms(static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(interval_).count()));
  }
  agents_.Send(holder.session, message);
}

void SubnetLeases::Grant(Lease& lease, const Candidate& candidate, Moment now) {
  lease.holder = candidate;
  lease.due = now.steady + kPatience;
  (void)lease.parts.Take();
  Order(candidate, true);
}

void SubnetLeases::Fail(Lease& lease, std::string why, Moment now) {
  lease.problem = Format("{}: {}", lease.holder->Name(), why);
  retry_at_[lease.holder->Name()] = now.steady + kRetryAfter;
  Order(*lease.holder, false);
  lease.holder.reset();
  changed_ = true;
}

void SubnetLeases::OnLost(const std::string& node) {
  changed_ = true;
  for (auto& [name, lease] : leases_)
    if (lease.holder && lease.holder->node == node) {
      lease.problem = lease.holder->Name() + ": the agent is not connected";
      lease.holder.reset();
      looked_at_ = {};  // Another port takes over at once.
    }
}

void SubnetLeases::OnPart(const Session& session, const v1::SubnetPart& part, Moment now) {
  // A part for an order that has ended has no lease.
  const auto at = std::ranges::find_if(leases_, [&](const auto& each) {
    const auto& holder = each.second.holder;
    return holder && holder->session == session.id && holder->device == part.device() &&
           holder->port == part.port();
  });
  if (at == leases_.end()) return;
  auto& [name, lease] = *at;
  if (!part.error().empty()) return Fail(lease, part.error(), now);
  const Result<bool> complete = lease.parts.Add(part);
  if (!complete.ok()) return Fail(lease, complete.status().message(), now);
  if (!*complete) return;
  // At most one frame of each subnet waits. If its prefix was replaced, the subnet is ordered
  // again.
  std::erase_if(news_, [&](const SubnetNews& each) { return each.subnet == at->first; });
  news_.push_back({name, lease.holder->Name(), lease.parts.Take()});
}

void SubnetLeases::OnDecoded(const std::string& subnet, Result<SubnetContent> content, Moment now) {
  const auto at = leases_.find(subnet);
  if (at == leases_.end() || !at->second.holder) return;
  Lease& lease = at->second;
  if (!content.ok()) {
    // A frame whose prefix is unknown: a new order begins without a prefix.
    if (std::exchange(lease.ordered_again, true))
      return Fail(lease, content.status().message(), now);
    return Grant(lease, Candidate(*lease.holder), now);
  }
  lease.ordered_again = false;
  lease.problem.clear();
  lease.due = now.steady + 2 * interval_ + kPatience;
  lease.content = *std::move(content);
  if (!lease.content->ports.contains(lease.holder->guid)) lease.unlisted.insert(lease.holder->guid);
  DropDoubles(subnet);
  changed_ = true;
}

bool SubnetLeases::Lease::Overlaps(const Lease& other) const {
  if (other.holder && HasPort(other.holder->guid)) return true;
  return other.content && std::ranges::any_of(other.content->ports, [&](std::uint64_t guid) {
           return content->ports.contains(guid);
         });
}

// Leases of the subnet that was just read. One of them stays: one that was read before, else this
// one.
void SubnetLeases::DropDoubles(const std::string& subnet) {
  for (auto at = leases_.begin(); at != leases_.end();) {
    const auto other = at++;
    const auto read = leases_.find(subnet);
    if (other == read || !read->second.Overlaps(other->second)) continue;
    const bool keep_other = other->second.content.has_value();
    const auto dropped = keep_other ? read : other;
    Lease& kept = (keep_other ? other : read)->second;
    kept.unlisted.merge(dropped->second.unlisted);
    if (dropped->second.holder) Order(*dropped->second.holder, false);
    news_.push_back({dropped->first, {}, std::nullopt});
    leases_.erase(dropped);
    if (keep_other) return;
  }
}

// Whether the port is in the subnet, or can be: a subnet that was never read is known by the name
// of its port only.
bool SubnetLeases::CanHold(const Candidate& candidate, const Lease& lease) const {
  if (lease.content) return lease.HasPort(candidate.guid);
  return candidate.Port() == lease.port && !IsKnown(candidate.guid);
}

void SubnetLeases::FillVacant(const std::vector<Candidate>& candidates, Moment now) {
  for (auto& each : leases_) {
    Lease& lease = each.second;
    if (lease.holder) continue;
    const auto next = std::ranges::find_if(candidates, [&](const Candidate& candidate) {
      return MayTry(candidate, now) && CanHold(candidate, lease);
    });
    if (next != candidates.end()) Grant(lease, *next, now);
  }
}

std::size_t SubnetLeases::LeasesOf(const std::string& node) const {
  return static_cast<std::size_t>(std::ranges::count_if(leases_, [&](const auto& each) {
    return each.second.holder && each.second.holder->node == node;
  }));
}

// One first reading at a time for ports with the same name, which are one rail as a rule.
void SubnetLeases::AddNew(const std::vector<Candidate>& candidates, Moment now) {
  for (const Candidate& candidate : candidates) {
    if (IsKnown(candidate.guid) || !MayTry(candidate, now)) continue;
    const bool pending = std::ranges::any_of(leases_, [&](const auto& each) {
      return !each.second.content && each.second.port == candidate.Port();
    });
    if (pending || leases_.size() >= Limit("subnets") ||
        LeasesOf(candidate.node) >= Limit("subnets_of_node"))
      continue;
    std::string name = candidate.Port();
    for (int i = 2; leases_.contains(name); ++i) name = Format("{}-{}", candidate.Port(), i);
    Lease& lease = leases_[name];
    lease.port = candidate.Port();
    Grant(lease, candidate, now);
  }
}

void SubnetLeases::Tick(const fleet::Fleet& fleet, Moment now) {
  if (interval_ == Duration::zero() || now.steady - looked_at_ < kLookEvery) return;
  looked_at_ = now.steady;
  bool vacant = false;
  for (auto& [name, lease] : leases_) {
    if (lease.holder && now.steady >= lease.due) Fail(lease, "no snapshot arrived in time", now);
    vacant |= !lease.holder;
  }
  const bool due = changed_ && now.steady - looked_at_ports_ >= kLookAtPortsEvery;
  if (!due && !vacant) return;
  changed_ = changed_ && !due;
  if (due) looked_at_ports_ = now.steady;
  const std::vector<Candidate> candidates = Candidates(fleet, vacant);
  // No port is left for a first reading that failed, or its subnet is known by now.
  std::erase_if(leases_, [&](const auto& each) {
    const Lease& lease = each.second;
    return !lease.content && !lease.holder &&
           std::ranges::none_of(
               candidates, [&](const Candidate& candidate) { return CanHold(candidate, lease); });
  });
  FillVacant(candidates, now);
  AddNew(candidates, now);
  std::erase_if(retry_at_, [&](const auto& each) { return each.second <= now.steady; });
  changed_ |= !retry_at_.empty();  // Those that failed are tried again.
}

std::vector<v1::SubnetInfo> SubnetLeases::All() const {
  std::vector<v1::SubnetInfo> all;
  for (const auto& [name, lease] : leases_) {
    v1::SubnetInfo& info = all.emplace_back();
    if (lease.content) info = lease.content->info;
    info.set_name(name);
    if (lease.holder) info.set_source(lease.holder->Name());
    info.set_problem(lease.problem);
  }
  return all;
}

std::map<std::string, std::string> SubnetLeases::Problems() const {
  std::map<std::string, std::string> problems;
  for (const auto& [name, lease] : leases_)
    if (lease.content && !lease.problem.empty()) problems[name] = lease.problem;
  return problems;
}

const subnet::Frame* SubnetLeases::FrameOf(const std::string& subnet) const {
  const auto at = leases_.find(subnet);
  return at == leases_.end() || !at->second.content ? nullptr : &at->second.content->frame;
}

}  // namespace fabric::control
