#include "base/suggest.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "base/text.h"

namespace fabric {
namespace {

constexpr std::size_t kWordBytesMax = 256;  // Names from a network can be long; time is quadratic.

// The last row of the table: the distance of `a` to each beginning of `b`.
std::vector<std::size_t> EditDistances(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row;
}

// Two errors in a word of four letters are another word, except two letters that changed places.
bool IsClose(std::string_view word, std::string_view candidate, std::size_t distance) {
  constexpr std::size_t kShort = 4;
  if (distance < 2 || word.size() > kShort) return true;
  return word.size() == candidate.size() &&
         std::is_permutation(word.begin(), word.end(), candidate.begin());
}

// The first candidate that begins with a longer word, or with a typo of it: "mtu_equal" for
// "mtu_equal_on_rail".
std::string_view Completed(std::string_view word, const Candidates& candidates) {
  constexpr std::size_t kWordMin[] = {4, 6};  // By the distance
  for (std::size_t distance = 0; distance < std::size(kWordMin); ++distance)
    for (const std::string_view candidate : candidates)
      if (word.size() >= kWordMin[distance] && candidate.size() > word.size() &&
          std::ranges::min(EditDistances(word, candidate.substr(0, word.size() + 1))) <= distance)
        return candidate;
  return {};
}

}  // namespace

std::string_view Closest(std::string_view word, const Candidates& candidates) {
  constexpr std::size_t kDistanceMax = 2;
  std::string_view best;
  if (word.size() > kWordBytesMax) return best;
  std::size_t best_distance = kDistanceMax + 1;
  for (const std::string_view candidate : candidates) {
    // Insertions alone would exceed the distance.
    if (candidate.size() > word.size() + kDistanceMax) continue;
    if (word.size() > candidate.size() + kDistanceMax) continue;
    const std::size_t distance = EditDistances(word, candidate).back();
    if (distance < best_distance && distance < candidate.size() &&
        IsClose(word, candidate, distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? Completed(word, candidates) : best;
}

std::string Suggest(std::string_view word, const Candidates& candidates) {
  const std::string_view closest = Closest(word, candidates);
  return closest.empty() ? std::string() : Format("; did you mean {}?", Quoted(closest));
}

std::string UnknownName(std::string_view kind, std::string_view word, const Candidates& candidates,
                        std::string_view otherwise) {
  const std::string suggestion = Suggest(word, candidates);
  return Format("unknown {} {}{}", kind, Quoted(word),
                suggestion.empty() ? otherwise : std::string_view(suggestion));
}

}  // namespace fabric
