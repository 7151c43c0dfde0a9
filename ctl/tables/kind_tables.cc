#include "ctl/tables/kind_tables.h"

#include <string>
#include <vector>

#include "base/text.h"
#include "ctl/tables/cells.h"
#include "proto/names.h"

namespace fabric::ctl {
namespace {

std::string RegistrationName(v1::GpuMemoryRegistration registration) {
  switch (registration) {
    case v1::GPU_MEMORY_REGISTRATION_PEER_MEMORY: return "peer memory";
    case v1::GPU_MEMORY_REGISTRATION_DMA_BUF: return "dma-buf";
    default: return std::string(kAbsent);
  }
}

}  // namespace

std::string_view VerdictWords(v1::IncastVerdict verdict) {
  switch (verdict) {
    case v1::INCAST_VERDICT_LOSSLESS: return "lossless: PFC paused the senders";
    case v1::INCAST_VERDICT_LOSS_WITHOUT_PFC: return "packets lost, no PFC pause";
    case v1::INCAST_VERDICT_LOSS_DESPITE_PFC: return "packets lost despite PFC pauses";
    case v1::INCAST_VERDICT_GLOBAL_PAUSE: return "global pause instead of PFC";
    case v1::INCAST_VERDICT_NO_CONGESTION: return "no congestion";
    case v1::INCAST_VERDICT_ECN_ONLY:
      return "lossless: ECN slowed the senders, no PFC pause needed";
    default: return "unknown";
  }
}

bool IsBad(v1::IncastVerdict verdict) {
  return verdict == v1::INCAST_VERDICT_LOSS_WITHOUT_PFC ||
         verdict == v1::INCAST_VERDICT_LOSS_DESPITE_PFC ||
         verdict == v1::INCAST_VERDICT_GLOBAL_PAUSE;
}

Table IncastTable(const v1::Campaign& campaign) {
  Table table{.title = "incasts",
              .columns = {{.title = "RECEIVER"},
                          {.title = "RAIL", .right_aligned = true},
                          {.title = "SENDERS", .right_aligned = true},
                          {.title = "ARRIVED", .right_aligned = true},
                          {.title = "VERDICT"}}};
  for (const v1::IncastReport& report : campaign.incasts()) {
    table.rows.push_back(
        {PortName(report.receiver()), Format("{}", report.receiver().rail()),
         Format("{}", report.senders()),
         report.has_receiver_bps() ? BitRate(report.receiver_bps()) : std::string(kAbsent),
         std::string(VerdictWords(report.verdict()))});
    for (const std::string& line : report.evidence())
      table.rows.push_back({"", "", "", "", Format("  {}", line)});
  }
  return table;
}

Table MovesTable(const v1::Campaign& campaign) {
  Table table{.title = "changed counters of incast ends",
              .columns = {{.title = "RECEIVER"},
                          {.title = "PORT"},
                          {.title = "COUNTER"},
                          {.title = "CHANGE", .right_aligned = true},
                          {.title = "NOT AVAILABLE"}},
              .wide_only = true};
  for (const v1::IncastReport& report : campaign.incasts()) {
    for (const v1::PortCounterDeltas& deltas : report.counter_deltas()) {
      const std::vector<std::string> missing(deltas.missing().begin(), deltas.missing().end());
      std::string not_counted = Cell(Join(missing, " "));
      for (const v1::CounterDelta& delta : deltas.counters()) {
        if (delta.after() == delta.before()) continue;
        table.rows.push_back({PortName(report.receiver()), PortName(deltas.port()), delta.name(),
                              Format("{}", delta.after() - delta.before()), not_counted});
        not_counted = "";  // Once
      }
      if (!not_counted.empty())
        table.rows.push_back({PortName(report.receiver()), PortName(deltas.port()),
                              std::string(kAbsent), std::string(kAbsent), not_counted});
    }
  }
  return table;
}

Table GpuMemoryTable(const PairResults& pairs) {
  Table table{.title = "GPU memory",
              .columns = {{.title = "RAIL", .right_aligned = true},
                          {.title = "FROM"},
                          {.title = "TO"},
                          {.title = "STATUS", .coloured = true},
                          {.title = "GPU"},
                          {.title = "REMOTE GPU"},
                          {.title = "WAY"},
                          {.title = "WORKS"},
                          {.title = "BANDWIDTH", .right_aligned = true},
                          {.title = "REASON", .elastic = true}}};
  for (const v1::PairResult* pair : pairs) {
    const v1::ProbeResult& result = pair->result();
    const std::vector<std::string> ends = {RailName(pair->from(), pair->to()),
                                           PortName(pair->from()), PortName(pair->to()),
                                           Cell(StatusWord(result))};
    const auto add = [&](std::vector<std::string> rest) {
      rest.insert(rest.begin(), ends.begin(), ends.end());
      table.rows.push_back(std::move(rest));
    };
    const std::string absent(kAbsent);
    if (result.gpu_memory().empty())
      add({absent, absent, absent, absent, absent, Cell(result.reason())});
    for (const v1::GpuMemoryStep& step : result.gpu_memory())
      add({Cell(step.gpu()), Cell(step.remote_gpu()), RegistrationName(step.registration()),
           step.works() ? "yes" : "no",
           step.has_bandwidth() ? BitRate(step.bandwidth().mean_bps()) : absent,
           Cell(step.reason())});
  }
  return table;
}

}  // namespace fabric::ctl
