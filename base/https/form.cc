#include "base/https/form.h"

#include <cctype>

#include "base/text.h"

namespace fabric::https {
namespace {

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~';
    escaped += plain ? std::string(1, c) : Format("%{:02X}", static_cast<unsigned>(byte));
  }
  return escaped;
}

}  // namespace

std::string Form(const std::vector<std::pair<std::string_view, std::string_view>>& fields) {
  std::string form;
  for (const auto& [name, value] : fields) {
    if (!form.empty()) form += '&';
    form += Escaped(name) + "=" + Escaped(value);
  }
  return form;
}

}  // namespace fabric::https
