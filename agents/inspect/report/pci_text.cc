#include "agents/inspect/report/pci_text.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::uint32_t kSpeedOfCode[] = {0, 2500, 5000, 8000, 16000, 32000, 64000, 128000};
constexpr std::uint32_t kWidthUnknown = 255;
constexpr std::size_t kBaseAddresses = 6;
constexpr std::uint64_t kMemoryFlag = 0x200;  // IORESOURCE_MEM

bool IsVersion(std::string_view word) {
  return !word.empty() && word[0] >= '0' && word[0] <= '9' &&
         word.find('.') != std::string_view::npos &&
         word.find_first_not_of("0123456789.-abcdefghijklmnopqrstuvwxyz+") ==
             std::string_view::npos;
}

}  // namespace

Result<std::uint32_t> ParsePciSpeed(std::string_view text) {
  const std::vector<std::string_view> words = Words(text);
  if (!words.empty() && words[0] == "Unknown") return 0U;
  const Status wrong(Code::kInvalidArgument,
                     "expected a speed such as '32.0 GT/s PCIe', saw " + Quoted(text));
  if (words.size() < 2 || !words[1].starts_with("GT/s")) return wrong;
  const std::size_t dot = std::min(words[0].find('.'), words[0].size());
  const auto whole = ParseNumber<std::uint16_t>(words[0].substr(0, dot));
  if (!whole.ok()) return wrong;
  if (dot == words[0].size()) return *whole * 1000U;
  const auto tenths = ParseNumber<std::uint16_t>(words[0].substr(dot + 1));
  if (!tenths.ok() || *tenths > 9 || words[0].size() != dot + 2) return wrong;
  return *whole * 1000U + *tenths * 100U;
}

Result<std::uint32_t> ParsePciWidth(std::string_view text) {
  if (Trim(text) == "Unknown") return 0U;
  ASSIGN_OR_RETURN(const auto width, ParseNumber<std::uint32_t>(Trim(text)));
  return width == kWidthUnknown ? 0U : width;
}

std::uint32_t PciSpeedOfCode(std::uint8_t code) {
  return code < std::size(kSpeedOfCode) ? kSpeedOfCode[code] : 0;
}

Result<std::uint64_t> ParseAerTotal(std::string_view text) {
  std::uint64_t sum = 0;
  bool any = false;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.empty()) continue;
    const auto count = words.size() == 2 ? ParseNumber<std::uint64_t>(words[1])
                                         : Status(Code::kInvalidArgument, "not two words");
    if (!count.ok())
      return Status(Code::kInvalidArgument,
                    "expected lines of a name and a count, saw " + Quoted(line));
    if (words[0].starts_with("TOTAL_ERR_")) return *count;
    sum += std::min(*count, std::numeric_limits<std::uint64_t>::max() - sum);
    any = true;
  }
  if (!any) return Status(Code::kInvalidArgument, "expected lines of a name and a count, saw none");
  return sum;
}

Result<std::uint64_t> ParseLargestWindow(std::string_view text) {
  std::uint64_t largest = 0;
  std::size_t row = 0;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.empty() || row++ >= kBaseAddresses) continue;
    std::array<std::uint64_t, 3> numbers{};  // First and last address, flags
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto number = i < words.size() ? ParseNumber<std::uint64_t>(words[i], 16)
                                           : Status(Code::kInvalidArgument, "too few numbers");
      if (!number.ok())
        return Status(Code::kInvalidArgument,
                      "expected lines of three hexadecimal numbers, saw " + Quoted(line));
      numbers[i] = *number;
    }
    const auto [first, last, flags] = numbers;
    if ((flags & kMemoryFlag) == 0 || first == 0 || last <= first) continue;
    largest = std::max(largest, last - first + 1);
  }
  return largest;
}

Result<NvidiaVersion> ParseNvidiaVersion(std::string_view text) {
  for (const std::string_view line : Split(text, '\n')) {
    if (!line.starts_with("NVRM version:")) continue;
    for (const std::string_view word : Words(line))
      if (IsVersion(word))
        return NvidiaVersion{.version = std::string(word),
                             .open = line.find("Open Kernel Module") != std::string_view::npos};
  }
  return Status(Code::kInvalidArgument,
                "expected a line 'NVRM version: ... Kernel Module ...', saw " + Quoted(text));
}

std::optional<std::vector<std::string_view>> ModuleUsers(std::string_view proc_modules,
                                                         std::string_view module) {
  constexpr std::size_t kUsersWord = 3;  // "ib_core 442368 2 ib_cm,rdma_cm, Live 0x0"
  for (const std::string_view line : Split(proc_modules, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() <= kUsersWord || words[0] != module) continue;
    std::vector<std::string_view> users = Split(words[kUsersWord], ',');
    std::erase_if(users, [](std::string_view user) { return user.empty() || user == "-"; });
    return users;
  }
  return std::nullopt;
}

std::string_view NvidiaField(std::string_view information, std::string_view name) {
  for (const std::string_view line : Split(information, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || Trim(line.substr(0, colon)) != name) continue;
    const std::string_view value = Trim(line.substr(colon + 1));
    const bool unknown = value == "N/A" || value.find('?') != std::string_view::npos;
    return unknown ? std::string_view() : value;
  }
  return {};
}

std::optional<KernelVersion> ParseKernelVersion(std::string_view release) {
  const std::vector<std::string_view> parts = Split(release, '.');
  if (parts.size() < 2) return std::nullopt;
  const std::size_t end = std::min(parts[1].find_first_not_of("0123456789"), parts[1].size());
  const auto major = ParseNumber<std::uint32_t>(parts[0]);
  const auto minor = ParseNumber<std::uint32_t>(parts[1].substr(0, end));
  if (!major.ok() || !minor.ok()) return std::nullopt;
  return KernelVersion{.major = *major, .minor = *minor};
}

}  // namespace fabric::inspect
