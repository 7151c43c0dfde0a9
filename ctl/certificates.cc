#include "ctl/certificates.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/tables/blame_lines.h"
#include "ctl/tables/cells.h"
#include "ctl/tables/class_lines.h"
#include "ctl/tables/coverage_lines.h"
#include "proto/coverage.h"
#include "proto/names.h"
#include "proto/ports.h"
#include "proto/timestamps.h"

namespace fabric::ctl {
namespace {

constexpr int kNotCoveredShown = 10;

int ExitStatusOf(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_PASS: return kExitOk;
    case v1::VERDICT_FAIL: return kExitFindings;
    default: return kExitUnknown;
  }
}

Table NodeTable(const v1::Certificate& certificate, bool all) {
  Table table{.columns = {{.title = "NODE"},
                          {.title = "VERDICT", .coloured = true},
                          {.title = "PORTS", .right_aligned = true},
                          {.title = "REASON", .elastic = true}},
              .wide_only = all};
  for (const v1::CertifiedNode& node : certificate.nodes()) {
    if (!all && node.verdict() == v1::VERDICT_PASS) continue;
    std::string why = node.reasons().empty() ? std::string() : node.reasons(0);
    if (all) why = Join({node.reasons().begin(), node.reasons().end()}, "; ");
    if (!all && node.reasons_size() > 1)
      why += Format(" and {} more (-o wide)", node.reasons_size() - 1);
    table.rows.push_back(
        {node.name(), std::string(Name(node.verdict())), Format("{}", node.ports()), Cell(why)});
  }
  return table;
}

std::string Head(const v1::Certificate& certificate) {
  const v1::CertificateRequest& request = certificate.request();
  return Format("{}: {}: {}{}, {}; {} of {} probed, {} failed; expires {}\n", certificate.id(),
                Name(certificate.verdict()),
                Plural(static_cast<std::uint64_t>(request.nodes_size()), "node"),
                request.job_id().empty() ? std::string() : Format(" of job {}", request.job_id()),
                Plural(static_cast<std::uint64_t>(certificate.rails_size()), "rail"),
                certificate.pairs_probed(), Plural(certificate.pairs_possible(), "pair"),
                certificate.pairs_failed(), ToString(certificate.expires_at()));
}

// One line for each kind of memory, with the number of ports and the first reason.
std::string MemoryLines(const v1::Certificate& certificate) {
  std::map<std::string, std::pair<int, std::string>> ports;  // Number and first reason
  for (const v1::CertifiedNode& node : certificate.nodes()) {
    for (const v1::CertifiedMemory& memory : node.memory()) {
      const bool gpu = memory.memory() == v1::PROBE_MEMORY_GPU;
      const bool dma_buf = memory.registration() == v1::GPU_MEMORY_REGISTRATION_DMA_BUF;
      auto& [count, reason] = ports[!gpu      ? "host memory"
                                    : dma_buf ? "GPU memory (dma-buf)"
                                              : "GPU memory (peer memory)"];
      if (count++ == 0) reason = memory.reason();
    }
  }
  std::string text;
  for (const auto& [memory, seen] : ports)
    text += Format("memory: {} at {}{}\n", memory,
                   Plural(static_cast<std::uint64_t>(seen.first), "port"),
                   seen.second.empty() ? std::string() : Format(": {}", seen.second));
  return text.empty() ? "memory: host memory (no port has a GPU)\n" : text;
}

std::string RateOrAbsent(bool present, double bits_per_second) {
  return present ? BitRate(bits_per_second) : std::string(kAbsent);
}

Table MemoryTable(const v1::Certificate& certificate) {
  Table table{.columns = {{.title = "PORT"},
                          {.title = "MEMORY"},
                          {.title = "GPU"},
                          {.title = "GPU MEMORY", .right_aligned = true},
                          {.title = "HOST MEMORY", .right_aligned = true},
                          {.title = "REASON", .elastic = true}},
              .wide_only = true};
  for (const v1::CertifiedNode& node : certificate.nodes())
    for (const v1::CertifiedMemory& memory : node.memory())
      table.rows.push_back(
          {PortName(memory.port()), memory.memory() == v1::PROBE_MEMORY_GPU ? "GPU" : "host",
           Cell(memory.gpu()),
           RateOrAbsent(memory.has_gpu_bandwidth_bps(), memory.gpu_bandwidth_bps()),
           RateOrAbsent(memory.has_host_bandwidth_bps(), memory.host_bandwidth_bps()),
           Cell(memory.reason())});
  return table;
}

std::string NotCovered(const v1::Certificate& certificate) {
  std::string text;
  const int shown = std::min(certificate.not_covered_size(), kNotCoveredShown);
  for (int i = 0; i < shown; ++i)
    text += Format("not covered: {}\n", ToString(certificate.not_covered(i)));
  const std::uint32_t more = static_cast<std::uint32_t>(certificate.not_covered_size() - shown) +
                             certificate.not_covered_omitted();
  if (more > 0) text += Format("not covered: {} more (-o yaml)\n", more);
  return text;
}

}  // namespace

std::string JwsText(const Signed& text) {
  const nlohmann::ordered_json json = {
      {"protected", text.header}, {"payload", text.payload}, {"signature", text.signature}};
  return json.dump() + "\n";
}

Result<Signed> ParseJws(const std::string& json) {
  const auto wrong = [](std::string_view why) {
    return Status(Code::kInvalidArgument,
                  Format("expected a certificate written by `fabricctl certify`: {}", why));
  };
  const auto fields = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!fields.is_object()) return wrong("not a JSON object");
  Signed text;
  for (const auto& [name, part] :
       {std::pair("protected", &text.header), std::pair("payload", &text.payload),
        std::pair("signature", &text.signature)}) {
    const auto at = fields.find(name);
    if (at == fields.end() || !at->is_string()) return wrong(Format("no text {}", Quoted(name)));
    *part = at->get<std::string>();
  }
  return text;
}

Output CertificateOutput(v1::Certificate certificate) {
  Output output;
  output.before = Head(certificate) + ClassLines(certificate.classes());
  if (certificate.verdict() != v1::VERDICT_PASS)
    output.tables.push_back(NodeTable(certificate, false));
  output.tables.push_back(NodeTable(certificate, true));
  output.tables.push_back(MemoryTable(certificate));
  for (const std::string& evidence : certificate.evidence())
    output.after += Format("unknown: {}\n", evidence);
  output.after += MemoryLines(certificate);
  output.after += BlameLines(certificate.blame()) + NotCovered(certificate);
  for (const v1::CoverageGap& gap : certificate.not_judged())
    output.after += Format("not judged by absolute limits: {}\n", ToString(gap));
  output.after += CoverageLines(certificate.coverage());
  for (const v1::CertifiedNode& node : certificate.nodes())
    if (node.verdict() == v1::VERDICT_FAIL) output.names.push_back(node.name());
  output.exit_status = ExitStatusOf(certificate.verdict());
  output.message = std::make_unique<v1::Certificate>(std::move(certificate));
  return output;
}

}  // namespace fabric::ctl
