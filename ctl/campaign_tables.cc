#include "ctl/campaign_tables.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "ctl/cells.h"
#include "proto/names.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

bool Ok(const v1::PairResult& pair) {
  return pair.result().status() == v1::PROBE_STATUS_OK;
}

std::uint32_t MessageBytes(const v1::ProbeSpec& spec) {
  return spec.has_rc_write_latency() ? spec.rc_write_latency().message_bytes()
                                     : spec.rc_write_bandwidth().message_bytes();
}

// What has a matrix of its own.
using MatrixKey = std::tuple<std::uint32_t, std::uint32_t, int, std::uint32_t>;

MatrixKey KeyOf(const v1::PairResult& pair) {
  return {pair.from().rail(), pair.to().rail(), static_cast<int>(pair.probe().kind_case()),
          MessageBytes(pair.probe())};
}

bool Before(const v1::PairResult* a, const v1::PairResult* b) {
  if (KeyOf(*a) != KeyOf(*b)) return KeyOf(*a) < KeyOf(*b);
  if (a->from().node() != b->from().node()) return NaturalLess(a->from().node(), b->from().node());
  if (a->to().node() != b->to().node()) return NaturalLess(a->to().node(), b->to().node());
  return std::tuple(a->round(), a->from().device(), a->from().port()) <
         std::tuple(b->round(), b->from().device(), b->from().port());
}

std::vector<const v1::PairResult*> Sorted(const v1::Campaign& campaign) {
  std::vector<const v1::PairResult*> sorted;
  for (const v1::PairResult& pair : campaign.results()) sorted.push_back(&pair);
  std::ranges::stable_sort(sorted, Before);
  return sorted;
}

std::string PortName(const v1::ProbePort& port) {
  return Format("{}/{}/{}", port.node(), port.device(), port.port());
}

std::string RailName(const v1::ProbePort& from, const v1::ProbePort& to) {
  return from.rail() == to.rail() ? Format("{}", from.rail())
                                  : Format("{}-{}", from.rail(), to.rail());
}

std::string Microseconds(bool present, double us) {
  return present ? Format("{:.2f}", us) : std::string(kAbsent);
}

// At most eight columns, so that a row of failures stays narrow.
std::string_view ShortWord(v1::ProbeStatus status) {
  switch (status) {
    case v1::PROBE_STATUS_REFUSED: return "refused";
    case v1::PROBE_STATUS_UNREACHABLE: return "unreach";
    case v1::PROBE_STATUS_SETUP_FAILED: return "setup";
    case v1::PROBE_STATUS_TIMED_OUT: return "timeout";
    case v1::PROBE_STATUS_CANCELLED: return "cancel";
    default: return "failed";
  }
}

// One matrix in the making: what its cells are measured in.
struct Matrix {
  std::vector<const v1::PairResult*> pairs;
  std::string title;
  double unit = 1;
  int decimals = 0;
};

double Value(const v1::PairResult& pair) {
  if (pair.probe().has_rc_write_latency()) return pair.result().latency().median_us();
  return pair.result().bandwidth().mean_bps();
}

std::string Title(const v1::PairResult& first, std::string_view unit) {
  const bool latency = first.probe().has_rc_write_latency();
  const std::uint32_t bytes = MessageBytes(first.probe());
  const std::string size = bytes == 0 ? std::string() : Format(" of {} bytes", bytes);
  return Format("rail {}: RC write {}{}, {}{} (rows: from, columns: to)",
                RailName(first.from(), first.to()), latency ? "latency" : "bandwidth", size,
                latency ? "median, " : "", unit);
}

void ChooseUnit(Matrix& matrix) {
  double largest = 0;
  for (const v1::PairResult* pair : matrix.pairs)
    if (Ok(*pair)) largest = std::max(largest, Value(*pair));
  std::string_view name = "µs";
  if (!matrix.pairs.front()->probe().has_rc_write_latency()) {
    matrix.unit = largest >= 1e9 ? 1e9 : 1e6;
    name = largest >= 1e9 ? "Gb/s" : "Mb/s";
  }
  largest /= matrix.unit;
  matrix.decimals = largest < 100 ? 2 : largest < 1000 ? 1 : 0;
  matrix.title = Title(*matrix.pairs.front(), name);
}

Table MatrixTable(Matrix matrix) {
  ChooseUnit(matrix);
  std::vector<std::string> nodes;
  for (const v1::PairResult* pair : matrix.pairs) {
    nodes.push_back(pair->from().node());
    nodes.push_back(pair->to().node());
  }
  std::ranges::sort(nodes, NaturalLess);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  std::map<std::string, std::size_t> index;
  Table table{.title = matrix.title, .columns = {{.title = "FROM"}}};
  for (const std::string& node : nodes) {
    index.emplace(node, index.size());
    table.columns.push_back({.title = node, .right_aligned = true});
    table.rows.emplace_back(nodes.size() + 1, std::string(kAbsent));
    table.rows.back()[0] = node;
  }
  for (const v1::PairResult* pair : matrix.pairs)
    table.rows[index.at(pair->from().node())][1 + index.at(pair->to().node())] =
        Ok(*pair) ? Format("{:.{}f}", Value(*pair) / matrix.unit, matrix.decimals)
                  : std::string(ShortWord(pair->result().status()));
  return table;
}

}  // namespace

std::string CampaignLine(const v1::Campaign& campaign) {
  return Format("campaign {}: {}, {} in {}: {} ok, {} failed\n", campaign.id(),
                Name(campaign.state()), Count(campaign.probes_planned(), "probe"),
                Count(campaign.rounds(), "round"), campaign.probes_ok(), campaign.probes_failed());
}

std::string SkippedLines(const v1::Campaign& campaign) {
  std::string lines;
  for (const std::string& skipped : campaign.skipped()) lines += Format("skipped {}\n", skipped);
  return lines;
}

Table PairTable(const v1::Campaign& campaign) {
  Table table{.columns = {{.title = "RAIL", .right_aligned = true},
                          {.title = "KIND"},
                          {.title = "FROM"},
                          {.title = "TO"},
                          {.title = "STATUS", .coloured = true},
                          {.title = "MEDIAN µs", .right_aligned = true},
                          {.title = "P99 µs", .right_aligned = true},
                          {.title = "MIN µs", .wide_only = true, .right_aligned = true},
                          {.title = "MAX µs", .wide_only = true, .right_aligned = true},
                          {.title = "BANDWIDTH", .right_aligned = true},
                          {.title = "MTU", .wide_only = true, .right_aligned = true},
                          {.title = "ROUND", .wide_only = true, .right_aligned = true},
                          {.title = "STARTED", .wide_only = true},
                          {.title = "REASON"}},
              .empty_note = "No results yet."};
  for (const v1::PairResult* pair : Sorted(campaign)) {
    const v1::ProbeResult& result = pair->result();
    const v1::LatencySummary& latency = result.latency();
    table.rows.push_back({
        RailName(pair->from(), pair->to()),
        Cell(ProbeKindName(pair->probe())),
        PortName(pair->from()),
        PortName(pair->to()),
        Cell(Name(result.status())),
        Microseconds(result.has_latency(), latency.median_us()),
        Microseconds(result.has_latency(), latency.p99_us()),
        Microseconds(result.has_latency(), latency.min_us()),
        Microseconds(result.has_latency(), latency.max_us()),
        result.has_bandwidth() ? BitRate(result.bandwidth().mean_bps()) : std::string(kAbsent),
        NumberCell(result.path_mtu_bytes() != 0, result.path_mtu_bytes()),
        Format("{}", pair->round()),
        ToString(pair->started_at()),
        Cell(result.reason()),
    });
  }
  return table;
}

std::vector<Table> MatrixTables(const v1::Campaign& campaign) {
  std::map<MatrixKey, Matrix> matrices;
  for (const v1::PairResult* pair : Sorted(campaign)) matrices[KeyOf(*pair)].pairs.push_back(pair);
  std::vector<Table> tables;
  for (auto& [key, matrix] : matrices) tables.push_back(MatrixTable(std::move(matrix)));
  return tables;
}

std::string FailureLines(const v1::Campaign& campaign) {
  std::string lines;
  for (const v1::PairResult* pair : Sorted(campaign)) {
    if (Ok(*pair)) continue;
    const std::string& reason = pair->result().reason();
    lines += Format("{} -> {}, rail {}, {}: {}{}{}\n", pair->from().node(), pair->to().node(),
                    RailName(pair->from(), pair->to()), ProbeKindName(pair->probe()),
                    Name(pair->result().status()), reason.empty() ? "" : ": ", reason);
  }
  return lines;
}

void KeepKind(std::string_view kind, v1::Campaign& campaign) {
  if (kind == "both") return;
  auto& results = *campaign.mutable_results();
  results.erase(std::remove_if(results.begin(), results.end(),
                               [&](const v1::PairResult& pair) {
                                 return pair.probe().has_rc_write_latency() != (kind == "latency");
                               }),
                results.end());
}

int CampaignExitStatus(const v1::Campaign& campaign) {
  return campaign.probes_failed() > 0 ? kExitFindings : kExitOk;
}

}  // namespace fabric::ctl
