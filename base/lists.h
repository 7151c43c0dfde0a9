// Names and counts in sentences. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fabric {

// "a, b and 3 more": at most `shown` items. `all` counts items that are not in `items` either.
std::string ListSome(const std::vector<std::string>& items, std::size_t shown,
                     std::string_view separator = ", ");
std::string ListSome(const std::vector<std::string>& items, std::size_t shown, std::size_t all,
                     std::string_view separator = ", ");

// "1 node", "3 nodes"
std::string Plural(std::uint64_t count, std::string_view noun);

// Natural order: runs of digits compare as numbers, n2 before n10.
bool NaturalLess(std::string_view a, std::string_view b);

}  // namespace fabric
