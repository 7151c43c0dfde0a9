#include "agents/host/kernel_log/kernel_log_text.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/ids.h"
#include "base/text.h"

namespace fabric::host {
namespace {

constexpr std::size_t kTextMax = 400;
constexpr std::uint32_t kSeverityMask = 7;
constexpr std::uint32_t kFacilityShift = 3;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}
bool IsHexDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Fit for a message of the schema.
std::string Cleaned(std::string_view text) {
  std::string clean(Trim(text.substr(0, kTextMax)));
  for (char& c : clean)
    if (c < ' ' || c > '~') c = '?';
  return clean;
}

void SetPriority(std::uint32_t priority, KernelLine& line) {
  line.severity = priority & kSeverityMask;
  line.facility = priority >> kFacilityShift;
}

// "98765.432100" in seconds.
std::optional<std::chrono::microseconds> ParseSeconds(std::string_view text) {
  text = Trim(text);
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos || text.size() - dot - 1 != 6) return std::nullopt;
  const auto seconds = ParseNumber<std::uint32_t>(text.substr(0, dot));
  const auto micros = ParseNumber<std::uint32_t>(text.substr(dot + 1));
  if (!seconds.ok() || !micros.ok()) return std::nullopt;
  return std::chrono::seconds(*seconds) + std::chrono::microseconds(*micros);
}

// "2024-04-15T10:00:00.123456+02:00" or with a comma; a date without zone is not known.
std::optional<WallTime> ParseIsoTime(std::string_view text) {
  const auto number = [&](std::size_t from, std::size_t size) -> int {
    const auto value = ParseNumber<int>(text.substr(std::min(from, text.size()), size));
    return value.ok() && *value >= 0 ? *value : -1;
  };
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':')
    return std::nullopt;
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
    return std::nullopt;
  if (year < 1970 || year > 2200 || month < 1 || day < 1) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  std::size_t at = 19;
  std::chrono::nanoseconds fraction{};
  if (text[at] == '.' || text[at] == ',') {
    std::int64_t unit = 100'000'000;
    for (++at; at < text.size() && IsDigit(text[at]); ++at, unit /= 10)
      fraction += std::chrono::nanoseconds((text[at] - '0') * unit);
  }
  const std::string_view zone = text.substr(at);
  std::chrono::minutes offset{};
  if (zone != "Z") {
    if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':')
      return std::nullopt;
    const int hours = number(at + 1, 2), minutes = number(at + 4, 2);
    if (hours < 0 || minutes < 0) return std::nullopt;
    offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
    if (zone[0] == '-') offset = -offset;
  }
  return WallTime(std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours(hour) +
                  std::chrono::minutes(minute) + std::chrono::seconds(second) + fraction - offset);
}

// Takes "<6>" off.
void TakePriority(std::string_view& text, KernelLine& line) {
  if (!text.starts_with('<')) return;
  const std::size_t end = text.find('>');
  if (end == std::string_view::npos) return;
  const auto priority = ParseNumber<std::uint32_t>(text.substr(1, end - 1));
  if (!priority.ok()) return;
  SetPriority(*priority, line);
  text.remove_prefix(end + 1);
}

// Takes "kern  :info  : " off, which dmesg -x prints.
void TakeNamedPriority(std::string_view& text, KernelLine& line) {
  constexpr std::string_view kLevels[] = {"emerg", "alert",  "crit", "err",
                                          "warn",  "notice", "info", "debug"};
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string_view::npos ? first : text.find(':', first + 1);
  if (second == std::string_view::npos || second > 20) return;
  const std::string_view level = Trim(text.substr(first + 1, second - first - 1));
  const auto* const found = std::find(std::begin(kLevels), std::end(kLevels), level);
  if (found == std::end(kLevels)) return;
  line.severity = static_cast<std::uint32_t>(found - std::begin(kLevels));
  line.facility = Trim(text.substr(0, first)) == "kern" ? 0 : 1;
  text = text.substr(second + 1);
}

// Takes "[   12.345678]", "[Mon Apr 15 10:00:00 2024]" and the caller "[ T123]" off.
void TakeBrackets(std::string_view& text, KernelLine& line) {
  text = Trim(text);
  if (!text.starts_with('[')) return;
  const std::size_t end = text.find(']');
  if (end == std::string_view::npos) return;
  const std::string_view inside = text.substr(1, end - 1);
  line.since_boot = ParseSeconds(inside);
  const bool date = inside.size() == 24 && inside[13] == ':' && inside[16] == ':';
  if (!line.since_boot && !date) return;
  text = text.substr(end + 1);
  const std::size_t caller = text.find(']');
  if (text.starts_with('[') && caller != std::string_view::npos) {
    const std::string_view who = Trim(text.substr(1, caller - 1));
    if ((who.starts_with('T') || who.starts_with('C')) && who.size() > 1 && IsDigit(who[1]))
      text = text.substr(caller + 1);
  }
}

// "6,339,5140900,-" in front of a semicolon.
bool IsKmsgPrefix(std::string_view line) {
  const std::size_t end = line.find(';');
  if (end == std::string_view::npos) return false;
  const auto fields = Split(line.substr(0, end), ',');
  return fields.size() >= 4 && std::all_of(fields.begin(), fields.begin() + 3, [](auto field) {
           return ParseNumber<std::uint64_t>(field).ok();
         });
}

// "0000:17:00.0" anywhere in the text; NVIDIA's "PCI:0000:1b:00" is its function 0.
std::string FindPciAddress(std::string_view text, std::size_t& end) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at > 0 && (IsHexDigit(text[at - 1]) || IsLetter(text[at - 1]))) continue;
    std::size_t stop = at;
    while (stop < text.size() && (IsHexDigit(text[stop]) || text[stop] == ':' || text[stop] == '.'))
      ++stop;
    std::string_view word = text.substr(at, stop - at);
    while (word.ends_with(':') || word.ends_with('.')) word.remove_suffix(1);
    if (word.size() < 10) continue;
    std::string address(word);
    if (word.find('.') == std::string_view::npos) address += ".0";
    if (!ParsePciAddress(address).ok()) continue;
    end = at + word.size();
    return address;
  }
  end = 0;
  return "";
}

// "3b:00.0" of "DMAR: [DMA Read] Request device [3b:00.0] fault addr": an address without domain.
std::string_view FindRequester(std::string_view text) {
  constexpr std::string_view kBefore = "equest device [";
  const std::size_t at = text.find(kBefore);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + kBefore.size());
  return rest.substr(0, std::min(rest.find(']'), rest.size()));
}

bool IsNameOfDevice(std::string_view word) {
  if (word.empty() || word.size() > 64 || !IsLetter(word[0])) return false;
  const bool digit = std::any_of(word.begin(), word.end(), IsDigit);
  return digit && std::all_of(word.begin(), word.end(), [](char c) {
           return IsLetter(c) || IsDigit(c) || c == '_' || c == '-' || c == '.';
         });
}

// "NETDEV WATCHDOG: CPU: 12: ens1 (mlx5_core): transmit queue 3 timed out"
std::string FindWatchedDevice(std::string_view text) {
  const std::string_view before = text.substr(0, text.find(" ("));
  const std::size_t blank = before.rfind(' ');
  const std::string_view word = before.substr(blank == std::string_view::npos ? 0 : blank + 1);
  return IsNameOfDevice(word) ? std::string(word) : "";
}

// The kernel puts the name of a netdev or RDMA device between that of the PCI function and a colon
// ("mlx5_core 0000:17:00.0 ens1: "), behind "infiniband ", or behind "(slave ".
std::string FindDevice(std::string_view text, std::size_t after_address) {
  if (text.starts_with("NETDEV WATCHDOG: ")) return FindWatchedDevice(text);
  std::string_view rest;
  constexpr std::string_view kSlave = "(slave ";
  if (text.starts_with("infiniband "))
    rest = text.substr(std::string_view("infiniband ").size());
  else if (const std::size_t slave = text.find(kSlave); slave != std::string_view::npos)
    rest = text.substr(slave + kSlave.size());
  else if (after_address > 0 && after_address < text.size() && text[after_address] == ' ')
    rest = text.substr(after_address + 1);
  else if (after_address == 0)
    rest = text;
  const std::size_t end = rest.find_first_of(":) ");
  if (end == std::string_view::npos || rest[end] == ' ') return "";
  const std::string_view word = rest.substr(0, end);
  return IsNameOfDevice(word) && word != "mlx5" && word != "i40e" ? std::string(word) : "";
}

// Key of a kind of lines: numbers become '#'.
std::string WithoutNumbers(std::string_view text) {
  std::string kind;
  for (std::size_t at = 0; at < text.size();) {
    if (!IsDigit(text[at]) && !IsLetter(text[at])) {
      kind += text[at++];
      continue;
    }
    std::size_t end = at;
    bool digit = false;
    bool number = true;  // Hexadecimal, perhaps with 0x
    for (; end < text.size() && (IsDigit(text[end]) || IsLetter(text[end])); ++end) {
      digit = digit || IsDigit(text[end]);
      number = number && (IsHexDigit(text[end]) || text[end] == 'x');
    }
    if (digit && number) {
      kind += '#';
      at = end;
    }
    for (; at < end; ++at)
      if (!IsDigit(text[at]))
        kind += text[at];
      else if (kind.empty() || kind.back() != '#')
        kind += '#';
  }
  return kind;
}

std::string KindOf(const LogPattern& pattern, std::string_view text) {
  const std::size_t split = pattern.numbers_matter_until == 0
                                ? std::string_view::npos
                                : text.find(pattern.numbers_matter_until);
  if (split == std::string_view::npos) return WithoutNumbers(text);
  return std::string(text.substr(0, split)) + WithoutNumbers(text.substr(split));
}

}  // namespace

Result<KernelLine> ParseKmsgRecord(std::string_view record) {
  const std::string_view head = record.substr(0, record.find('\n'));
  if (!IsKmsgPrefix(head))
    return Status(Code::kInvalidArgument,
                  "expected \"priority,sequence,microseconds,flags;text\", saw " + Quoted(head));
  const std::size_t semicolon = head.find(';');
  const auto fields = Split(head.substr(0, semicolon), ',');
  KernelLine line;
  const auto priority = ParseNumber<std::uint32_t>(fields[0]);
  if (priority.ok()) SetPriority(*priority, line);
  const auto micros = ParseNumber<std::int64_t>(fields[2]);
  if (micros.ok()) line.since_boot = std::chrono::microseconds(*micros);
  line.text = Cleaned(head.substr(semicolon + 1));
  constexpr std::string_view kPciDevice = "DEVICE=+pci:";
  for (const std::string_view entry : Split(record.substr(head.size()), '\n'))
    if (const std::string_view value = Trim(entry);
        value.starts_with(kPciDevice) && ParsePciAddress(value.substr(kPciDevice.size())).ok())
      line.pci_address = std::string(value.substr(kPciDevice.size()));
  return line;
}

std::optional<KernelLine> ParseLogLine(std::string_view line) {
  line = Trim(line);
  if (line.empty()) return std::nullopt;
  if (IsKmsgPrefix(line)) return *ParseKmsgRecord(line);
  KernelLine parsed;
  TakePriority(line, parsed);
  if (!parsed.severity) TakeNamedPriority(line, parsed);
  line = Trim(line);
  // Of syslog: "DATE HOST kernel: [stamp] text". The stamp may be one of an earlier boot.
  constexpr std::string_view kKernel = " kernel: ";
  const std::size_t kernel = line.find(kKernel);
  const std::size_t first_blank = line.find(' ');
  const std::optional<WallTime> date = ParseIsoTime(line.substr(0, first_blank));
  constexpr std::size_t kHeadMax = 100;
  const bool bracket = line.starts_with('[');
  if (!bracket && kernel != std::string_view::npos && kernel < kHeadMax) {
    std::string_view text = line.substr(kernel + kKernel.size());
    TakeBrackets(text, parsed);
    parsed.since_boot.reset();
    parsed.at = date;
    parsed.text = Cleaned(text);
  } else if (date) {
    parsed.at = date;
    // Of a program, "HOST sshd[123]: ...", of which none begins like a driver.
    parsed.text = Cleaned(line.substr(std::min(first_blank, line.size())));
  } else {
    TakeBrackets(line, parsed);
    parsed.text = Cleaned(line);
  }
  if (parsed.text.empty()) return std::nullopt;
  return parsed;
}

void KernelLogDigest::Add(const KernelLine& line) {
  const std::optional<LogPattern> pattern = MatchLogLine(line);
  if (!pattern) return;
  std::size_t after_address = 0;
  std::string address = FindPciAddress(line.text, after_address);
  if (address.empty()) address = line.pci_address;
  std::string device = FindDevice(line.text, after_address);
  const std::string key =
      Format("{}|{}|{}|{}", address, device, FindRequester(line.text), KindOf(*pattern, line.text));
  ++seen_;
  auto found = kinds_.find(key);
  if (found == kinds_.end()) {
    MakeRoom();
    found = kinds_.emplace(key, Kind{}).first;
    found->second.first_seen = seen_;
    found->second.entry.category = std::string(pattern->category);
    found->second.entry.first_at = line.at;
    found->second.entry.pci_address = std::move(address);
    found->second.entry.device = std::move(device);
  }
  Kind& kind = found->second;
  kind.last_seen = seen_;
  kind.entry.text = line.text;
  kind.entry.last_at = line.at;
  kind.entry.severity = line.severity.value_or(pattern->severity);
  ++kind.entry.count;
}

void KernelLogDigest::MakeRoom() {
  if (kinds_.size() < kKindsMax) return;
  ++forgotten_;
  kinds_.erase(std::min_element(kinds_.begin(), kinds_.end(), [](const auto& a, const auto& b) {
    return a.second.last_seen < b.second.last_seen;
  }));
}

std::vector<KernelLogEntry> KernelLogDigest::Entries() const {
  std::vector<const Kind*> kinds;
  for (const auto& [key, kind] : kinds_) kinds.push_back(&kind);
  std::sort(kinds.begin(), kinds.end(),
            [](const Kind* a, const Kind* b) { return a->first_seen < b->first_seen; });
  std::vector<KernelLogEntry> entries;
  for (const Kind* kind : kinds) entries.push_back(kind->entry);
  return entries;
}

}  // namespace fabric::host
