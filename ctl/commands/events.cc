#include <algorithm>

#include "base/lists.h"
#include "base/suggest.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/finding_table.h"
#include "ctl/tables/result_tables.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr Option kEventsOptions[] = {
    {.name = "watch",
     .type = OptionType::kBool,
     .doc = "Stream events until interrupted. This is the default.",
     .letter = 'w'},
    {.name = "since",
     .value = "CURSOR",
     .doc = "Start after this event: its cursor (-o name), or its number in this run of the "
            "controller. The controller keeps a limited number of events."},
    {.name = "kind",
     .type = OptionType::kWords,
     .value = "KINDS",
     .doc = "Show only these kinds: node,port,finding,campaign,probe."},
    {.name = "node", .value = "NAME", .doc = "Show only events about this node."},
    {.name = "limit",
     .type = OptionType::kNumber,
     .min = "1",
     .doc = "End after this number of events."},
};

constexpr std::size_t kPortsShown = 8;

std::string Measured(const v1::ProbeResult& result) {
  std::string text(StatusWord(result));
  if (result.latency().median_us() > 0)
    text += Format(", median {:.2f} µs", result.latency().median_us());
  if (result.has_bandwidth()) text += ", " + BitRate(result.bandwidth().mean_bps());
  if (!result.reason().empty()) text += ": " + result.reason();
  return text;
}

std::string LifeSuffix(const v1::Finding& finding) {
  const std::string life = LifeCell(finding);
  return life == kAbsent ? std::string() : Format(" ({})", life);
}

// Kind, subject, and what happened.
std::vector<std::string> Describe(const v1::Event& event) {
  switch (event.body_case()) {
    case v1::Event::kNode: {
      const v1::NodeSummary& summary = event.node();
      if (summary.state() == v1::NODE_STATE_LOST)
        return {"node", summary.name(), "lost: " + Cell(summary.lost_reason())};
      if (summary.state() == v1::NODE_STATE_REMOVED) return {"node", summary.name(), "removed"};
      return {"node", summary.name(), "connected"};
    }
    case v1::Event::kFinding: {
      const v1::Finding& finding = event.finding();
      return {"finding", SubjectName(finding.subject()),
              Format("{} {} {}: {}{}", Name(finding.state()), Name(finding.severity()),
                     finding.rule(), finding.title(), LifeSuffix(finding))};
    }
    case v1::Event::kCampaign: {
      const v1::Campaign& campaign = event.campaign();
      return {"campaign", campaign.id(),
              Format("{}, {}: {}", Name(campaign.state()),
                     Plural(campaign.probes_planned(), "probe"), CountsText(campaign))};
    }
    case v1::Event::kPairResult: {
      const v1::PairResult& pair = event.pair_result();
      return {"probe", Format("{}->{}", pair.from().node(), pair.to().node()),
              Format("rail {} {} {}", pair.from().rail(), ProbeKindName(pair.probe()),
                     Measured(pair.result()))};
    }
    case v1::Event::kPort: {
      const v1::PortEvent& port = event.port();
      return {"port", Format("{}/{}/{}", port.node(), port.device(), port.port()),
              Format("{} -> {}", Name(port.before()), Name(port.after()))};
    }
    case v1::Event::kPorts: {
      const v1::PortEvents& ports = event.ports();
      std::vector<std::string> names;
      for (const v1::PortEvent& port : ports.ports())
        names.push_back(Format("{}/{} {}", port.device(), port.port(), Name(port.after())));
      return {"port", ports.node(),
              Format("{}: {}", Plural(ports.total(), "port"),
                     ListSome(names, kPortsShown, ports.total()))};
    }
    case v1::Event::kGap:
      return {"gap", std::string(kAbsent), event.gap().reason() + "; the state now follows"};
    case v1::Event::BODY_NOT_SET: break;
  }
  return {"event", std::string(kAbsent), "unknown kind of event; upgrade fabricctl"};
}

// For --since. An older controller sends numbers only.
std::string CursorOf(const v1::Event& event) {
  return event.cursor().empty() ? Format("{}", event.sequence()) : event.cursor();
}

bool IsAbout(const v1::Event& event, const std::string& node) {
  const v1::Finding& finding = event.finding();
  const v1::PairResult& pair = event.pair_result();
  return event.node().name() == node || event.port().node() == node ||
         event.ports().node() == node || finding.subject().node() == node ||
         pair.from().node() == node || pair.to().node() == node ||
         std::ranges::any_of(finding.affected(),
                             [&](const v1::Subject& one) { return one.node() == node; });
}

// Options that select events. Gaps are always shown.
struct EventFilter {
  std::vector<std::string> kinds;
  std::string node;

  bool Shows(const v1::Event& event) const {
    if (event.has_gap()) return true;
    if (!kinds.empty() && std::ranges::find(kinds, Describe(event)[0]) == kinds.end()) return false;
    return node.empty() || IsAbout(event, node);
  }
};

Result<EventFilter> FilterOf(const Arguments& arguments) {
  const Candidates kKinds = {"node", "port", "finding", "campaign", "probe"};
  EventFilter filter{.kinds = arguments.Words("kind"), .node = arguments.Text("node")};
  for (const std::string& kind : filter.kinds)
    if (std::ranges::find(kKinds, kind) == kKinds.end())
      return Status(Code::kInvalidArgument,
                    "--kind: " + UnknownName("kind", kind, kKinds,
                                             "; expected node, port, finding, campaign, probe"));
  return filter;
}

Output EventOutput(const v1::Event& event) {
  Table table{.columns = {{.title = "TIME", .width_min = 20},
                          {.title = "SEQ", .right_aligned = true, .width_min = 5},
                          {.title = "KIND", .width_min = 8},
                          {.title = "SUBJECT", .width_min = 12},
                          {.title = "WHAT", .elastic = true}}};
  std::vector<std::string> row = {ToString(event.at()), Format("{}", event.sequence())};
  for (std::string& cell : Describe(event)) row.push_back(std::move(cell));
  table.rows.push_back(std::move(row));
  Output output;
  output.tables.push_back(std::move(table));
  output.names.push_back(CursorOf(event));
  output.message = std::make_unique<v1::Event>(event);
  return output;
}

// What a watcher that missed events has to know: lost nodes and open findings, as events at the
// place of the gap.
Result<std::vector<v1::Event>> StateAfter(const v1::Event& gap, Client& client) {
  v1::Event base = gap;
  base.clear_gap();
  std::vector<v1::Event> events;
  v1::ListNodesRequest lost;
  lost.set_filter("state=lost");
  ASSIGN_OR_RETURN(const auto nodes, client.List<v1::ListNodesResponse>(std::move(lost)));
  for (const v1::NodeSummary& node : nodes.nodes())
    *events.emplace_back(base).mutable_node() = node;
  ASSIGN_OR_RETURN(const auto open,
                   client.List<v1::ListFindingsResponse>(v1::ListFindingsRequest()));
  for (const v1::Finding& finding : open.findings())
    *events.emplace_back(base).mutable_finding() = finding;
  return events;
}

Result<Output> RunEvents(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(const EventFilter filter, FilterOf(arguments));
  std::uint32_t left = arguments.Has("limit") ? arguments.Number("limit") : 0;
  bool limit_reached = false;
  v1::WatchEventsRequest request;
  Status failure;
  std::string last = arguments.Text("since");
  const auto number = ParseNumber<std::uint64_t>(last);
  if (number.ok())
    request.set_after_sequence(*number);
  else
    request.set_after_cursor(last);
  const Status ended = client.WatchEvents(request, [&](const v1::Event& event) {
    last = CursorOf(event);
    if (!filter.Shows(event)) return true;
    if (!stream.Print(EventOutput(event))) return false;
    limit_reached = left == 1;
    if (limit_reached) return false;
    if (left > 0) --left;
    if (!event.has_gap()) return true;
    const auto now = StateAfter(event, client);
    if (!now.ok()) failure = now.status();
    return now.ok() && std::all_of(now->begin(), now->end(), [&](const v1::Event& one) {
             return !filter.Shows(one) || stream.Print(EventOutput(one));
           });
  });
  RETURN_IF_ERROR(failure);
  if (limit_reached) return Output();
  if (ended.ok()) return Status(Code::kInternal, "cannot write to standard output");
  if (last.empty()) return ended;
  return Status(ended.code(),
                Format("{}; to resume: fabricctl events --since {}", ended.message(), last));
}

}  // namespace

extern const Command events = {
    .path = "events",
    .summary = "Stream events of nodes, ports, findings, campaigns and probes.",
    .description =
        "Prints one line for each event: time, number, kind, subject and description. -o json "
        "prints one object on each line. A gap means that events were missed, because the "
        "controller restarted or discarded them: the lines after it are the nodes that are lost "
        "and "
        "the findings that are open now. Runs until "
        "interrupted or until the controller ends the stream.",
    .example = "fabricctl events --kind finding,node -o json",
    .options = kEventsOptions,
    .run = RunEvents,
};

}  // namespace fabric::ctl
