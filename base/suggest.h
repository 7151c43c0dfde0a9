// Messages about unknown names, with a suggestion. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fabric {

using Candidates = std::vector<std::string_view>;

// The candidate at an edit distance of at most 2 from `word`; empty when there is none.
std::string_view Closest(std::string_view word, const Candidates& candidates);

// "; did you mean 'nodes'?", or nothing.
std::string Suggest(std::string_view word, const Candidates& candidates);

// "unknown node 'n22'; did you mean 'n2'?". Without a close candidate `otherwise` takes the place
// of the suggestion.
std::string UnknownName(std::string_view kind, std::string_view word, const Candidates& candidates,
                        std::string_view otherwise = {});

}  // namespace fabric
