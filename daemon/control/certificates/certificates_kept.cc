// The part of Certificates that restores, signs, stores and forgets them.
#include <string>
#include <utility>

#include "base/text.h"
#include "daemon/control/certificates/certificate_seal.h"
#include "daemon/control/certificates/certificates.h"
#include "daemon/control/summaries.h"
#include "proto/bounds.h"
#include "proto/coverage.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

constexpr std::size_t kListedBytes = 1 << 20;  // Of a part of a list, but one certificate
constexpr std::string_view kRestart = "fabricd was restarted";

}  // namespace

void Certificates::Restore(std::vector<v1::GetCertificateResponse> newest_first, Moment now,
                           Restoring restoring) {
  for (auto at = newest_first.rbegin(); at != newest_first.rend(); ++at) {
    Known& known = known_[next_++];
    v1::GetCertificateResponse& answer = known.answer = std::move(*at);
    known.bytes = answer.ByteSizeLong();
    v1::Certificate& certificate = *answer.mutable_certificate();
    if (certificate.state() != v1::CERTIFICATE_STATE_RUNNING) continue;
    if (restoring == Restoring::kToFollow) continue;
    certificate.set_end_reason(std::string(kRestart));
    const CertificateWork nothing({}, false);
    CertificateFacts facts{.work = nothing,
                           .findings = {},
                           .doubts = {},
                           .cut_off = {},
                           .suspicious = {},
                           .not_covered = {}};
    for (const std::string& node : certificate.request().nodes())
      facts.doubts.push_back(
          CoverageGapOf(node, v1::COVERAGE_GAP_REASON_CONTROLLER_RESTARTED, std::string(kRestart)));
    Judge(facts, certificate);
    Seal(options_.key, options_.lifetime, now, answer);
    Keep(answer);
  }
  Forget();
}

Result<v1::GetCertificateResponse> Certificates::Get(const std::string& id) const {
  std::vector<std::string> ids;
  for (const auto& [number, known] : known_) {
    if (known.answer.certificate().id() == id) return known.answer;
    ids.push_back(known.answer.certificate().id());
  }
  if (!id.starts_with("cert-")) return NoSuch("certificate", id, ids);
  return Status(Code::kNotFound, Format("unknown certificate {}: fabricd keeps the newest {}",
                                        Quoted(id), kKeptMax));
}

std::vector<v1::Certificate> Certificates::List(const std::string& before, std::size_t max,
                                                bool& more) const {
  std::vector<v1::Certificate> list;
  auto at = known_.rbegin();
  // A certificate that was dropped meanwhile was the oldest: none is older.
  while (!before.empty() && at != known_.rend())
    if ((at++)->second.answer.certificate().id() == before) break;
  std::size_t bytes = 0;
  for (; at != known_.rend() && list.size() < max && bytes < kListedBytes; ++at) {
    list.push_back(at->second.answer.certificate());
    bytes += at->second.bytes;
  }
  more = at != known_.rend();
  return list;
}

void Certificates::Keep(const v1::GetCertificateResponse& response) {
  outbox_.store().PutCertificate(response);
  if (options_.on_issued) options_.on_issued(response.certificate());
}

// Drops the oldest certificates that are done.
void Certificates::Forget() {
  std::size_t bytes = 0;
  for (const auto& [number, known] : known_) bytes += known.bytes;
  auto at = known_.begin();
  while (at != known_.end() &&
         (known_.size() >= kKeptMax || bytes > Limit("certificates_kept_bytes"))) {
    if (waiting_.contains(at->first)) {
      ++at;
      continue;
    }
    bytes -= at->second.bytes;
    at = known_.erase(at);
  }
}

}  // namespace fabric::control
