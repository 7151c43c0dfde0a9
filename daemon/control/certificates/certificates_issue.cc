// The part of Certificates that makes their verdicts.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "daemon/control/certificates/certificate_seal.h"
#include "daemon/control/certificates/certificates.h"
#include "daemon/rules/rule.h"
#include "proto/affected.h"
#include "proto/coverage.h"
#include "proto/json.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

// Ports from which on the verdict is made in the background.
constexpr std::size_t kPortsJudgedInTurn = 128;
// Then all is read in one turn: findings that change all the time do not delay a certificate
// without end.
constexpr int kRestartsMax = 20;

}  // namespace

void Seal(const std::optional<SigningKey>& key, Duration lifetime, Moment now,
          v1::GetCertificateResponse& response) {
  v1::Certificate& certificate = *response.mutable_certificate();
  certificate.set_state(v1::CERTIFICATE_STATE_DONE);
  *certificate.mutable_issued_at() = ToProto(now.wall);
  *certificate.mutable_expires_at() = ToProto(now.wall + lifetime);
  if (!key) return;
  const Signed text = SignJws(*key, kCertificateType, ToJson(certificate, false));
  v1::SignedCertificate& answer = *response.mutable_signed_();
  answer.set_protected_header(text.header);
  answer.set_payload(text.payload);
  answer.set_signature(text.signature);
}

std::uint64_t Certificates::Version() const {
  return sources_.findings.changes() + sources_.evaluator.policies();
}

void Certificates::BeginIssue(std::uint64_t number, const std::set<std::string>& unjudged) {
  const Known& known = known_.at(number);
  const v1::Certificate& certificate = known.answer.certificate();
  issuing_ = std::make_unique<Issuing>();
  issuing_->number = number;
  issuing_->version = Version();
  issuing_->answer = known.answer;
  issuing_->doubts = Doubts(certificate, *known.running, unjudged);
  issuing_->coverage.nodes.insert(certificate.request().nodes().begin(),
                                  certificate.request().nodes().end());
}

// One step. True: the next one can follow at once.
bool Certificates::ContinueIssue(const std::set<std::string>& unjudged, Moment now) {
  if (issuing_->step < Issuing::Step::kJudge && issuing_->version != Version()) {
    BeginIssue(issuing_->number, unjudged);
    if (++restarts_ < kRestartsMax) return true;
    while (issuing_->step < Issuing::Step::kJudge) ReadFindings(*issuing_);
  }
  switch (issuing_->step) {
    case Issuing::Step::kFindings:
    case Issuing::Step::kHeld:
    case Issuing::Step::kCoverage: ReadFindings(*issuing_); return true;
    case Issuing::Step::kJudge: AskVerdict(*issuing_, now); return true;
    case Issuing::Step::kAsked: break;
  }
  if (issuing_->judged.wait_for(Duration(0)) != std::future_status::ready) return false;
  EndIssue();
  return true;
}

// Common causes are left out: the findings that they summarize are included.
void Certificates::ReadFindings(Issuing& issuing) const {
  const auto add = [&](const v1::Finding& finding, bool held) {
    // Doubts() covers lost nodes.
    if (finding.common_cause() || finding.rule() == rules::kNodeConnected) return;
    std::vector<std::string> nodes = NodesOf(finding);
    if (std::ranges::none_of(
            nodes, [&](const std::string& node) { return issuing.coverage.nodes.contains(node); }))
      return;
    issuing.findings.push_back({.finding = finding, .nodes = std::move(nodes), .held = held});
  };
  bool more = false;
  if (issuing.step == Issuing::Step::kFindings)
    more = sources_.findings.ReadOpen(issuing.last, [&](const auto& one) { add(one, false); });
  else if (issuing.step == Issuing::Step::kHeld)
    more = sources_.findings.ReadHeld(issuing.last, [&](const auto& one) { add(one, true); });
  else
    more = sources_.evaluator.Read(issuing.coverage);
  if (more) return;
  issuing.step = static_cast<Issuing::Step>(static_cast<int>(issuing.step) + 1);
  issuing.last.clear();
}

void Certificates::AddCampaign(const Running& running, Issuing& issuing) const {
  v1::Certificate& certificate = *issuing.answer.mutable_certificate();
  if (certificate.campaign().empty()) return;
  const v1::Campaign* const campaign = sources_.campaigns.Summary(certificate.campaign());
  if (campaign != nullptr) *certificate.mutable_blame() = campaign->blame();
  issuing.suspicious = sources_.campaigns.Suspicious(certificate.campaign());
  issuing.not_judged = sources_.campaigns.NotJudged(certificate.campaign());
  if (running.cut_off)
    issuing.cut_off =
        CoverageGapOf(v1::COVERAGE_GAP_REASON_TIME_LIMIT,
                      Format("not probed within {} s", certificate.request().within_seconds()));
  else if (campaign != nullptr && campaign->state() == v1::CAMPAIGN_STATE_CANCELLED)
    issuing.cut_off = CoverageGapOf(v1::COVERAGE_GAP_REASON_CANCELLED,
                                    Format("campaign {} was cancelled", certificate.campaign()));
}

// Its campaigns have ended, so that nothing changes what it reads.
void Certificates::AskVerdict(Issuing& issuing, Moment now) {
  const Running& running = *known_.at(issuing.number).running;
  AddCampaign(running, issuing);
  std::packaged_task<void()> work(
      [&issuing, &running, key = options_.key, lifetime = options_.lifetime, now] {
        v1::Certificate& certificate = *issuing.answer.mutable_certificate();
        Judge({.work = running.work,
               .findings = std::move(issuing.findings),
               .doubts = std::move(issuing.doubts),
               .cut_off = std::move(issuing.cut_off),
               .suspicious = std::move(issuing.suspicious),
               .not_covered = running.not_covered,
               .not_judged = std::move(issuing.not_judged),
               .memory = running.memory},
              certificate);
        if (auto coverage = rules::CoverageOf(issuing.coverage))
          *certificate.mutable_coverage() = *std::move(coverage);
        Seal(key, lifetime, now, issuing.answer);
      });
  issuing.judged = work.get_future();
  issuing.step = Issuing::Step::kAsked;
  if (sources_.background == nullptr || running.work.ports().size() < kPortsJudgedInTurn)
    return work();
  sources_.background->Post(std::move(work));
}

// After a failure, which is thrown here, the verdict is made again.
void Certificates::EndIssue() {
  const std::unique_ptr<Issuing> issued = std::move(issuing_);
  issued->judged.get();
  Known& known = known_.at(issued->number);
  known.answer.Swap(&issued->answer);
  known.bytes = known.answer.ByteSizeLong();
  known.running.reset();
  Keep(known.answer);
  running_.erase(known.answer.certificate().campaign());
  running_.erase(known.answer.certificate().gpu_campaign());
  waiting_.erase(issued->number);
}

}  // namespace fabric::control
