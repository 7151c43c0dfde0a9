// Silences: what people do not want to be alerted about for a time. A value without clock, store
// and threads; its owner stores what changes.
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
  // From the store, with ended ones: their ids are not given again.
  void Restore(std::vector<v1::Silence> stored, Moment now);

  // Completes it with id, created_at and until. INVALID_ARGUMENT: it matches nothing in particular,
  // has no author or reason, or the time is not 1 s to kSilenceMax; RESOURCE_EXHAUSTED with
  // kSilencesMax of them. Whether what it names exists is not looked at.
  Result<v1::Silence> Add(v1::Silence silence, std::uint32_t seconds, Moment now);
  // Ends it: its `until` becomes now. NOT_FOUND, with what was meant.
  Result<v1::Silence> End(const std::string& id, Moment now);
  // Those whose time is over, which do not hold any more.
  std::vector<v1::Silence> Expire(Moment now);

  // Of those that match, the one that holds longest; nullptr: none does.
  const v1::Silence* Match(const v1::Finding& finding) const;
  std::vector<v1::Silence> all() const;  // The one that ends first comes first.

 private:
  // The id itself, or the only one that begins with it.
  Result<std::uint64_t> Find(const std::string& id) const;

  std::map<std::uint64_t, v1::Silence> silences_;  // By the number in the id
  std::uint64_t next_ = 1;
};

// INVALID_ARGUMENT unless both have something in them and are not too long. `what` and `why` are
// the names of the fields.
Status CheckAuthor(const std::string& author);
Status CheckWords(std::string_view field, const std::string& text);

}  // namespace fabric::control
