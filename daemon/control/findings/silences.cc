#include "daemon/control/findings/silences.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "daemon/control/summaries.h"
#include "proto/affected.h"
#include "proto/timestamps.h"

namespace fabric::control {
namespace {

constexpr std::size_t kWordsBytesMax = 1000;

std::string SilenceIdOf(std::uint64_t number) {
  return Format("s{}", number);
}

Status CheckText(std::string_view field, const std::string& text, std::size_t bytes_max,
                 std::string_view what) {
  if (!Trim(text).empty() && text.size() <= bytes_max) return {};
  return {Code::kInvalidArgument,
          text.size() > bytes_max
              ? Format("{}: expected at most {} bytes, saw {}", field, bytes_max, text.size())
              : Format("{}: expected {}, saw {}", field, what, Quoted(text))};
}

bool Matches(const v1::Silence& silence, const v1::Finding& finding, std::string_view node) {
  return (silence.finding().empty() || silence.finding() == finding.id()) &&
         (silence.rule().empty() || silence.rule() == finding.rule()) &&
         (silence.node().empty() || silence.node() == node);
}

}  // namespace

Status CheckAuthor(const std::string& author) {
  return author.empty() ? Status() : RequireAuthor(author);
}

Status RequireAuthor(const std::string& author) {
  return CheckText("author", author, kAuthorBytesMax, "a name");
}

Status CheckWords(std::string_view field, const std::string& text) {
  return CheckText(field, text, kWordsBytesMax, "some words");
}

void Silences::Restore(std::vector<v1::Silence> stored, Moment now) {
  for (v1::Silence& silence : stored) {
    if (!silence.id().starts_with('s')) continue;
    const auto number = ParseNumber<std::uint64_t>(std::string_view(silence.id()).substr(1));
    if (!number.ok()) continue;
    next_ = std::max(next_, *number + 1);
    if (FromProto(silence.until()) > now.wall) silences_[*number] = std::move(silence);
  }
}

Result<v1::Silence> Silences::Add(v1::Silence silence, std::uint32_t seconds, Moment now) {
  constexpr auto kSecondsMax = std::chrono::duration_cast<std::chrono::seconds>(kSilenceMax);
  if (silence.finding().empty() && silence.rule().empty() && silence.node().empty())
    return Status(Code::kInvalidArgument,
                  "silence: expected a finding, a rule or a node, saw none");
  RETURN_IF_ERROR(RequireAuthor(silence.author()));
  RETURN_IF_ERROR(CheckWords("reason", silence.reason()));
  if (seconds == 0 || seconds > kSecondsMax.count())
    return Status(Code::kInvalidArgument,
                  Format("duration_seconds: expected 1 to {} (30 days), saw {}",
                         kSecondsMax.count(), seconds));
  if (silences_.size() >= kSilencesMax)
    return Status(Code::kResourceExhausted,
                  Format("there are {} silences, which is the maximum", kSilencesMax));
  silence.set_id(SilenceIdOf(next_));
  *silence.mutable_created_at() = ToProto(now.wall);
  *silence.mutable_until() = ToProto(now.wall + std::chrono::seconds(seconds));
  return silences_[next_++] = std::move(silence);
}

Result<v1::Silence> Silences::Get(const std::string& id) const {
  ASSIGN_OR_RETURN(const std::uint64_t number, Find(id));
  return silences_.at(number);
}

void Silences::Remove(const std::string& id) {
  std::erase_if(silences_, [&](const auto& known) { return known.second.id() == id; });
}

std::vector<v1::Silence> Silences::Expire(Moment now) {
  std::vector<v1::Silence> over;
  for (auto at = silences_.begin(); at != silences_.end();) {
    if (FromProto(at->second.until()) > now.wall) {
      ++at;
      continue;
    }
    over.push_back(std::move(at->second));
    at = silences_.erase(at);
  }
  return over;
}

const v1::Silence* Silences::Match(const v1::Finding& finding) const {
  std::vector<std::string> nodes = NodesOf(finding);
  // Of a cut list, not all nodes can be silenced.
  if (nodes.empty() || finding.affected_total() > 0) nodes = {""};
  const v1::Silence* first_over = nullptr;
  for (const std::string& node : nodes) {
    const v1::Silence* const longest = Longest(finding, node);
    if (longest == nullptr) return nullptr;
    if (first_over == nullptr || FromProto(longest->until()) < FromProto(first_over->until()))
      first_over = longest;
  }
  return first_over;
}

const v1::Silence* Silences::Longest(const v1::Finding& finding, const std::string& node) const {
  const v1::Silence* longest = nullptr;
  for (const auto& [number, silence] : silences_)
    if (Matches(silence, finding, node) &&
        (longest == nullptr || FromProto(silence.until()) > FromProto(longest->until())))
      longest = &silence;
  return longest;
}

std::vector<v1::Silence> Silences::all() const {
  std::vector<v1::Silence> all;
  for (const auto& [number, silence] : silences_) all.push_back(silence);
  std::stable_sort(all.begin(), all.end(), [](const v1::Silence& a, const v1::Silence& b) {
    return FromProto(a.until()) < FromProto(b.until());
  });
  return all;
}

Result<std::uint64_t> Silences::Find(const std::string& id) const {
  std::vector<std::string> known;
  std::vector<std::uint64_t> begins;
  for (const auto& [number, silence] : silences_) {
    if (silence.id() == id) return number;
    known.push_back(silence.id());
    if (!id.empty() && silence.id().starts_with(id)) begins.push_back(number);
  }
  if (begins.size() == 1) return begins.front();
  if (begins.empty()) return NoSuch("silence", id, known);
  return Status(Code::kInvalidArgument,
                Format("id: the prefix {} matches {} silences", Quoted(id), begins.size()));
}

}  // namespace fabric::control
