#include "tests/testing/full_count.h"

#include <map>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "proto/affected.h"
#include "proto/names.h"

namespace fabric::testing {
namespace {

// All elements of a list. The first field of the response is the list.
template <class Response, class Request>
Response All(control::Controller& controller, Request request, Moment now) {
  Response all;
  do {
    Response page;
    if (!controller.Call(request, page, now).ok()) return {};
    request.set_page_token(page.next_page_token());
    all.MergeFrom(page);
  } while (!request.page_token().empty());
  return all;
}

using Counts = std::map<std::string, std::uint64_t>;

void CountFindings(const v1::ListFindingsResponse& listed, Counts& counts) {
  for (const v1::Finding& finding : listed.findings()) {
    if (!finding.explained_by().empty()) continue;
    const std::string severity(Name(finding.severity()));
    if (finding.has_silenced()) {
      ++counts["silenced " + severity];
      continue;
    }
    ++counts[Format("open {} {}", finding.rule(), severity)];
    for (const std::string& node : NodesOf(finding))
      if (counts.contains("node " + node))
        ++counts[Format("node {} {} {}", node, finding.rule(), severity)];
  }
}

Counts FullCount(control::Controller& controller, Moment now) {
  const auto nodes = All<v1::ListNodesResponse>(controller, v1::ListNodesRequest(), now);
  const auto ports = All<v1::ListDevicesResponse>(controller, v1::ListDevicesRequest(), now);
  const auto findings = All<v1::ListFindingsResponse>(controller, v1::ListFindingsRequest(), now);
  Counts counts;
  for (const v1::NodeSummary& node : nodes.nodes())
    counts["node " + node.name()] = node.state() == v1::NODE_STATE_CONNECTED ? 2 : 1;
  for (const v1::DeviceSummary& port : ports.devices()) {
    ++counts[Format("ports {}", Name(port.state()))];
    if (!port.has_rail()) continue;
    ++counts[Format("rail {} {}", port.rail(), Name(port.state()))];
    if (port.state() != v1::PORT_STATE_ACTIVE) continue;
    if (port.rate_bps() > 0) ++counts[Format("rail {} rate {}", port.rail(), port.rate_bps())];
    if (port.active_mtu_bytes() > 0)
      ++counts[Format("rail {} mtu {}", port.rail(), port.active_mtu_bytes())];
  }
  CountFindings(findings, counts);
  return counts;
}

Counts CountsOf(const control::FleetNumbers& numbers) {
  Counts counts;
  for (const auto& [name, node] : numbers.nodes) {
    counts["node " + name] = node.connected ? 2 : 1;
    for (const auto& [key, count] : node.findings)
      counts[Format("node {} {} {}", name, key.first, Name(key.second))] = count;
  }
  for (const auto& [state, count] : numbers.ports) counts[Format("ports {}", Name(state))] = count;
  for (const auto& [rail, ports] : numbers.rails) {
    for (const auto& [state, count] : ports.states)
      counts[Format("rail {} {}", rail, Name(state))] = count;
    for (const auto& [rate, count] : ports.rates_bps)
      counts[Format("rail {} rate {}", rail, rate)] = count;
    for (const auto& [mtu, count] : ports.mtus_bytes)
      counts[Format("rail {} mtu {}", rail, mtu)] = count;
  }
  for (const auto& [key, count] : numbers.findings_open)
    if (count > 0) counts[Format("open {} {}", key.first, Name(key.second))] = count;
  for (const auto& [severity, count] : numbers.findings_silenced)
    counts[Format("silenced {}", Name(severity))] = count;
  return counts;
}

}  // namespace

std::string DifferenceToFullCount(control::Controller& controller, Moment now) {
  Counts expected = FullCount(controller, now);
  const Counts seen = CountsOf(controller.Numbers());
  for (const auto& [key, count] : seen) expected.try_emplace(key, 0);
  std::string text;
  for (const auto& [key, count] : expected) {
    const auto at = seen.find(key);
    const std::uint64_t other = at == seen.end() ? 0 : at->second;
    if (other != count) text += Format("{}: expected {}, saw {}\n", key, count, other);
  }
  return text;
}

}  // namespace fabric::testing
