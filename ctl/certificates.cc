#include "ctl/certificates.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <utility>

#include "base/lists.h"
#include "base/text.h"
#include "ctl/tables/blame_lines.h"
#include "ctl/tables/cells.h"
#include "proto/json.h"
#include "proto/names.h"
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
                          {.title = "WHY"}},
              .wide_only = all};
  for (const v1::CertifiedNode& node : certificate.nodes()) {
    if (!all && node.verdict() == v1::VERDICT_PASS) continue;
    std::string why = node.reasons().empty() ? std::string() : node.reasons(0);
    if (all) why = Join({node.reasons().begin(), node.reasons().end()}, "; ");
    if (!all && node.reasons_size() > 1)
      why += Format(" (and {} more: -o wide)", node.reasons_size() - 1);
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

std::string NotCovered(const v1::Certificate& certificate) {
  std::string text;
  const int shown = std::min(certificate.not_covered_size(), kNotCoveredShown);
  for (int i = 0; i < shown; ++i) text += Format("not covered: {}\n", certificate.not_covered(i));
  if (const int more = certificate.not_covered_size() - shown; more > 0)
    text += Format("not covered: {} more (-o yaml)\n", more);
  return text;
}

}  // namespace

std::string JwsText(const Signed& text) {
  return Format("{{\"protected\":\"{}\",\"payload\":\"{}\",\"signature\":\"{}\"}}\n", text.header,
                text.payload, text.signature);
}

Result<Signed> ParseJws(const std::string& json) {
  google::protobuf::Struct fields;
  if (const Status status = FromJson(json, fields); !status.ok())
    return Status(Code::kInvalidArgument,
                  "expected a certificate as `fabricctl certify` writes it, saw no JSON object");
  Signed text;
  for (const auto& [name, part] :
       {std::pair("protected", &text.header), std::pair("payload", &text.payload),
        std::pair("signature", &text.signature)}) {
    const auto at = fields.fields().find(name);
    if (at == fields.fields().end() ||
        at->second.kind_case() != google::protobuf::Value::kStringValue)
      return Status(Code::kInvalidArgument,
                    Format("expected a certificate as `fabricctl certify` writes it, saw no text "
                           "{}",
                           Quoted(name)));
    *part = at->second.string_value();
  }
  return text;
}

Output CertificateOutput(v1::Certificate certificate) {
  Output output;
  output.before = Head(certificate);
  if (certificate.verdict() != v1::VERDICT_PASS)
    output.tables.push_back(NodeTable(certificate, false));
  output.tables.push_back(NodeTable(certificate, true));
  output.after = BlameLines(certificate.blame()) + NotCovered(certificate);
  for (const v1::CertifiedNode& node : certificate.nodes())
    if (node.verdict() == v1::VERDICT_FAIL) output.names.push_back(node.name());
  output.exit_status = ExitStatusOf(certificate.verdict());
  output.message = std::make_unique<v1::Certificate>(std::move(certificate));
  return output;
}

}  // namespace fabric::ctl
