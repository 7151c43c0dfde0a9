#include "proto/events.h"

namespace fabric {

std::string_view EventKind(const v1::Event& event) {
  switch (event.body_case()) {
    case v1::Event::kNode: return "node";
    case v1::Event::kFinding: return "finding";
    case v1::Event::kCampaign: return "campaign";
    case v1::Event::kPairResult: return "probe";
    case v1::Event::kPort:
    case v1::Event::kPorts: return "port";
    case v1::Event::kSubnet: return "subnet";
    case v1::Event::kNodeAction: return "action";
    case v1::Event::kGap: return "gap";
    case v1::Event::BODY_NOT_SET: break;
  }
  return {};
}

bool IsAbout(const v1::Event& event, const NodeSet& nodes) {
  const v1::PairResult& pair = event.pair_result();
  return nodes.contains(event.node().name()) || nodes.contains(event.port().node()) ||
         nodes.contains(event.ports().node()) || nodes.contains(pair.from().node()) ||
         nodes.contains(pair.to().node()) || nodes.contains(event.node_action().node()) ||
         AffectsOneOf(event.finding(), nodes);
}

bool IsLabelChange(const v1::Event& event) {
  const google::protobuf::Timestamp& since = event.node().state_since();
  return event.has_at() && event.node().has_state_since() &&
         (since.seconds() != event.at().seconds() || since.nanos() != event.at().nanos());
}

}  // namespace fabric
