#include "daemon/otlp/event_records.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/lists.h"
#include "base/text.h"
#include "base/utf8.h"
#include "daemon/otlp/attributes.h"
#include "proto/events.h"
#include "proto/labels.h"
#include "proto/names.h"
#include "proto/node_actions.h"
#include "proto/timestamps.h"

namespace fabric::otlp {
namespace {

namespace logs = opentelemetry::proto::logs::v1;

constexpr std::size_t kBodyBytesMax = 4096;
constexpr std::size_t kValueBytesMax = 512;
constexpr std::size_t kPortsShown = 8;

// Writes the parts of a record that depend on the kind of the event.
class Describer {
 public:
  explicit Describer(LogRecord& record) : record_(record) { SetLevel(logs::SEVERITY_NUMBER_INFO); }

  void Node(const v1::NodeSummary& node, bool labels) {
    Attribute("node", node.name());
    if (labels) {
      Attribute("change", "labels");
      const std::string text = LabelsText(node.labels());
      Body(Format("node {} has the labels {}", node.name(), text.empty() ? "(none)" : text));
      return;
    }
    const bool lost = node.state() == v1::NODE_STATE_LOST;
    const char* const change =
        lost ? "lost" : (node.state() == v1::NODE_STATE_REMOVED ? "removed" : "connected");
    Attribute("change", change);
    if (lost) SetLevel(logs::SEVERITY_NUMBER_WARN);
    Body(Format("node {} {}{}", node.name(), change,
                node.lost_reason().empty() ? "" : ": " + node.lost_reason()));
  }

  void Finding(const v1::Finding& finding, const v1::Event& event) {
    const v1::Subject& subject = finding.subject();
    const bool open = finding.state() != v1::FINDING_STATE_RESOLVED;
    const std::string_view change =
        !open ? "resolved" : (IsOpening(finding, event) ? "opened" : "changed");
    Attribute("finding", finding.id());
    Attribute("rule", finding.rule());
    Attribute("change", change);
    Attribute("verdict", Name(finding.verdict()));
    Attribute("severity", Name(finding.severity()));
    Attribute("node", subject.node());
    Port(subject.device(), subject.port());
    Attribute("switch", subject.switch_name());
    if (open && finding.verdict() == v1::VERDICT_FAIL) SetLevel(LevelOf(finding.severity()));
    Body(Format("finding {} {}: {} {}: {}", finding.id(), change, finding.rule(),
                SubjectName(subject), finding.title()));
  }

  void Campaign(const v1::Campaign& campaign) {
    Attribute("campaign", campaign.id());
    Attribute("change", Name(campaign.state()));
    Body(Format("campaign {} {}: {} probes ok, {} failed", campaign.id(), Name(campaign.state()),
                campaign.probes_ok(), campaign.probes_failed()));
  }

  void Pair(const v1::PairResult& pair) {
    const std::string_view kind = ProbeKindName(pair.probe());
    Attribute("node", pair.from().node());
    Port(pair.from().device(), pair.from().port());
    Attribute("peer", pair.to().node());
    Attribute("probe", kind);
    Attribute("change", Name(pair.result().status()));
    const std::string& reason = pair.result().reason();
    Body(Format("probe {} from {} to {} on rail {}: {}{}", kind, pair.from().node(),
                pair.to().node(), pair.from().rail(), Name(pair.result().status()),
                reason.empty() ? "" : ": " + reason));
  }

  void OnePort(const v1::PortEvent& port) {
    Attribute("node", port.node());
    Port(port.device(), port.port());
    Attribute("change", Name(port.after()));
    Body(Format("port {}/{}/{}: {} -> {}", port.node(), port.device(), port.port(),
                Name(port.before()), Name(port.after())));
  }

  void Ports(const v1::PortEvents& ports) {
    std::vector<std::string> names;
    for (const v1::PortEvent& port : ports.ports())
      names.push_back(Format("{}/{} {}", port.device(), port.port(), Name(port.after())));
    Attribute("node", ports.node());
    Body(Format("node {}: {} changed: {}", ports.node(), Plural(ports.total(), "port"),
                ListSome(names, kPortsShown, ports.total())));
  }

  void Subnet(const v1::SubnetEvent& subnet) {
    Attribute("subnet", subnet.subnet());
    Body(Format("subnet {}: {}", subnet.subnet(), Plural(subnet.total(), "change")));
  }

  void NodeAction(const v1::NodeAction& action) {
    Attribute("node", action.node());
    Attribute("action", action.id());
    Attribute("change", Name(action.state()));
    Body(NodeActionText(action));
  }

  void Gap(const v1::EventGap& gap) {
    SetLevel(logs::SEVERITY_NUMBER_WARN);
    if (gap.has_missed()) Number("missed", static_cast<std::int64_t>(gap.missed()));
    Body("events are missing: " + gap.reason());
  }

  // An empty value is absent.
  void Attribute(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    AddText(Key(name), Utf8Prefix(value, kValueBytesMax), *record_.mutable_attributes());
  }
  void Number(std::string_view name, std::int64_t value) {
    AddNumber(Key(name), value, *record_.mutable_attributes());
  }

 private:
  static std::string Key(std::string_view name) { return Format("fabric.{}", name); }

  // An opening is the only change at the time of the opening.
  static bool IsOpening(const v1::Finding& finding, const v1::Event& event) {
    return Nanoseconds(finding.opened_at()) == Nanoseconds(event.at()) &&
           Nanoseconds(finding.changed_at()) == Nanoseconds(event.at()) &&
           !finding.has_acknowledged();
  }

  static logs::SeverityNumber LevelOf(v1::Severity severity) {
    switch (severity) {
      case v1::SEVERITY_CRITICAL: return logs::SEVERITY_NUMBER_ERROR2;
      case v1::SEVERITY_ERROR: return logs::SEVERITY_NUMBER_ERROR;
      case v1::SEVERITY_WARNING: return logs::SEVERITY_NUMBER_WARN;
      default: return logs::SEVERITY_NUMBER_INFO;
    }
  }

  void SetLevel(logs::SeverityNumber level) {
    record_.set_severity_number(level);
    switch (level) {
      case logs::SEVERITY_NUMBER_ERROR2: return record_.set_severity_text("critical");
      case logs::SEVERITY_NUMBER_ERROR: return record_.set_severity_text("error");
      case logs::SEVERITY_NUMBER_WARN: return record_.set_severity_text("warning");
      default: return record_.set_severity_text("info");
    }
  }

  void Port(std::string_view device, std::uint32_t port) {
    Attribute("device", device);
    if (port > 0) Number("port", port);
  }

  void Body(std::string_view text) {
    record_.mutable_body()->set_string_value(std::string(Utf8Prefix(text, kBodyBytesMax)));
  }

  LogRecord& record_;
};

}  // namespace

LogRecord RecordOf(const v1::Event& event, WallTime now) {
  LogRecord record;
  if (event.has_at()) record.set_time_unix_nano(UnixNanoseconds(FromProto(event.at())));
  record.set_observed_time_unix_nano(UnixNanoseconds(now));
  Describer to(record);
  to.Attribute("kind", event.kind());
  switch (event.body_case()) {
    case v1::Event::kNode: to.Node(event.node(), IsLabelChange(event)); break;
    case v1::Event::kFinding: to.Finding(event.finding(), event); break;
    case v1::Event::kCampaign: to.Campaign(event.campaign()); break;
    case v1::Event::kPairResult: to.Pair(event.pair_result()); break;
    case v1::Event::kPort: to.OnePort(event.port()); break;
    case v1::Event::kPorts: to.Ports(event.ports()); break;
    case v1::Event::kSubnet: to.Subnet(event.subnet()); break;
    case v1::Event::kNodeAction: to.NodeAction(event.node_action()); break;
    case v1::Event::kGap: to.Gap(event.gap()); break;
    case v1::Event::BODY_NOT_SET: break;
  }
  to.Attribute("cursor", event.cursor());
  return record;
}

}  // namespace fabric::otlp
