#include "ctl/tables/result_tables.h"

#include <algorithm>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/tables/cells.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

std::string Microseconds(bool present, double us) {
  return present ? Format("{:.2f}", us) : std::string(kAbsent);
}

std::string Rate(bool present, const v1::BandwidthSummary& bandwidth) {
  return present ? BitRate(bandwidth.mean_bps()) : std::string(kAbsent);
}

std::vector<std::string> EndCells(const v1::PairResult& pair) {
  return {RailName(pair.from(), pair.to()), PortName(pair.from()), PortName(pair.to()),
          Cell(StatusWord(pair.result()))};
}

// A column that only some results have is shown if one has it.
bool AnyHas(const PairResults& pairs, bool (v1::ProbeResult::*has)() const) {
  return std::any_of(pairs.begin(), pairs.end(),
                     [&](const v1::PairResult* pair) { return (pair->result().*has)(); });
}

std::string Percent(std::uint32_t part, std::uint32_t whole) {
  return whole == 0 ? std::string(kAbsent) : Format("{:.3g} %", 100.0 * part / whole);
}

// The flow labels with the most lost pings, at most three.
std::string WorstFlows(const v1::PingSummary& ping) {
  std::vector<const v1::FlowSummary*> flows;
  for (const v1::FlowSummary& flow : ping.flows())
    if (flow.lost() > 0) flows.push_back(&flow);
  if (ping.flows_size() < 2 || flows.empty()) return std::string(kAbsent);
  std::stable_sort(flows.begin(), flows.end(),
                   [](const auto* a, const auto* b) { return a->lost() > b->lost(); });
  constexpr std::size_t kShown = 3;
  std::vector<std::string> words;
  for (const v1::FlowSummary* const flow : flows)
    words.push_back(Format("{}: {}/{}", flow->flow_label(), flow->lost(), flow->sent()));
  return ListSome(words, kShown);
}

}  // namespace

std::string RailName(const v1::ProbePort& from, const v1::ProbePort& to) {
  return from.rail() == to.rail() ? Format("{}", from.rail())
                                  : Format("{}-{}", from.rail(), to.rail());
}

std::string_view StatusWord(const v1::ProbeResult& result) {
  const bool lossy = result.status() == v1::PROBE_STATUS_OK && result.ping().lost() > 0;
  return lossy ? "lossy" : Name(result.status());
}

std::string CountsText(const v1::Campaign& campaign) {
  const std::uint32_t lossy = campaign.probes_lossy();
  std::string text = Format("{} ok", campaign.probes_ok() - std::min(lossy, campaign.probes_ok()));
  if (lossy > 0) text += Format(", {} lossy", lossy);
  text += Format(", {} failed", campaign.probes_failed());
  if (campaign.probes_cancelled() > 0)
    text += Format(", {} cancelled", campaign.probes_cancelled());
  return text;
}

Table PairTable(const PairResults& pairs) {
  const bool back = AnyHas(pairs, &v1::ProbeResult::has_reverse_bandwidth);
  Table table{.columns = {{.title = "RAIL", .right_aligned = true},
                          {.title = "KIND"},
                          {.title = "FROM"},
                          {.title = "TO"},
                          {.title = "STATUS", .coloured = true},
                          {.title = "MEDIAN µs", .right_aligned = true},
                          {.title = "P99 µs", .right_aligned = true},
                          {.title = "P99.9 µs", .wide_only = true, .right_aligned = true},
                          {.title = "P99.99 µs", .wide_only = true, .right_aligned = true},
                          {.title = "MIN µs", .wide_only = true, .right_aligned = true},
                          {.title = "MAX µs", .wide_only = true, .right_aligned = true},
                          {.title = "VOIDED", .wide_only = true, .right_aligned = true},
                          {.title = "BANDWIDTH", .right_aligned = true},
                          {.title = "BACK", .wide_only = !back, .right_aligned = true},
                          {.title = "MTU", .wide_only = true, .right_aligned = true},
                          {.title = "ROUND", .wide_only = true, .right_aligned = true},
                          {.title = "STARTED", .wide_only = true},
                          {.title = "REASON", .elastic = true}},
              .empty_note = "No results yet."};
  for (const v1::PairResult* pair : pairs) {
    const v1::ProbeResult& result = pair->result();
    const v1::LatencySummary& latency = result.latency();
    const bool timed = latency.median_us() > 0;
    table.rows.push_back({
        RailName(pair->from(), pair->to()),
        Cell(ProbeKindName(pair->probe())),
        PortName(pair->from()),
        PortName(pair->to()),
        Cell(StatusWord(result)),
        Microseconds(timed, latency.median_us()),
        Microseconds(timed, latency.p99_us()),
        Microseconds(timed && latency.p999_us() > 0, latency.p999_us()),
        Microseconds(latency.has_p9999_us(), latency.p9999_us()),
        Microseconds(timed, latency.min_us()),
        Microseconds(timed, latency.max_us()),
        NumberCell(result.has_latency(), latency.voided()),
        Rate(result.has_bandwidth(), result.bandwidth()),
        Rate(result.has_reverse_bandwidth(), result.reverse_bandwidth()),
        NumberCell(result.path_mtu_bytes() != 0, result.path_mtu_bytes()),
        Format("{}", pair->round()),
        ToString(pair->started_at()),
        Cell(result.reason()),
    });
  }
  return table;
}

Table PingTable(const PairResults& pairs) {
  Table table{.title = "pings (µs: round-trip time in the network)",
              .columns = {{.title = "RAIL", .right_aligned = true},
                          {.title = "FROM"},
                          {.title = "TO"},
                          {.title = "STATUS", .coloured = true},
                          {.title = "SENT", .right_aligned = true},
                          {.title = "LOST", .right_aligned = true},
                          {.title = "LOSS", .right_aligned = true},
                          {.title = "VOIDED", .right_aligned = true},
                          {.title = "MEDIAN µs", .right_aligned = true},
                          {.title = "P99 µs", .right_aligned = true},
                          {.title = "RESPONDER µs", .wide_only = true, .right_aligned = true},
                          {.title = "INITIATOR µs", .wide_only = true, .right_aligned = true},
                          {.title = "TIME STAMPS", .wide_only = true},
                          {.title = "LOST BY FLOW LABEL"},
                          {.title = "REASON", .elastic = true}}};
  for (const v1::PairResult* pair : pairs) {
    const v1::ProbeResult& result = pair->result();
    const v1::PingSummary& ping = result.ping();
    const bool timed = ping.has_network_round_trip();
    std::vector<std::string> row = EndCells(*pair);
    for (std::string cell :
         {NumberCell(result.has_ping(), ping.sent()), NumberCell(result.has_ping(), ping.lost()),
          Percent(ping.lost(), ping.lost() + ping.answered()),
          NumberCell(result.has_ping(), ping.voided()),
          Microseconds(timed, ping.network_round_trip().median_us()),
          Microseconds(timed, ping.network_round_trip().p99_us()),
          Microseconds(ping.has_responder_delay(), ping.responder_delay().median_us()),
          Microseconds(ping.has_initiator_delay(), ping.initiator_delay().median_us()),
          std::string(!result.has_ping()           ? kAbsent
                      : ping.hardware_timestamps() ? "adapter"
                                                   : "software"),
          WorstFlows(ping), Cell(result.reason())})
      row.push_back(std::move(cell));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table MtuTable(const PairResults& pairs) {
  Table table{.title = "path MTU",
              .columns = {{.title = "RAIL", .right_aligned = true},
                          {.title = "FROM"},
                          {.title = "TO"},
                          {.title = "STATUS", .coloured = true},
                          {.title = "PASSED"},
                          {.title = "BLOCKED"},
                          {.title = "REASON", .elastic = true}}};
  for (const v1::PairResult* pair : pairs) {
    std::vector<std::string> crossed, stopped;
    std::string reason = pair->result().reason();
    for (const v1::MtuStep& step : pair->result().mtu_steps()) {
      (step.delivered() ? crossed : stopped).push_back(Format("{}", step.mtu_bytes()));
      if (!step.delivered() && reason.empty()) reason = step.reason();
    }
    std::vector<std::string> row = EndCells(*pair);
    row.push_back(Cell(Join(crossed, " ")));
    row.push_back(Cell(Join(stopped, " ")));
    row.push_back(Cell(reason));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace fabric::ctl
