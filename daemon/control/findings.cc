#include "daemon/control/findings.h"

#include <google/protobuf/util/message_differencer.h>

#include <cctype>
#include <string_view>
#include <utility>

namespace fabric::control {
namespace {

using google::protobuf::util::MessageDifferencer;

// What the rule says, without when it was read and without the finding's own life.
v1::Finding Judgement(const v1::Finding& finding) {
  v1::Finding judgement = finding;
  judgement.clear_state();
  judgement.clear_opened_at();
  judgement.clear_changed_at();
  judgement.clear_resolved_at();
  for (v1::Evidence& evidence : *judgement.mutable_evidence()) evidence.clear_read_at();
  return judgement;
}

bool PartOfName(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-' || letter == '.' ||
         letter == '_';
}

enum class Named { kNone, kLostOnly, kConnected };

// Looks for names of nodes among the words of `text`.
Named NodesIn(std::string_view text, const fleet::Fleet& fleet) {
  Named named = Named::kNone;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = at;
    while (end < text.size() && PartOfName(text[end])) ++end;
    if (const auto* node = fleet.Find(std::string(text.substr(at, end - at)))) {
      if (node->state == v1::NODE_STATE_CONNECTED) return Named::kConnected;
      named = Named::kLostOnly;
    }
    at = end + 1;
  }
  return named;
}

}  // namespace

bool AboutLostNodes(const v1::Finding& finding, const fleet::Fleet& fleet) {
  if (!finding.subject().node().empty()) {
    const fleet::NodeRecord* const node = fleet.Find(finding.subject().node());
    return node == nullptr || node->state != v1::NODE_STATE_CONNECTED;
  }
  bool lost = false;
  for (const v1::Evidence& evidence : finding.evidence()) {
    for (const std::string& text : {evidence.what(), evidence.seen(), evidence.source()}) {
      const Named named = NodesIn(text, fleet);
      if (named == Named::kConnected) return false;
      lost = lost || named == Named::kLostOnly;
    }
  }
  return lost;
}

void FindingBook::Restore(std::vector<v1::Finding> open) {
  for (v1::Finding& finding : open) {
    Count(finding, 1);
    std::string id = finding.id();
    unfound_.insert(id);
    open_.insert_or_assign(std::move(id), std::move(finding));
  }
}

void FindingBook::Take(rules::Delta delta, const fleet::Fleet& fleet, Moment now) {
  counts_ = delta.counts;
  for (v1::Finding& finding : delta.found) Find(std::move(finding), now);
  for (std::string& id : delta.gone)
    if (open_.contains(id)) unfound_.insert(std::move(id));
  for (auto at = unfound_.begin(); at != unfound_.end();) {
    const auto open = open_.find(*at);
    if (AboutLostNodes(open->second, fleet)) {
      ++at;
      continue;
    }
    v1::Finding finding = std::move(open->second);
    open_.erase(open);
    at = unfound_.erase(at);
    Resolve(std::move(finding), now);
  }
}

void FindingBook::Find(v1::Finding finding, Moment now) {
  finding.set_state(v1::FINDING_STATE_OPEN);
  const auto [at, added] = open_.try_emplace(finding.id());
  v1::Finding& known = at->second;
  const bool same = !added && MessageDifferencer::Equals(Judgement(known), Judgement(finding));
  *finding.mutable_opened_at() = added ? ToProto(now.wall) : known.opened_at();
  *finding.mutable_changed_at() = same ? known.changed_at() : ToProto(now.wall);
  if (!added) Count(known, -1U);
  known = std::move(finding);
  Count(known, 1);
  unfound_.erase(at->first);
  if (!same) Record(known, now);
}

void FindingBook::Resolve(v1::Finding finding, Moment now) {
  Count(finding, -1U);
  finding.set_state(v1::FINDING_STATE_RESOLVED);
  *finding.mutable_resolved_at() = ToProto(now.wall);
  Record(finding, now);
}

// `change` is 1 or, modulo 2^32, -1.
void FindingBook::Count(const v1::Finding& finding, std::uint32_t change) {
  if (finding.verdict() != v1::VERDICT_FAIL) return;
  std::uint32_t& failing = failing_[finding.subject().node()];
  failing += change;
  if (failing == 0) failing_.erase(finding.subject().node());
}

std::uint32_t FindingBook::FailingOn(const std::string& node) const {
  const auto found = failing_.find(node);
  return found == failing_.end() ? 0 : found->second;
}

void FindingBook::Record(const v1::Finding& finding, Moment now) {
  outbox_.Stored(outbox_.store().PutFinding(finding));
  outbox_.Publish(now, [&](v1::Event& event) { *event.mutable_finding() = finding; });
}

}  // namespace fabric::control
