#include "base/redaction.h"

#include <algorithm>
#include <cctype>
#include <span>

#include "base/text.h"

namespace fabric {
namespace {

constexpr std::string_view kRemoved = "(removed)";
constexpr std::string_view kTokenStart = "fabric_";  // Of `token create` and `join-token create`
constexpr std::size_t kTokenBytesMin = 40;  // After the start; names of metrics are shorter.
constexpr std::size_t kJwtBytesMin = 30;
constexpr std::size_t kBearerBytesMin = 12;  // Shorter ones are words of a sentence.
constexpr std::string_view kSecretParameters[] = {"key", "pass", "secret", "token", "auth"};
constexpr std::string_view kSecretNames[] = {"password", "passphrase", "passwd",       "secret",
                                             "token",    "credential", "authorization"};

std::string LowerOf(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool ContainsOneOf(std::string_view name, std::span<const std::string_view> parts) {
  const std::string lower = LowerOf(name);
  return std::ranges::any_of(parts,
                             [&](std::string_view part) { return lower.find(part) != lower.npos; });
}

bool OfName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

bool EndsValue(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0 || c == '"' || c == '\'' || c == '`';
}

std::size_t EndOfValue(std::string_view line, std::size_t at) {
  while (at < line.size() && !EndsValue(line[at])) ++at;
  return at;
}

// A token of fabricd, or a JSON Web Token.
bool IsToken(std::string_view word) {
  if (word.starts_with(kTokenStart)) return word.size() >= kTokenStart.size() + kTokenBytesMin;
  return word.starts_with("eyJ") && word.size() >= kJwtBytesMin &&
         std::ranges::count(word, '.') == 2;
}

// Copies a line to `out` word by word.
class RedactedLine {
 public:
  RedactedLine(std::string_view line, std::string& out) : line_(line), out_(out) {}

  void Copy() {
    while (at_ < line_.size()) {
      if (line_.substr(at_).starts_with("://"))
        CopyUrl();
      else if (OfName(line_[at_]))
        CopyName();
      else
        out_ += line_[at_++];
    }
  }

 private:
  void Take(std::size_t end) {
    out_ += line_.substr(at_, end - at_);
    at_ = end;
  }
  void Remove(std::size_t end) {
    out_ += kRemoved;
    at_ = end;
  }

  // "://USER:PASSWORD@HOST/PATH?QUERY", without password and query.
  void CopyUrl() {
    Take(at_ + 3);
    const std::size_t end = EndOfValue(line_, at_);
    // The whole word: a password that is not encoded can have a '/'.
    const std::string_view authority = line_.substr(at_, end - at_);
    const std::size_t sign = authority.rfind('@');
    const std::size_t colon = authority.find(':');
    if (sign != authority.npos && colon < sign) {
      const std::size_t after = at_ + sign;
      Take(at_ + colon + 1);
      Remove(after);
    }
    const std::size_t query = line_.substr(0, end).find('?', at_);
    if (query == line_.npos || query + 1 == end) return;
    Take(query + 1);
    Remove(end);
  }

  void CopyName() {
    std::size_t end = at_;
    while (end < line_.size() && OfName(line_[end])) ++end;
    const std::string_view name = line_.substr(at_, end - at_);
    if (IsToken(name)) return Remove(end);
    Take(end);
    if (LowerOf(name) == "bearer") return CopyBearer();
    if (ContainsOneOf(name, kSecretNames)) CopyValue(name);
  }

  void CopyBearer() {
    std::size_t value = at_;
    while (value < line_.size() && line_[value] == ' ') ++value;
    const std::size_t end = EndOfValue(line_, value);
    if (end - value < kBearerBytesMin) return;
    Take(value);
    Remove(end);
  }

  // After a name: "=VALUE", ": VALUE", `": "VALUE"`. The paths of settings stay: they say where a
  // secret is. Other values that begin with '/' can be base64.
  void CopyValue(std::string_view name) {
    std::size_t value = at_;
    if (value < line_.size() && (line_[value] == '"' || line_[value] == '\'')) ++value;
    if (value == line_.size() || (line_[value] != '=' && line_[value] != ':')) return;
    ++value;
    while (value < line_.size() && line_[value] == ' ') ++value;
    const char quote = value < line_.size() ? line_[value] : '\0';
    const bool quoted = quote == '"' || quote == '\'';
    if (quoted) ++value;
    std::size_t end = EndOfValue(line_, value);
    if (quoted) end = std::min(line_.find(quote, value), line_.size());
    if (LowerOf(line_.substr(value, end - value)) == "bearer")
      end = EndOfValue(line_, std::min(end + 1, line_.size()));
    if (end == value) return;
    const bool path = line_[value] == '/' && (name.ends_with("file") || name.ends_with("tokens"));
    if (path || line_[value] == '#') return;
    Take(value);
    Remove(end);
  }

  const std::string_view line_;
  std::string& out_;
  std::size_t at_ = 0;
};

}  // namespace

std::string WithoutSecrets(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ";
  constexpr std::string_view kKey = "PRIVATE KEY-----";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t line_end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, line_end);
    const std::size_t key = line.find(kKey);
    const std::size_t begin = key == line.npos ? line.npos : line.rfind(kBegin, key);
    if (begin == line.npos) {
      RedactedLine(line, out).Copy();
      if (line_end < text.size()) out += '\n';
      text.remove_prefix(std::min(line_end + 1, text.size()));
      continue;
    }
    // A key that does not end is removed to the end of the text.
    RedactedLine(line.substr(0, begin), out).Copy();
    out += kRemoved;
    const std::size_t end = text.find(kEnd, key);
    const std::size_t after = end == text.npos ? text.npos : text.find(kKey, end);
    text.remove_prefix(after == text.npos ? text.size() : after + kKey.size());
  }
  return out;
}

std::string WithoutSecretParameters(std::string_view line) {
  std::string out;
  for (const std::string_view word : Words(line)) {
    const std::string_view name = word.substr(0, word.find('='));
    if (!out.empty()) out += ' ';
    if (ContainsOneOf(name, kSecretParameters) && name.size() < word.size())
      out += Format("{}={}", name, kRemoved);
    else
      out += word;
  }
  return out;
}

}  // namespace fabric
