#include "ctl/tables/campaign_summary.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "ctl/tables/cells.h"
#include "proto/names.h"
#include "proto/probe_kinds.h"

namespace fabric::ctl {
namespace {

constexpr std::size_t kGroupsMax = 12;
constexpr std::size_t kWorstMax = 8;

bool IsPartOfName(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '_';
}

// Not within a longer name: n1 is not in n10.
void ReplaceName(const std::string& name, std::string& text) {
  constexpr std::string_view kInstead = "NODE";
  for (std::size_t at = 0; !name.empty() && (at = text.find(name, at)) != text.npos;) {
    const std::size_t end = at + name.size();
    const bool within =
        (at > 0 && IsPartOfName(text[at - 1])) || (end < text.size() && IsPartOfName(text[end]));
    if (!within) text.replace(at, name.size(), kInstead);
    at = within ? end : at + kInstead.size();
  }
}

// The reason without the names of the pair, which differ between pairs with the same fault.
std::string CommonReason(const v1::PairResult& pair) {
  std::string reason = pair.result().reason();
  for (const v1::ProbePort& port : {pair.from(), pair.to()}) {
    ReplaceName(Format("{}/{}/{}", port.node(), port.device(), port.port()), reason);
    ReplaceName(port.node(), reason);
  }
  return reason;
}

struct FailureGroup {
  std::uint32_t count = 0;
  std::set<std::string> nodes;
  const v1::PairResult* first = nullptr;
};

Table FailureTable(const v1::Campaign& campaign) {
  std::map<std::tuple<std::string, std::string, std::string>, FailureGroup> groups;
  for (const v1::PairResult& pair : campaign.results()) {
    if (pair.result().status() == v1::PROBE_STATUS_OK) continue;
    FailureGroup& group = groups[{std::string(ProbeKindName(pair.probe())),
                                  std::string(StatusWord(pair.result())), CommonReason(pair)}];
    if (group.count++ == 0) group.first = &pair;
    group.nodes.insert({pair.from().node(), pair.to().node()});
  }
  std::vector<
      std::pair<const std::tuple<std::string, std::string, std::string>*, const FailureGroup*>>
      sorted;
  for (const auto& [key, group] : groups) sorted.emplace_back(&key, &group);
  std::ranges::stable_sort(
      sorted, [](const auto& a, const auto& b) { return a.second->count > b.second->count; });
  Table table{.title = sorted.size() <= kGroupsMax
                           ? std::string("failures")
                           : Format("failures: the {} most frequent of {} reasons", kGroupsMax,
                                    sorted.size()),
              .columns = {{.title = "COUNT", .right_aligned = true},
                          {.title = "NODES", .right_aligned = true},
                          {.title = "KIND"},
                          {.title = "STATUS", .coloured = true},
                          {.title = "FIRST PAIR"},
                          {.title = "REASON", .elastic = true}}};
  for (const auto& [key, group] : sorted) {
    if (table.rows.size() == kGroupsMax) break;
    table.rows.push_back(
        {Format("{}", group->count), Format("{}", group->nodes.size()), std::get<0>(*key),
         std::get<1>(*key),
         Format("{} to {}", PortName(group->first->from()), PortName(group->first->to())),
         Cell(std::get<2>(*key))});
  }
  return table;
}

// Larger is worse.
double Badness(const v1::PairResult& pair) {
  const v1::ProbeResult& result = pair.result();
  if (result.has_bandwidth()) return -result.bandwidth().mean_bps();
  if (result.ping().lost() > 0) return 1e9 * result.ping().lost();
  if (result.has_ping()) return result.ping().network_round_trip().median_us();
  return result.latency().median_us();
}

std::string FigureText(const v1::PairResult& pair) {
  const v1::ProbeResult& result = pair.result();
  if (result.has_bandwidth()) return BitRate(result.bandwidth().mean_bps());
  if (result.ping().lost() > 0)
    return Format("{} of {} pings lost", result.ping().lost(), result.ping().sent());
  const double us = result.has_ping() ? result.ping().network_round_trip().median_us()
                                      : result.latency().median_us();
  return us > 0 ? Format("{:.2f} µs", us) : std::string(kAbsent);
}

Table WorstTable(std::string_view kind, PairResults pairs) {
  std::ranges::stable_sort(pairs, [](const v1::PairResult* a, const v1::PairResult* b) {
    return Badness(*a) > Badness(*b);
  });
  const std::string median = FigureText(*pairs[pairs.size() / 2]);
  Table table{.title = Format("{}: worst of {} ok, median {}", kind, pairs.size(), median),
              .columns = {{.title = "RAIL", .right_aligned = true},
                          {.title = "FROM"},
                          {.title = "TO"},
                          {.title = "VALUE", .right_aligned = true},
                          {.title = "EXPECTED"}}};
  for (const v1::PairResult* const pair : pairs) {
    if (table.rows.size() == kWorstMax) break;
    const v1::ProbeExpectation& limits = pair->expectation();
    table.rows.push_back(
        {RailName(pair->from(), pair->to()), PortName(pair->from()), PortName(pair->to()),
         FigureText(*pair),
         limits.has_bandwidth_min_bps() ? "at least " + BitRate(limits.bandwidth_min_bps())
         : limits.has_latency_max_us()  ? Format("at most {:.2f} µs", limits.latency_max_us())
                                        : std::string(kAbsent)});
  }
  return table;
}

}  // namespace

std::vector<Table> SummaryTables(const v1::Campaign& campaign) {
  std::vector<Table> tables;
  if (Table failures = FailureTable(campaign); !failures.rows.empty())
    tables.push_back(std::move(failures));
  std::map<std::string_view, PairResults> kinds;
  for (const v1::PairResult& pair : campaign.results())
    if (pair.result().status() == v1::PROBE_STATUS_OK &&
        MeasureOf(pair.probe()) != v1::MEASURE_UNSPECIFIED)
      kinds[ProbeKindName(pair.probe())].push_back(&pair);
  for (auto& [kind, pairs] : kinds) tables.push_back(WorstTable(kind, std::move(pairs)));
  return tables;
}

}  // namespace fabric::ctl
