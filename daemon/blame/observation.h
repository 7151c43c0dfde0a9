// What one probe saw of one flow. A value.
#pragma once

#include <cstdint>
#include <optional>

namespace fabric::blame {

enum class End : std::uint8_t { kFrom, kTo };

struct Observation {
  std::uint32_t from = 0;  // Index into Fabric.places
  std::uint32_t to = 0;
  std::uint32_t round = 0;       // What happens within one round may have one passing cause.
  double began_s = 0;            // When, by one clock for all; 0: not known
  std::uint32_t flow_label = 0;  // 0: not known
  // Packets or whole probes, and how many of them were lost there or on the way back. No attempts:
  // nothing is known of loss.
  std::uint32_t attempts = 0;
  std::uint32_t failures = 0;
  bool one_way = false;  // Failures are of the way from `from` to `to` alone.
  // The end which is known to have failed: its agent was not there, its adapter refused. The way
  // between the ends has no part in it then. Without attempts: it says nothing of that end, because
  // most ends failed like that, or its agent was only late.
  std::optional<End> failed_end = {};
  std::optional<float> speed =
      {};  // Of data from `from` to `to`, by that of its equals; 1: as they
  std::optional<float> latency = {};  // There and back, by that of its equals; 1: as they
  // How much the logarithms of the equals' speeds or latencies scatter: a standard deviation. 0:
  // not known, taken to be small.
  float noise = 0;
};

}  // namespace fabric::blame
