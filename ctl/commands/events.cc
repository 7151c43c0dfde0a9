#include <algorithm>
#include <optional>
#include <utility>

#include "base/lists.h"
#include "base/suggest.h"
#include "base/text.h"
#include "ctl/client.h"
#include "ctl/command.h"
#include "ctl/host_list.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/finding_table.h"
#include "ctl/tables/result_tables.h"
#include "ctl/tables/subnet_change.h"
#include "proto/events.h"
#include "proto/labels.h"
#include "proto/names.h"
#include "proto/node_actions.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

// For --kind: those of EventKind, without gaps, which are always shown.
constexpr std::string_view kEventKinds[] = {"node",  "port",   "finding", "campaign",
                                            "probe", "subnet", "action"};

std::string EventKindNames() {
  return Join({std::begin(kEventKinds), std::end(kEventKinds)}, ", ");
}

constexpr Option kEventsOptions[] = {
    {.name = "watch",
     .type = OptionType::kBool,
     .doc = "Print new events until interrupted; with --since, first those that are kept.",
     .letter = 'w'},
    {.name = "since",
     .value = "DURATION|CURSOR",
     .doc = "Start with the events of this duration, such as 1h, or after this event: its cursor "
            "(-o name), or its number in this run of the controller. The controller keeps a "
            "limited number of events of its present run. Default: 1h; with --watch: new events "
            "only."},
    {.name = "kind",
     .type = OptionType::kWords,
     .value = "KINDS",
     .doc = "Show only these kinds.",
     .names = EventKindNames},
    NodesOption("node", "Show only events about these nodes: n1,n2, gpu[001-016,20] or pool=h100."),
    kSelectorOption,
    {.name = "rule", .value = "RULE", .doc = "Show only findings of this rule."},
    {.name = "filter",
     .value = "EXPR",
     .doc = "Show only events that match all terms, by field of -o json: "
            "'kind=finding finding.severity>=error'. Gaps are always shown."},
    {.name = "limit",
     .type = OptionType::kNumber,
     .min = "1",
     .doc = "End after this number of events. Default: no limit."},
};

constexpr std::string_view kListedSince = "1h";  // Without --since and --watch
constexpr std::size_t kPortsShown = 8;
constexpr std::size_t kChangesShown = 4;

std::string Measured(const v1::ProbeResult& result) {
  std::string text(StatusWord(result));
  if (result.latency().median_us() > 0)
    text += Format(", median {:.2f} µs", result.latency().median_us());
  if (result.has_bandwidth()) text += ", " + BitRate(result.bandwidth().mean_bps());
  if (!result.reason().empty()) text += ": " + result.reason();
  return text;
}

std::string LifeSuffix(const v1::Finding& finding) {
  const std::string life = StatusCell(finding);
  return life == kAbsent ? std::string() : Format(" ({})", life);
}

std::string NodeEventText(const v1::Event& event, bool of_change) {
  const v1::NodeSummary& summary = event.node();
  if (of_change && IsLabelChange(event)) return "labels: " + Cell(LabelsText(summary.labels()));
  if (summary.state() == v1::NODE_STATE_LOST) return "lost: " + Cell(summary.lost_reason());
  return summary.state() == v1::NODE_STATE_REMOVED ? "removed" : "connected";
}

// Subject, and what happened. of_change: false for the state of a node after a gap, which has the
// time of the gap.
std::vector<std::string> Describe(const v1::Event& event, bool of_change) {
  switch (event.body_case()) {
    case v1::Event::kNode: return {event.node().name(), NodeEventText(event, of_change)};
    case v1::Event::kFinding: {
      const v1::Finding& finding = event.finding();
      return {SubjectName(finding.subject()),
              Format("{} {} {}: {}{}", Name(finding.state()), Name(finding.severity()),
                     finding.rule(), finding.title(), LifeSuffix(finding))};
    }
    case v1::Event::kCampaign: {
      const v1::Campaign& campaign = event.campaign();
      return {campaign.id(),
              Format("{}, {}: {}", Name(campaign.state()),
                     Plural(campaign.probes_planned(), "probe"), CountsText(campaign))};
    }
    case v1::Event::kPairResult: {
      const v1::PairResult& pair = event.pair_result();
      return {Format("{}->{}", pair.from().node(), pair.to().node()),
              Format("rail {} {} {}", pair.from().rail(), ProbeKindName(pair.probe()),
                     Measured(pair.result()))};
    }
    case v1::Event::kPort: {
      const v1::PortEvent& port = event.port();
      return {Format("{}/{}/{}", port.node(), port.device(), port.port()),
              Format("{} -> {}", Name(port.before()), Name(port.after()))};
    }
    case v1::Event::kPorts: {
      const v1::PortEvents& ports = event.ports();
      std::vector<std::string> names;
      for (const v1::PortEvent& port : ports.ports())
        names.push_back(Format("{}/{} {}", port.device(), port.port(), Name(port.after())));
      return {ports.node(), Format("{}: {}", Plural(ports.total(), "port"),
                                   ListSome(names, kPortsShown, ports.total()))};
    }
    case v1::Event::kSubnet: {
      const v1::SubnetEvent& subnet = event.subnet();
      std::vector<std::string> changes;
      for (const v1::SubnetChange& change : subnet.changes())
        changes.push_back(SubnetChangeText(change));
      return {subnet.subnet(), Format("{}: {}", Plural(subnet.total(), "change"),
                                      ListSome(changes, kChangesShown, subnet.total()))};
    }
    case v1::Event::kNodeAction:
      return {event.node_action().node(), NodeActionText(event.node_action())};
    case v1::Event::kGap: return {std::string(kAbsent), event.gap().reason()};
    case v1::Event::BODY_NOT_SET: break;
  }
  return {std::string(kAbsent), "unknown kind of event; upgrade fabricctl"};
}

// For --since. An older controller sends numbers only.
std::string CursorOf(const v1::Event& event) {
  return event.cursor().empty() ? Format("{}", event.sequence()) : event.cursor();
}

// A misspelled name would show no event and look like a quiet fabric.
Status CheckEventRule(Client& client, const std::string& rule) {
  if (rule.empty()) return {};
  ASSIGN_OR_RETURN(const auto known, client.List<v1::ListRulesResponse>(v1::ListRulesRequest()));
  Candidates ids;
  for (const v1::RuleInfo& one : known.rules()) ids.push_back(one.id());
  if (std::ranges::find(ids, rule) != ids.end()) return {};
  return {Code::kNotFound, UnknownName("rule", rule, ids, "; see fabricctl rules")};
}

// Of a selector the controller has said the names.
Status CheckEventNodes(Client& client, const std::vector<std::string>& nodes) {
  if (nodes.empty()) return {};
  v1::ListNodesRequest request;
  request.set_fields("name");
  ASSIGN_OR_RETURN(const auto known, client.List<v1::ListNodesResponse>(request));
  Candidates names;
  for (const v1::NodeSummary& one : known.nodes()) names.push_back(one.name());
  for (const std::string& node : nodes)
    if (std::ranges::find(names, node) == names.end())
      return {Code::kNotFound,
              UnknownName("node", node, names,
                          Format("; of a node that was removed: --filter 'node.name={}'", node))};
  return {};
}

// Options that select events. Gaps are always shown.
struct EventFilter {
  std::vector<std::string> kinds;
  NodeSet nodes;
  std::string rule;
  std::string expression;  // The controller evaluates it.
  WallTime first = {};     // Events before it are not shown.

  bool Shows(const v1::Event& event) const {
    if (event.has_gap()) return true;
    if (event.has_at() && FromProto(event.at()) < first) return false;
    if (!rule.empty() && event.finding().rule() != rule) return false;
    if (!kinds.empty() && std::ranges::find(kinds, EventKind(event)) == kinds.end()) return false;
    return nodes.empty() || IsAbout(event, nodes);
  }

  // So that the controller sends no others.
  void WriteTo(v1::WatchEventsRequest& request) const {
    request.mutable_nodes()->Assign(nodes.begin(), nodes.end());
    std::vector<std::string> terms;
    if (!kinds.empty()) terms.push_back(Format("kind=~{}", Join(kinds, "|")));
    if (!rule.empty()) terms.push_back(Format("finding.rule=\"{}\"", rule));
    if (!expression.empty()) terms.push_back(expression);
    request.set_filter(Join(terms, " "));
  }
};

Result<EventFilter> FilterOf(Client& client, const Arguments& arguments) {
  const Candidates kinds(std::begin(kEventKinds), std::end(kEventKinds));
  EventFilter filter{.kinds = arguments.Words("kind"),
                     .rule = arguments.Text("rule"),
                     .expression = arguments.Text("filter")};
  ASSIGN_OR_RETURN(const std::vector<std::string> nodes, NodesOf(client, arguments, "node"));
  RETURN_IF_ERROR(CheckEventNodes(client, nodes));
  RETURN_IF_ERROR(CheckEventRule(client, filter.rule));
  filter.nodes.insert(nodes.begin(), nodes.end());
  for (const std::string& kind : filter.kinds)
    if (std::ranges::find(kinds, kind) == kinds.end())
      return Status(
          Code::kInvalidArgument,
          "--kind: " + UnknownName("kind", kind, kinds, "; expected one of " + EventKindNames()));
  return filter;
}

Output EventOutput(const v1::Event& event, std::string_view note = {}, bool of_change = true) {
  Table table{.columns = {{.title = "TIME", .width_min = 20},
                          {.title = "SEQ", .right_aligned = true, .width_min = 5},
                          {.title = "KIND", .width_min = 8},
                          {.title = "SUBJECT", .width_min = 12},
                          {.title = "WHAT", .elastic = true}}};
  const std::string_view kind = EventKind(event);
  std::vector<std::string> row = {ToString(event.at()), Format("{}", event.sequence()),
                                  std::string(kind.empty() ? "event" : kind)};
  for (std::string& cell : Describe(event, of_change)) row.push_back(std::move(cell));
  row.back() += note;
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

// Where --since starts. A duration: before all events that the controller keeps.
Status SetStart(const std::string& since, WallTime now, v1::WatchEventsRequest& request,
                EventFilter& filter) {
  // A cursor of no run: the controller answers with a gap and all events that it keeps.
  constexpr std::string_view kBeforeAll = "0-0";
  if (const auto number = ParseNumber<std::uint64_t>(since); number.ok()) {
    request.set_after_sequence(*number);
  } else if (since.empty() || since.find('-') != since.npos) {
    request.set_after_cursor(since);
  } else {
    const auto duration = ParseDuration(since);
    if (!duration.ok())
      return {Code::kInvalidArgument,
              Format("--since: expected a duration such as 1h, or the cursor or number of an "
                     "event, saw {}",
                     Quoted(since))};
    filter.first = now - *duration;
    request.set_after_cursor(std::string(kBeforeAll));
  }
  return {};
}

// The gap at the beginning of --since DURATION, as an event that says what is not kept. Empty: all
// events of the duration are kept.
std::optional<v1::Event> NotKept(v1::Event gap, WallTime first) {
  if (gap.has_at() && FromProto(gap.at()) <= first) return {};
  gap.mutable_gap()->set_reason(gap.has_at() ? "the controller keeps no earlier events"
                                             : "the controller keeps no events");
  return gap;
}

// Prints the events that the filter shows, up to a limit.
class EventPrinter {
 public:
  EventPrinter(Client& client, Stream& stream, const EventFilter& filter, std::uint32_t limit)
      : client_(client), stream_(stream), filter_(filter), left_(limit) {}

  // False: this was the last one.
  bool Take(const v1::Event& event) {
    const bool at_start = std::exchange(last_, CursorOf(event)).empty();
    if (at_start && event.has_gap() && filter_.first != WallTime{}) {
      const auto gap = NotKept(event, filter_.first);
      return !gap || Print(*gap);
    }
    if (!filter_.Shows(event)) return true;
    // The state cannot be filtered by an expression about events.
    const bool with_state = event.has_gap() && filter_.expression.empty();
    if (!Print(event, with_state ? "; the state now follows" : "")) return false;
    return !with_state || PrintState(event);
  }

  const std::string& last() const { return last_; }
  const Status& failure() const { return failure_; }
  bool limit_reached() const { return limit_reached_; }
  bool any() const { return any_; }
  bool broken() const { return broken_; }  // Cannot write to standard output.

 private:
  bool Print(const v1::Event& event, std::string_view note = {}) {
    any_ = true;
    broken_ = !stream_.Print(EventOutput(event, note));
    if (broken_) return false;
    limit_reached_ = left_ == 1;
    if (left_ > 0) --left_;
    return !limit_reached_;
  }

  bool PrintState(const v1::Event& gap) {
    const auto now = StateAfter(gap, client_);
    if (!now.ok()) failure_ = now.status();
    broken_ = now.ok() && !std::all_of(now->begin(), now->end(), [&](const v1::Event& one) {
                return !filter_.Shows(one) || stream_.Print(EventOutput(one, {}, false));
              });
    return now.ok() && !broken_;
  }

  Client& client_;
  Stream& stream_;
  const EventFilter& filter_;
  std::uint32_t left_;  // 0: without a limit
  std::string last_;
  Status failure_;
  bool limit_reached_ = false;
  bool any_ = false;
  bool broken_ = false;
};

Output NoEvents(std::string_view since) {
  Output output;
  output.tables.push_back(
      {.columns = {{.title = "TIME"}}, .empty_note = Format("No events since {}.", since)});
  return output;
}

Result<Output> RunEvents(Client& client, const Arguments& arguments, Stream& stream) {
  ASSIGN_OR_RETURN(EventFilter filter, FilterOf(client, arguments));
  v1::WatchEventsRequest request;
  const bool follow = arguments.Bool("watch");
  std::string since = arguments.Text("since");
  if (since.empty() && !follow) since = kListedSince;
  RETURN_IF_ERROR(SetStart(since, stream.Now(), request, filter));
  filter.WriteTo(request);
  EventPrinter printer(client, stream, filter,
                       arguments.Has("limit") ? arguments.Number("limit") : 0);
  const Status ended =
      client.WatchEvents(request, follow ? EventSpan::kKeptAndNew : EventSpan::kKept,
                         [&](const v1::Event& event) { return printer.Take(event); });
  RETURN_IF_ERROR(printer.failure());
  if (printer.broken()) return Status(Code::kInternal, "cannot write to standard output");
  if (ended.ok()) return printer.any() ? Output() : NoEvents(since);
  const std::string& last = printer.last().empty() ? since : printer.last();
  if (last.empty() || ended.code() == Code::kInvalidArgument) return ended;
  return Status(ended.code(), Format("{}; to resume: fabricctl events --watch --since {}",
                                     ended.message(), last));
}

}  // namespace

extern const Command events = {
    .path = "events",
    .summary = "List or follow events of nodes, ports, findings, campaigns and probes.",
    .description =
        "Lists the events of the last hour and ends; --watch follows new ones. Prints one line for "
        "each event: time, number, kind, subject and description. -o json prints one object on "
        "each line. A gap means that events were missed, because the controller restarted or "
        "discarded them: the lines after it are the nodes that are lost and the findings that are "
        "open now (not with --filter).",
    .example =
        "fabricctl events --since 1h --kind finding,node\n"
        "fabricctl events --watch --node n2",
    .options = kEventsOptions,
    .run = RunEvents,
};

}  // namespace fabric::ctl
