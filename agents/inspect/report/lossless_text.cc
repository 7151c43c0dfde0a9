#include "agents/inspect/report/lossless_text.h"

#include <algorithm>
#include <array>
#include <map>

#include "agents/inspect/parse/parse.h"
#include "base/text.h"

namespace fabric::inspect {
namespace {

constexpr std::size_t kTextPriorities = 8;
constexpr std::size_t kBuffers = 8;
constexpr std::uint64_t kBitsPerKbit = 1000;

Status SettingExpected(std::string_view what, std::string_view seen) {
  return {Code::kInvalidArgument, Format("expected {}, saw {}", what, Quoted(seen))};
}

bool StartsWithDigit(std::string_view word) {
  return !word.empty() && word.front() >= '0' && word.front() <= '9';
}

// The lines of numbers of a table by their first number, the second one of each line as value.
// Lines that begin otherwise are headings.
Result<std::map<std::size_t, std::uint32_t>> ParseRows(std::string_view text) {
  std::map<std::size_t, std::uint32_t> rows;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.empty() || !StartsWithDigit(words[0])) continue;
    const auto index = ParseNumber<std::size_t>(words[0]);
    const auto value = ParseNumber<std::uint32_t>(words.size() < 2 ? "" : words[1]);
    if (!index.ok() || !value.ok() || !rows.emplace(*index, *value).second)
      return SettingExpected("an index and its value, each index once", line);
  }
  return rows;
}

// A ToS byte; absent for -1, which clears it.
Result<std::optional<std::uint32_t>> ParseTos(std::string_view text) {
  if (text == "-1") return std::optional<std::uint32_t>();
  constexpr std::uint64_t kTosMax = 255;
  const Result<std::uint64_t> tos = ParseSetting(text);
  if (!tos.ok() || *tos > kTosMax) return SettingExpected("a traffic class up to 255", text);
  return std::optional(static_cast<std::uint32_t>(*tos));
}

struct Unit {
  std::string_view name;
  std::string_view unit;
};

constexpr std::string_view kMicroseconds = "microseconds";
constexpr std::string_view kRate = "Mbit/s";

// mlx5: OFED's sysfs ("rpg_", plain) and the kernel's debugfs ("rp_", "np_") name the same
// registers. bnxt_re: configfs. irdma: parameters of the out-of-tree module.
constexpr auto kUnits = std::to_array<Unit>({
    {"rpg_time_reset", kMicroseconds},
    {"rp_time_reset", kMicroseconds},
    {"rpg_byte_reset", "bytes"},
    {"rp_byte_reset", "bytes"},
    {"rpg_max_rate", kRate},
    {"rp_max_rate", kRate},
    {"rpg_ai_rate", kRate},
    {"rp_ai_rate", kRate},
    {"rpg_hai_rate", kRate},
    {"rp_hai_rate", kRate},
    {"rpg_min_rate", kRate},
    {"rp_min_rate", kRate},
    {"rate_to_set_on_first_cnp", kRate},
    {"rp_rate_to_set_on_first_cnp", kRate},
    {"rpg_min_dec_fac", "percent"},
    {"rp_min_dec_fac", "percent"},
    {"dce_tcp_rtt", kMicroseconds},
    {"rp_dce_tcp_rtt", kMicroseconds},
    {"rate_reduce_monitor_period", kMicroseconds},
    {"rp_rate_reduce_monitor_period", kMicroseconds},
    {"inact_th", kMicroseconds},
    {"rtt", kMicroseconds},
    {"min_time_bet_cnp", kMicroseconds},
    {"dcqcn_T", kMicroseconds},
    {"dcqcn_B", "bytes"},
    {"dcqcn_min_rate_MBps", kRate},
    {"dcqcn_min_dec_factor", "percent"},
});

}  // namespace

Result<std::vector<std::uint32_t>> ParsePriorityTable(std::string_view text, std::size_t rows) {
  ASSIGN_OR_RETURN(const auto by_index, ParseRows(text));
  std::vector<std::uint32_t> values;
  for (const auto& [index, value] : by_index)
    if (index == values.size() && value < kTextPriorities) values.push_back(value);
  if (by_index.size() != rows || values.size() != rows)
    return SettingExpected(Format("{} lines with an index and a number up to 7", rows), text);
  return values;
}

Result<BufferSizes> ParseBufferSizes(std::string_view text) {
  constexpr std::string_view kTotal = "Port buffer size =";
  BufferSizes sizes;
  for (const std::string_view line : Split(text, '\n')) {
    if (!line.starts_with(kTotal)) continue;
    ASSIGN_OR_RETURN(sizes.total_bytes,
                     ParseNumber<std::uint32_t>(Trim(line.substr(kTotal.size()))));
  }
  ASSIGN_OR_RETURN(const auto by_index, ParseRows(text));
  for (const auto& [index, value] : by_index)
    if (index == sizes.size_bytes.size() && index < kBuffers) sizes.size_bytes.push_back(value);
  if (sizes.size_bytes.size() != kBuffers) return SettingExpected("the sizes of 8 buffers", text);
  return sizes;
}

Result<std::vector<std::uint64_t>> ParseMaxRates(std::string_view text) {
  std::vector<std::uint64_t> rates;
  for (const std::string_view word : Words(text)) {
    ASSIGN_OR_RETURN(const auto kbps, ParseNumber<std::uint64_t>(word));
    if (kbps > UINT64_MAX / kBitsPerKbit) return SettingExpected("a rate in kbit/s", word);
    rates.push_back(kbps * kBitsPerKbit);
  }
  if (rates.size() != kTextPriorities) return SettingExpected("8 rates in kbit/s", text);
  return rates;
}

Result<TrafficClass> ParseTrafficClass(std::string_view text) {
  constexpr std::string_view kGlobal = "Global ";
  constexpr std::string_view kKey = "tclass=";
  TrafficClass traffic_class;
  for (std::string_view line : Split(text, '\n')) {
    line = Trim(line);
    if (line.empty()) continue;
    if (line.starts_with(kGlobal)) line.remove_prefix(kGlobal.size());
    if (line.find("_ip") != std::string_view::npos) {
      traffic_class.rules.emplace_back(line);
      continue;
    }
    if (line.starts_with(kKey)) line.remove_prefix(kKey.size());
    ASSIGN_OR_RETURN(traffic_class.global, ParseTos(line));
  }
  return traffic_class;
}

Result<std::uint32_t> ParseStallPrevention(std::string_view text) {
  constexpr std::uint32_t kDefaultMs = 8000;
  constexpr std::uint32_t kAutoMs = 100;
  if (text == "default") return kDefaultMs;
  if (text == "auto") return kAutoMs;
  return SettingExpected("'default' or 'auto'", text);
}

Result<std::uint64_t> ParseSetting(std::string_view text) {
  if (text == "Y") return std::uint64_t{1};
  if (text == "N") return std::uint64_t{0};
  return ParseNumber<std::uint64_t>(text, text.starts_with("0x") ? 16 : 10);
}

std::optional<std::uint64_t> InfoValue(std::string_view text, std::string_view key) {
  for (const std::string_view line : Split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || Trim(line.substr(0, colon)) != key) continue;
    const auto value = ParseNumber<std::uint64_t>(Trim(line.substr(colon + 1)));
    return value.ok() ? std::optional(*value) : std::nullopt;
  }
  return std::nullopt;
}

std::string_view CongestionUnit(std::string_view name) {
  const auto found =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& row) { return row.name == name; });
  return found == kUnits.end() ? std::string_view() : found->unit;
}

}  // namespace fabric::inspect
