#include "daemon/rules/facts.h"

#include <algorithm>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "proto/gaps.h"

namespace fabric::rules {
namespace {

// ": the driver has no DCB"
std::string Reason(const v1::NodeSnapshot& snapshot, std::string_view source) {
  for (const v1::Gap& gap : snapshot.gaps())
    if (Covers(gap, source)) return ": " + gap.reason();
  return ": not reported by the agent";
}

v1::Evidence NotReadable(const fleet::NodeRecord& node, std::string what, std::string source) {
  return ToEvidence(node, {.what = std::move(what),
                           .expected = "a value",
                           .seen = "not readable" + Reason(node.snapshot, source),
                           .source = std::move(source),
                           .basis = "rule",
                           .unread = true});
}

}  // namespace

std::string_view DriverOf(const fleet::PortView& port) {
  if (port.netdev != nullptr && port.netdev->has_driver()) return port.netdev->driver();
  return port.device->driver();
}

std::string PortName(const fleet::PortView& port) {
  return Format("{}/{}/{}", port.node->name, port.device->name(), port.port->number());
}

std::string Listed(const std::vector<std::string>& items) {
  return Listed(items, items.size());
}

std::string Listed(const std::vector<std::string>& items, std::size_t all) {
  return ListSome(items, kListedMax, all);
}

std::string ListedAll(const std::vector<std::string>& items) {
  return ListedAll(items, items.size());
}

std::string ListedAll(const std::vector<std::string>& items, std::size_t all) {
  return ListSome(items, kEvidenceMax, all);
}

v1::Evidence ToEvidence(const fleet::NodeRecord& node, Fact fact) {
  v1::Evidence evidence;
  evidence.set_what(std::move(fact.what));
  evidence.set_expected(std::move(fact.expected));
  evidence.set_seen(std::move(fact.seen));
  evidence.set_source(std::move(fact.source));
  evidence.set_basis(std::move(fact.basis));
  evidence.set_unread(fact.unread);
  *evidence.mutable_read_at() = node.snapshot.taken_at();
  return evidence;
}

v1::Evidence NotReadable(const fleet::PortView& port, std::string what, std::string source) {
  return NotReadable(*port.node, std::move(what), std::move(source));
}

std::string ProfileBasis(const fleet::Expectation& expectation) {
  return "profile " + expectation.profile;
}

v1::Subject SubjectOf(const Member& member) {
  return member.port != nullptr ? member.port->Subject() : SubjectOf(*member.node);
}

v1::Subject SubjectOf(const fleet::NodeView& node) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_NODE);
  subject.set_node(node.node->name);
  return subject;
}

v1::Subject DeviceSubject(const fleet::PortView& port) {
  v1::Subject subject;
  subject.set_scope(v1::SCOPE_DEVICE);
  subject.set_node(port.node->name);
  subject.set_device(port.device->name());
  return subject;
}

void Unreadable(const Member& member, std::string_view what, std::string source, Verdicts& out,
                std::string_view key) {
  std::string title = Format("{} could not be read{}", what, Reason(member.snapshot(), source));
  out.Unknown(SubjectOf(member), std::move(title),
              {NotReadable(*member.node->node, std::string(what), std::move(source))}, key);
}

void Unreadable(const fleet::PortView& port, std::string_view what, std::string source,
                Verdicts& out) {
  std::string title = Format("{} could not be read{}", what, Reason(port.node->snapshot, source));
  out.Unknown(port.Subject(), std::move(title),
              {NotReadable(port, std::string(what), std::move(source))});
}

std::string DevicesUnknown(const v1::NodeSnapshot& snapshot) {
  if (snapshot.host().rdma_netns_mode() == v1::RDMA_NETNS_MODE_EXCLUSIVE)
    return "devices may be in other network namespaces";
  for (const v1::Gap& gap : snapshot.gaps())
    if (gap.inspector() == "rdma_devices" &&
        (snapshot.captured() || gap.code() != v1::GAP_CODE_NOT_FOUND))
      return gap.reason();
  return {};
}

std::string PortFile(const fleet::PortView& port, std::string_view file) {
  return Format("sys/class/infiniband/{}/ports/{}/{}", port.device->name(), port.port->number(),
                file);
}

std::string NetdevFile(const fleet::PortView& port, std::string_view file) {
  if (port.port->netdev().empty())
    return Format("{} of the netdev of {}/{}", file, port.device->name(), port.port->number());
  return Format("sys/class/net/{}/{}", port.port->netdev(), file);
}

std::string VerbsSource(const fleet::PortView& port) {
  return Format("verbs query_port {} {}", port.device->name(), port.port->number());
}

}  // namespace fabric::rules
