// Parsers for drivers' lossless and congestion control settings. Pure; each takes the content of
// one file. INVALID_ARGUMENT with the text for other formats. MLNX_OFED's formats: its en_sysfs.c
// and mlnx_qos.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fabric::inspect {

// qos/dscp2prio and qos/prio2buffer: a line of words, then one line of two numbers for each of
// `rows` indices. Returned by index; every value is from 0 to 7.
Result<std::vector<std::uint32_t>> ParsePriorityTable(std::string_view text, std::size_t rows);

struct BufferSizes {
  std::optional<std::uint32_t> total_bytes;
  std::vector<std::uint32_t> size_bytes;  // 8
};
// qos/buffer_size: "Port buffer size = 262016", then lines of buffer, size and two thresholds.
Result<BufferSizes> ParseBufferSizes(std::string_view text);

// qos/maxrate: eight numbers in kbit/s, returned in bit/s; 0 is unlimited.
Result<std::vector<std::uint64_t>> ParseMaxRates(std::string_view text);

struct TrafficClass {
  std::optional<std::uint32_t> global;  // ToS byte; absent when not set
  std::vector<std::string> rules;       // "src_ip=10.0.0.0/24,tclass=106"
};
// tc/1/traffic_class: "Global tclass=106", "tclass=106" or "106", then the rules. Empty: not set.
Result<TrafficClass> ParseTrafficClass(std::string_view text);

// settings/pfc_stall_prevention: "default" is 8000 ms, "auto" 100 ms.
Result<std::uint32_t> ParseStallPrevention(std::string_view text);

// One setting: "26", "0x1a", and a module's "Y" and "N" as 1 and 0.
Result<std::uint64_t> ParseSetting(std::string_view text);

// The number after "key :" in debugfs's bnxt_re/*/info.
std::optional<std::uint64_t> InfoValue(std::string_view text, std::string_view key);

// Unit of a congestion control parameter by its file name, for all drivers; empty for a plain
// number and an undocumented unit.
std::string_view CongestionUnit(std::string_view name);

}  // namespace fabric::inspect
