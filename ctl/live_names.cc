#include "ctl/live_names.h"

#include "base/text.h"
#include "ctl/contexts.h"

namespace fabric::ctl {
namespace {

template <class Response, class Request, class Elements, class NameOf>
std::vector<std::string> FirstPage(Client& client, Request request, std::string_view fields,
                                   Elements elements, NameOf name_of) {
  request.set_fields(std::string(fields));
  const auto response = client.Call<Response>(request);
  std::vector<std::string> names;
  if (!response.ok()) return names;
  for (const auto& element : elements(*response)) names.push_back(name_of(element));
  return names;
}

}  // namespace

std::vector<std::string> ReadLiveNames(LiveNames names, Client& client,
                                       const std::string& config_path) {
  const auto id_of = [](const auto& element) { return element.id(); };
  switch (names) {
    case LiveNames::kNone: break;
    case LiveNames::kNodes:
      return FirstPage<v1::ListNodesResponse>(
          client, v1::ListNodesRequest(), "name",
          [](const auto& all) -> const auto& { return all.nodes(); },
          [](const auto& node) { return node.name(); });
    case LiveNames::kPorts:
      return FirstPage<v1::ListDevicesResponse>(
          client, v1::ListDevicesRequest(), "node,device,port",
          [](const auto& all) -> const auto& { return all.devices(); },
          [](const auto& port) {
            return Format("{}/{}/{}", port.node(), port.device(), port.port());
          });
    case LiveNames::kFindings:
      return FirstPage<v1::ListFindingsResponse>(
          client, v1::ListFindingsRequest(), "id",
          [](const auto& all) -> const auto& { return all.findings(); }, id_of);
    case LiveNames::kRules:
      return FirstPage<v1::ListRulesResponse>(
          client, v1::ListRulesRequest(), "id",
          [](const auto& all) -> const auto& { return all.rules(); }, id_of);
    case LiveNames::kCampaigns:
      return FirstPage<v1::ListCampaignsResponse>(
          client, v1::ListCampaignsRequest(), "id",
          [](const auto& all) -> const auto& { return all.campaigns(); }, id_of);
    case LiveNames::kSilences:
      return FirstPage<v1::ListSilencesResponse>(
          client, v1::ListSilencesRequest(), "id",
          [](const auto& all) -> const auto& { return all.silences(); }, id_of);
    case LiveNames::kContexts: {
      std::vector<std::string> found;
      if (const auto contexts = ReadContexts(config_path); contexts.ok())
        for (const auto& [name, values] : contexts->by_name) found.push_back(name);
      return found;
    }
  }
  return {};
}

}  // namespace fabric::ctl
