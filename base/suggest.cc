#include "base/suggest.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"

namespace fabric {
namespace {

constexpr std::size_t kWordBytesMax = 256;  // Names from a network can be long; time is quadratic.

std::size_t EditDistance(std::string_view a, std::string_view b) {
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
  return row.back();
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
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
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
