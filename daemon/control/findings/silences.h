// Silences of findings, for a limited time. Pure; the owner stores changes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/finding.pb.h"

namespace fabric::control {

inline constexpr Duration kSilenceMax = std::chrono::hours(24 * 30);
inline constexpr std::size_t kSilencesMax = 1000;  // At a time

class Silences {
 public:
  // From the store, including ended ones, so that their ids are not reused.
  void Restore(std::vector<v1::Silence> stored, Moment now);

  // Adds id, created_at and until. INVALID_ARGUMENT: it has no matcher, author or reason, or the
  // time is not 1 s to kSilenceMax; RESOURCE_EXHAUSTED at kSilencesMax. Names are not checked.
  Result<v1::Silence> Add(v1::Silence silence, std::uint32_t seconds, Moment now);
  // By id, or by a prefix that only one id has. NOT_FOUND, with the closest id.
  Result<v1::Silence> Get(const std::string& id) const;
  void Remove(const std::string& id);  // The whole id
  // Removes and returns the silences that have expired.
  std::vector<v1::Silence> Expire(Moment now);

  // The matching silence that ends last; nullptr: none matches. A finding about several nodes
  // needs a silence for each; of those, the one that ends first.
  const v1::Silence* Match(const v1::Finding& finding) const;
  std::vector<v1::Silence> all() const;  // Ordered by end
  std::size_t size() const { return silences_.size(); }

 private:
  // The silence of this node that ends last. An empty name matches silences without a node.
  const v1::Silence* Longest(const v1::Finding& finding, const std::string& node) const;
  Result<std::uint64_t> Find(const std::string& id) const;

  std::map<std::uint64_t, v1::Silence> silences_;  // By the number in the id
  std::uint64_t next_ = 1;
};

// Authors are names of identities, which have at most 256 bytes (access::kIdentityBytesMax).
inline constexpr std::size_t kAuthorBytesMax = 256;
// INVALID_ARGUMENT when the name is too long; RequireAuthor also when it is blank.
Status CheckAuthor(const std::string& author);
Status RequireAuthor(const std::string& author);
// INVALID_ARGUMENT when the text is blank or too long. `field` is its name in messages.
Status CheckWords(std::string_view field, const std::string& text);

}  // namespace fabric::control
