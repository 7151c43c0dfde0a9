// Subnet that answers management packets in simulated time, with faults.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "agents/subnet/transport.h"
#include "base/clock.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::agent::testing {

class FakeClock final : public Clock {
 public:
  Moment Now() const override { return now_; }
  void Advance(Duration by) {
    now_.steady += by;
    now_.wall += by;
  }

 private:
  Moment now_{SteadyTime(std::chrono::hours(1)), WallTime(std::chrono::hours(24 * 365 * 50))};
};

// What happens to a request to a node.
struct Behaviour {
  bool answers = true;
  std::optional<std::uint32_t> answers_left = {};  // Then it is silent.
  bool twice = false;
  std::uint64_t m_key = 0;  // Needed in each subnet management packet
  Duration round_trip = std::chrono::microseconds(50);
};

class FakeSubnet final : public MadTransport {
 public:
  FakeSubnet(const subnet::testing::TestSubnet& made, std::uint32_t reader, FakeClock& clock);

  std::map<std::uint32_t, Behaviour> nodes;  // By index of the node; others have the default
  Behaviour usual;
  std::uint32_t lose_one_in = 0;  // Requests; 0: none
  std::uint32_t manager = 0;      // Node with the master
  std::uint8_t manager_priority = 5;
  // Lane of service level 0 for packets from port `input` to `output` of a node; of an adapter,
  // both are its port. The other levels have lanes 1 to 7, twice.
  std::function<std::uint8_t(std::uint32_t node, std::uint32_t input, std::uint32_t output)> lane =
      [](std::uint32_t, std::uint32_t, std::uint32_t) { return 0; };
  // Weight of the lanes 1 to 7 in the VL arbitration tables is 4, that of lane 0 is this.
  std::uint8_t weight_of_lane_0 = 64;
  // Changes an answer before it is sent.
  std::function<void(subnet::Mad& answer)> change;
  // Counter PortRcvErrors of (node, port) grows by this at each read.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint16_t> errors;
  // Switches announce PortCountersExtended with errors, and answer it.
  bool announces_wide_counters = false;
  bool has_wide_counters = false;
  // Counter PortXmitWait of (node, port) grows by this at each read of wide counters.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> waits;
  // Switches announce counters of forward error correction. Those of (node, port) grow by this at
  // each read: corrected symbols, uncorrectable blocks.
  bool has_fec_counters = false;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::uint32_t>> fec;
  // Switches are of NVIDIA. Their firmware is 27.2012.N, with N of the node or 1010.
  bool of_nvidia = false;
  bool answers_firmware = true;
  std::map<std::uint32_t, std::uint32_t> firmware;

  // Changes of the subnet. A pulled cable goes down at both ends and is counted in LinkDowned,
  // unless `counts_downed` is false. A cable that is connected becomes ACTIVE at once.
  bool counts_downed = true;
  void Unlink(std::uint32_t node, std::uint32_t port);
  void Link(std::uint32_t node, std::uint32_t port, std::uint32_t peer, std::uint32_t peer_port);
  // State of (node, port) instead of ACTIVE.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint8_t> states;
  std::set<std::uint32_t> changed_bits;   // Switches with the bit PortStateChange
  std::set<std::uint32_t> more_managers;  // Nodes with the state of `more_managers_state`
  std::uint8_t more_managers_state = 2;   // STANDBY

  std::uint32_t smps_max() const { return smps_max_; }
  std::uint32_t gmps_max() const { return gmps_max_; }
  std::uint64_t requests() const { return requests_; }
  // Requests of subnet management for this attribute.
  std::uint64_t RequestsFor(subnet::Attribute attribute) const;
  // Requests of this attribute that were not of subnet management, to the LID.
  std::uint64_t RequestsTo(std::uint16_t lid, subnet::Attribute attribute) const;

  Status Send(const MadPacket& packet, Duration timeout) override;
  Result<std::optional<MadPacket>> Receive(Duration wait) override;
  std::string name() const override { return "fake port 1"; }

 private:
  struct Place {
    std::uint32_t node = 0;
    std::uint32_t port = 0;  // By which the request arrived
  };

  std::optional<Place> Follow(const subnet::Mad& mad) const;
  std::optional<Place> FindLid(std::uint16_t lid) const;
  std::optional<subnet::Mad> Answer(const subnet::Mad& request, const Place& place);
  bool FillFirmware(subnet::Mad& answer, const Place& place) const;
  bool FillPerformance(subnet::Mad& answer, subnet::Attribute attribute, const Place& place);
  bool FillSubnet(const subnet::Mad& request, const Place& place, std::uint8_t* data) const;
  void FillPortInfo(std::uint32_t node, std::uint32_t port, std::uint8_t* data) const;
  void FillLanes(const Place& place, std::uint32_t modifier, std::uint8_t* data) const;

  const subnet::testing::TestSubnet& made_;
  const std::uint32_t reader_;
  FakeClock& clock_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Place> cables_;
  std::multimap<SteadyTime, std::pair<MadPacket, bool>> answers_;  // bool: counts as outstanding
  std::map<std::pair<std::uint16_t, std::uint16_t>, std::uint64_t> performance_requests_;
  std::map<std::uint16_t, std::uint64_t> directed_requests_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint8_t> downed_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> reads_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> fec_reads_;
  std::uint32_t smps_ = 0;
  std::uint32_t gmps_ = 0;
  std::uint32_t smps_max_ = 0;
  std::uint32_t gmps_max_ = 0;
  std::uint64_t requests_ = 0;
};

}  // namespace fabric::agent::testing
