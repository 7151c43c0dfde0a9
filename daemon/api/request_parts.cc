#include "daemon/api/request_parts.h"

#include <string>
#include <utility>

#include "base/text.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::api {
namespace {

using access::Part;
using Parts = std::vector<Part>;
using google::protobuf::Message;

const Parts kEverything = {Part()};

// CampaignSpec or CertificateRequest
template <class Spec>
Parts PartsOfSpec(const Spec& spec) {
  const std::vector<std::uint32_t> rails(spec.rails().begin(), spec.rails().end());
  if (spec.nodes().empty()) return {Part{.node = {}, .rails = rails}};
  Parts parts;
  for (const std::string& node : spec.nodes()) parts.push_back({.node = node, .rails = rails});
  return parts;
}

Parts PartsOfCampaign(const v1::CampaignSpec& spec) {
  Parts parts = PartsOfSpec(spec);
  if (!spec.hub().empty()) parts.push_back({.node = spec.hub(), .rails = parts.front().rails});
  return parts;
}

Parts PartsOfSubject(const v1::Subject& subject) {
  Part part{.node = subject.node(), .rails = {}};
  if (subject.has_rail()) part.rails = {subject.rail()};
  return {part};
}

template <class Response, class Request>
Result<Response> Ask(control::Controller& controller, const Request& request, Moment now) {
  Response response;
  RETURN_IF_ERROR(controller.Call(request, response, now));
  return response;
}

Result<Parts> PartsOfFinding(control::Controller& controller, const std::string& id, Moment now) {
  v1::GetFindingRequest request;
  request.set_id(id);
  ASSIGN_OR_RETURN(const auto found, Ask<v1::GetFindingResponse>(controller, request, now));
  const v1::Finding& finding = found.finding();
  if (finding.affected().empty()) return PartsOfSubject(finding.subject());
  // The list can be cut.
  if (finding.affected_total() > static_cast<std::uint32_t>(finding.affected_size()))
    return kEverything;
  Parts parts;
  for (const v1::Subject& subject : finding.affected())
    for (Part& part : PartsOfSubject(subject)) parts.push_back(std::move(part));
  return parts;
}

Result<Parts> PartsOfSilence(control::Controller& controller, const v1::Silence& silence,
                             Moment now) {
  if (!silence.finding().empty()) return PartsOfFinding(controller, silence.finding(), now);
  return Parts{Part{.node = silence.node(), .rails = {}}};
}

// The element with this id, of all pages of a list.
template <class Response, class Request, class List>
auto FindById(control::Controller& controller, Request request, List list, const std::string& id,
              Moment now) -> Result<std::decay_t<decltype(list(Response())[0])>> {
  while (true) {
    ASSIGN_OR_RETURN(const Response page, Ask<Response>(controller, request, now));
    for (const auto& element : list(page))
      if (element.id() == id) return element;
    if (page.next_page_token().empty())
      return Status(Code::kNotFound, "nothing has the id " + Quoted(id));
    request.set_page_token(page.next_page_token());
  }
}

Result<Parts> PartsOfNodeAction(control::Controller& controller, const std::string& id,
                                Moment now) {
  ASSIGN_OR_RETURN(const v1::NodeAction action,
                   FindById<v1::ListNodeActionsResponse>(
                       controller, v1::ListNodeActionsRequest(),
                       [](const auto& page) { return page.node_actions(); }, id, now));
  return Parts{Part{.node = action.node(), .rails = {}}};
}

// Without labels of the nodes.
Result<Parts> BareParts(control::Controller& controller, const Message& request, Moment now) {
  if (const auto* const one = dynamic_cast<const v1::AcknowledgeFindingRequest*>(&request))
    return PartsOfFinding(controller, one->id(), now);
  if (const auto* const one = dynamic_cast<const v1::CreateSilenceRequest*>(&request))
    return PartsOfSilence(controller, one->silence(), now);
  if (const auto* const one = dynamic_cast<const v1::DeleteSilenceRequest*>(&request)) {
    ASSIGN_OR_RETURN(const v1::Silence silence,
                     FindById<v1::ListSilencesResponse>(
                         controller, v1::ListSilencesRequest(),
                         [](const auto& page) { return page.silences(); }, one->id(), now));
    return PartsOfSilence(controller, silence, now);
  }
  if (const auto* const one = dynamic_cast<const v1::StartCampaignRequest*>(&request))
    return PartsOfCampaign(one->spec());
  if (const auto* const one = dynamic_cast<const v1::CancelCampaignRequest*>(&request)) {
    v1::GetCampaignRequest get;
    get.set_id(one->id());
    ASSIGN_OR_RETURN(const auto campaign, Ask<v1::Campaign>(controller, get, now));
    return PartsOfCampaign(campaign.spec());
  }
  if (const auto* const one = dynamic_cast<const v1::CreateScheduleRequest*>(&request))
    return PartsOfCampaign(one->schedule().spec());
  if (const auto* const one = dynamic_cast<const v1::DeleteScheduleRequest*>(&request)) {
    ASSIGN_OR_RETURN(const v1::Schedule schedule,
                     FindById<v1::ListSchedulesResponse>(
                         controller, v1::ListSchedulesRequest(),
                         [](const auto& page) { return page.schedules(); }, one->id(), now));
    return PartsOfCampaign(schedule.spec());
  }
  if (const auto* const one = dynamic_cast<const v1::StartCertificateRequest*>(&request))
    return PartsOfSpec(one->request());
  if (const auto* const one = dynamic_cast<const v1::ProposeNodeActionRequest*>(&request))
    return Parts{Part{.node = one->node(), .rails = {}}};
  if (const auto* const one = dynamic_cast<const v1::ApproveNodeActionRequest*>(&request))
    return PartsOfNodeAction(controller, one->id(), now);
  if (const auto* const one = dynamic_cast<const v1::RevertNodeActionRequest*>(&request))
    return PartsOfNodeAction(controller, one->id(), now);
  if (const auto* const one = dynamic_cast<const v1::ReportNodeActionRequest*>(&request))
    return PartsOfNodeAction(controller, one->id(), now);
  // SetNodeLabels too: labels decide what a role covers, so that they need a role for everything.
  return kEverything;
}

}  // namespace

Result<Parts> PartsOf(control::Controller& controller, const Message& request, Moment now) {
  ASSIGN_OR_RETURN(Parts parts, BareParts(controller, request, now));
  std::vector<std::string> nodes;
  for (const Part& part : parts) nodes.push_back(part.node);
  std::vector<Labels> labels = controller.LabelsOf(nodes);
  for (std::size_t n = 0; n < parts.size(); ++n) parts[n].labels = std::move(labels[n]);
  return parts;
}

}  // namespace fabric::api
