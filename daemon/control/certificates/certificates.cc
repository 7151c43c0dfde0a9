#include "daemon/control/certificates/certificates.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/suggest.h"
#include "base/text.h"
#include "daemon/control/certificates/certificate_plan.h"
#include "daemon/control/summaries.h"
#include "proto/bounds.h"
#include "proto/coverage.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

constexpr std::size_t kUnknownMax = 1'000;  // A longer list of unknown names is a mistake.

Duration WithinOf(const v1::CertificateRequest& request) {
  return std::chrono::seconds(request.within_seconds());
}

}  // namespace

Certificates::Certificates(const CertificateOptions& options, const CertificateSources& sources,
                           Outbox& outbox)
    : options_(options), sources_(sources), outbox_(outbox) {}

// The verdict that is made in the background reads members.
Certificates::~Certificates() {
  if (issuing_ != nullptr && issuing_->judged.valid()) issuing_->judged.wait();
}

// The epoch makes ids unique across runs of the controller.
std::string Certificates::IdOf(std::uint64_t number) const {
  return Format("cert-{:x}-{}", outbox_.store().file().epoch(), number);
}

Status Certificates::CheckRoom(const std::string& author) const {
  if (waiting_.size() >= kRunningMax)
    return {Code::kResourceExhausted,
            Format("{} certificates are in progress: retry when one is done", waiting_.size())};
  const auto own = static_cast<std::uint64_t>(std::ranges::count_if(
      waiting_, [&](std::uint64_t one) { return known_.at(one).running->author == author; }));
  if (author.empty() || own < Limit("certificates_of_caller")) return {};
  return ToStatus({.bound = &BoundOf("certificates_of_caller"), .seen = own + 1}).In(author);
}

Status Certificates::Check(const v1::CertificateRequest& request, const std::string& author) const {
  std::size_t unknown = 0;
  for (const std::string& name : request.nodes())
    if (sources_.fleet.Find(name) == nullptr) ++unknown;
  if (unknown > kUnknownMax)
    return {Code::kInvalidArgument,
            Format("nodes: expected at most {} unknown names, saw {}", kUnknownMax, unknown)};
  if (!options_.key) return {Code::kFailedPrecondition, "the controller has no signing key"};
  return CheckRoom(author);
}

Result<v1::Certificate> Certificates::Start(PlannedCertificate planned, Moment now) {
  RETURN_IF_ERROR(CheckRoom(planned.author));
  Forget();
  const std::uint64_t number = next_++;
  Known& known = known_[number];
  v1::Certificate& certificate = *known.answer.mutable_certificate();
  certificate.set_id(IdOf(number));
  certificate.set_state(v1::CERTIFICATE_STATE_RUNNING);
  *certificate.mutable_request() = std::move(planned.request);
  certificate.set_issuer(options_.issuer);
  *certificate.mutable_started_at() = ToProto(now.wall);
  certificate.mutable_classes()->Assign(planned.classes.begin(), planned.classes.end());
  waiting_.insert(number);
  const Duration within = WithinOf(certificate.request());
  known.running.emplace(Running{.work = std::move(planned.work),
                                .doubts = std::move(planned.doubts),
                                .not_covered = std::move(planned.not_covered),
                                .probing_until = now.steady + ProbingTime(within),
                                .deadline = now.steady + within,
                                .author = std::move(planned.author),
                                .memory = std::move(planned.memory)});
  Status status = Probe(number, std::move(planned.campaign), now);
  if (status.ok())
    status = outbox_.store().Durably(
        [&](store::Store& store) { return store.PutCertificate(known.answer); });
  if (status.ok()) return certificate;
  if (!certificate.campaign().empty()) {
    (void)sources_.campaigns.Cancel(certificate.campaign(), now);
    running_.erase(certificate.campaign());
  }
  waiting_.erase(number);
  known_.erase(number);
  return status;
}

// Tick() says so when there is nothing to probe.
Status Certificates::Probe(std::uint64_t number, PlannedCampaign planned, Moment now) {
  if (planned.work == nullptr) return {};
  v1::Certificate& certificate = *known_.at(number).answer.mutable_certificate();
  // Probes can have results while the campaign starts.
  certificate.set_campaign(sources_.campaigns.NextId());
  running_[certificate.campaign()] = number;
  const auto started = sources_.campaigns.Start(planned.spec, std::move(planned.work), {}, now);
  if (started.ok()) return {};
  running_.erase(certificate.campaign());
  certificate.clear_campaign();
  return started.status();
}

void Certificates::Take(const std::string& campaign, const v1::PairResult& result) {
  const auto at = running_.find(campaign);
  if (at == running_.end()) return;
  Known& known = known_.at(at->second);
  if (!known.running) return;
  if (campaign == known.answer.certificate().gpu_campaign())
    known.running->memory.Take(result);
  else
    known.running->work.Take(result);
}

bool Certificates::Tick(const Unjudged& unjudged, Moment now) {
  if (issuing_ == nullptr || issuing_->step == Issuing::Step::kAsked) {
    const auto ready = FindReady(unjudged, now);
    if (issuing_ == nullptr) {
      if (!ready) return false;
      restarts_ = 0;
      BeginIssue(*ready, unjudged.nodes);
    }
  }
  return ContinueIssue(unjudged.nodes, now);
}

// The first certificate to issue, if there is one. Moves the others on.
std::optional<std::uint64_t> Certificates::FindReady(const Unjudged& unjudged, Moment now) {
  for (const std::uint64_t number : waiting_) {
    if (issuing_ != nullptr && issuing_->number == number) continue;
    Known& known = known_.at(number);
    const v1::Certificate& certificate = known.answer.certificate();
    Running& running = *known.running;
    const std::string& campaign = certificate.campaign();
    if (!campaign.empty() && sources_.campaigns.Runs(campaign)) {
      if (now.steady < running.probing_until) continue;
      running.cut_off = true;
      (void)sources_.campaigns.Cancel(campaign, now);  // It exists: it runs.
      if (sources_.campaigns.Runs(campaign)) continue;
    }
    if (TestMemory(number, now)) continue;
    // Its campaign can show that a fault is repaired, whose finding is open until an evaluation.
    if (unjudged.located && now.steady < running.deadline) continue;
    const auto& nodes = certificate.request().nodes();
    const bool judged = std::none_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
      return unjudged.nodes.contains(node);
    });
    if (judged || now.steady >= running.probing_until) return number;
  }
  return std::nullopt;
}

std::vector<v1::CoverageGap> Certificates::Doubts(const v1::Certificate& certificate,
                                                  const Running& running,
                                                  const std::set<std::string>& unjudged) const {
  std::vector<v1::CoverageGap> doubts = running.doubts;
  std::vector<std::string_view> names;
  std::size_t unknown = 0;
  for (const std::string& name : certificate.request().nodes()) {
    const fleet::NodeRecord* const record = sources_.fleet.Find(name);
    if (record == nullptr) {
      if (names.empty())
        for (const auto& [known, other] : sources_.fleet.nodes()) names.emplace_back(known);
      const bool suggest = unknown++ < Limit("suggestions");
      doubts.push_back(CoverageGapOf(name, v1::COVERAGE_GAP_REASON_NODE_UNKNOWN,
                                     "unknown node" + (suggest ? Suggest(name, names) : "")));
    } else if (record->state != v1::NODE_STATE_CONNECTED) {
      doubts.push_back(CoverageGapOf(name, v1::COVERAGE_GAP_REASON_NODE_LOST,
                                     Format("lost: {}", record->lost_reason)));
    } else if (record->outdated) {
      doubts.push_back(CoverageGapOf(
          name, v1::COVERAGE_GAP_REASON_SETTINGS_OUTDATED,
          Format("no settings reported since {}", ToString(ToProto(record->inspected_at.wall)))));
    } else if (unjudged.contains(name)) {
      doubts.push_back(CoverageGapOf(name, v1::COVERAGE_GAP_REASON_NOT_EVALUATED,
                                     "its report has not been judged yet"));
    }
  }
  return doubts;
}

}  // namespace fabric::control
