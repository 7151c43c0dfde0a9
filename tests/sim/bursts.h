// Bursts of a simulated fleet: current senders per port, the result at the switch, and the
// adapters' counters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tests/sim/burst_switch.h"
#include "tests/sim/clos.h"
#include "tests/sim/event_queue.h"

namespace fabric::sim {

// Settings of machines and switches.
struct BurstSettings {
  BurstSwitch at = {};
  double sender_bps = 380e9;
  bool slows_down = false;              // Senders react to congestion notifications.
  std::set<std::uint32_t> deaf_to_pfc;  // Machines
  bool counted = true;                  // The adapters have counters.
};

// Events at the switch, independent of any counter.
struct BurstTruth {
  std::uint32_t senders = 0;
  std::uint64_t lost = 0, pfc_frames = 0, pause_frames = 0, marked = 0;
};

class Bursts {
 public:
  explicit Bursts(EventQueue& queue) : queue_(queue) {}

  BurstSettings settings;

  // Starts sending for this time. The result is available and counted shortly after the end.
  void Begin(const Port& from, const Port& to, Duration how_long);
  void EndNow(const Port& from);  // The sender's process terminated.
  // Bytes of its last burst.
  std::optional<std::uint64_t> BytesOf(const Port& from) const;
  // Counters of the adapter, by vendor-neutral name.
  std::map<std::string, std::uint64_t> CountersOf(const Port& port) const;
  // Of the last burst to that port
  BurstTruth TruthOf(const Port& to) const;

 private:
  using Key = std::pair<std::uint32_t, std::uint32_t>;
  struct Sending {
    Port from;
    Duration begins, ends;
  };
  static Key KeyOf(const Port& port) { return {port.node, port.rail}; }
  void Conclude(const Port& to);
  void Count(const Port& port, const std::string& name, std::uint64_t more) {
    counted_[KeyOf(port)][name] += more;
  }

  EventQueue& queue_;
  std::map<Key, std::vector<Sending>> sending_;  // By receiver
  std::map<Key, std::uint64_t> bytes_;           // By sender
  std::map<Key, BurstTruth> truths_;             // By receiver
  std::map<Key, std::map<std::string, std::uint64_t>> counted_;
};

}  // namespace fabric::sim
