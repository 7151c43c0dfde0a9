// Forms of HTTP (application/x-www-form-urlencoded). Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fabric::https {

// "grant_type=a%20b&client_id=c"
std::string Form(const std::vector<std::pair<std::string_view, std::string_view>>& fields);

}  // namespace fabric::https
