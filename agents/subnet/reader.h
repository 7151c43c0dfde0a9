// Reader of a whole InfiniBand subnet: discovers nodes and cables by directed routes, then reads
// forwarding tables, partitions, subnet managers and counters of switch ports. Sends Get requests
// only, at the pace of the options. A refresh builds on an earlier reading, and reads what can have
// changed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "agents/subnet/window.h"
#include "base/clock.h"
#include "base/status.h"
#include "fabric/v1/subnet.pb.h"
#include "subnet/mad/attributes.h"

namespace fabric::agent {

struct ReaderOptions {
  WindowOptions window = {};
  std::uint64_t m_key = 0;
  bool tables = true;
  bool p_keys = true;
  bool lanes = true;  // SLtoVLMappingTable and VLArbitrationTable
  bool counters = true;
  // Between two reads of the counters; 0: they are read once, and rates are unknown.
  Duration rate_interval{};
  // Called at most twice a second.
  std::function<void(const v1::SubnetSnapshot& so_far, std::uint64_t mads)> on_progress = {};
};

inline bool IsSwitch(const v1::SubnetNode& node) {
  return node.type() == v1::SUBNET_NODE_TYPE_SWITCH;
}

using DirectedRoute = std::vector<std::uint8_t>;  // Ports out, from the node of the reader

// A subnet manager that answered, and how to ask it again.
struct ManagerAt {
  DirectedRoute route;
  subnet::ManagerInfo info;
};

// What a reading learns about a device and the snapshot does not have.
struct DeviceFacts {
  std::uint16_t p_keys = 0;  // Size of the table
  bool wide_counters = false;
  bool fec_counters = false;
};

// A reading that a refresh builds on.
struct EarlierReading {
  v1::SubnetSnapshot snapshot;
  std::unordered_map<std::uint64_t, DeviceFacts> facts;  // By node GUID
  std::uint64_t own_guid = 0;                            // Node GUID of the reader
  std::uint32_t own_port = 0;                            // 0: the reader is a switch.
};

struct RefreshOptions {
  // The number of this refresh. It selects the cables and nodes that are identified again although
  // nothing shows a change: each of them in one of kShares refreshes in a row. Of a cable between
  // switches, it selects the end whose PortInfo is read.
  std::uint32_t number = 0;
  // Whether tables, P_Keys and lanes must be read, too: called when topology and subnet managers of
  // the new snapshot are complete. Not called if the options demand them.
  std::function<bool(const v1::SubnetSnapshot& now)> needs_tables = {};
};

// A switch, and SwitchInfo at the end of the reading.
struct SwitchAt {
  DirectedRoute route;
  subnet::SwitchInfo info;
};

class SubnetReader {
 public:
  static constexpr std::uint32_t kShares = 10;
  static constexpr std::size_t kNodesMax = 65'536;
  static constexpr std::size_t kPortsMax = 1'000'000;  // Of all nodes
  static constexpr std::size_t kNotCoveredMax = 100;   // Lines

  SubnetReader(MadTransport& transport, const Clock& clock, ReaderOptions options);

  // Reads the subnet once. UNAVAILABLE when the own port does not answer, CANCELLED when stopped.
  Result<v1::SubnetSnapshot> Read(const std::stop_token& stop);
  // Reads what can have changed since the earlier reading: SwitchInfo and PortInfo of all devices,
  // and the devices behind ports that changed. FAILED_PRECONDITION when an answer does not fit the
  // earlier reading: Read() is needed. Otherwise the errors of Read().
  Result<v1::SubnetSnapshot> Refresh(const EarlierReading& earlier, const RefreshOptions& refresh,
                                     const std::stop_token& stop);
  // Of the last reading.
  const std::vector<ManagerAt>& managers() const { return managers_; }
  const std::vector<SwitchAt>& switches() const { return switches_; }
  bool has_tables() const { return options_.tables; }
  std::uint64_t sent() const { return window_.sent(); }
  // The last reading, for a refresh. `snapshot`: its result.
  EarlierReading AsEarlier(v1::SubnetSnapshot snapshot) const;

 private:
  using Route = DirectedRoute;
  struct Known {
    Route route;                                 // The first that was found
    std::map<std::uint32_t, Route> routes = {};  // Of the ports of an adapter
    std::uint16_t lid = 0;                       // Of a switch
    DeviceFacts facts = {};
  };

  MadPacket Compose(const Order& order, std::uint32_t transaction) const;
  Route RouteOf(const Order& order) const;

  Status Begin(const std::stop_token& stop);
  Status ReadTables(const std::stop_token& stop);
  Status ReadCounters(const std::stop_token& stop);
  Status ReadSwitchesAgain(const std::stop_token& stop);

  // Refresh
  static std::uint64_t KeyOf(subnet::End at) { return std::uint64_t{at.node} << 32 | at.port; }
  void Resume(const EarlierReading& earlier);
  void FindRoutes();
  Status RefreshPorts(std::uint32_t number, const std::stop_token& stop);
  Status RefreshLinks(std::uint32_t number, const std::stop_token& stop);
  Status RefreshLinksThatWentDown(const EarlierReading& earlier, const std::stop_token& stop);
  void DropCable(subnet::End end);
  void DropUnreachable();
  void ForgetTables();
  void EraseGone();
  void CompareWithKnown(const subnet::NodeInfo& info, std::uint32_t node);
  bool WasKnown(std::uint32_t node) const { return node < known_before_; }
  // Whether the order was answered in the earlier reading.
  bool Contradicts(const Order& order);
  bool IsOtherEnd(subnet::End end, std::uint32_t number) const;
  bool HasChangedBit(std::uint32_t node) const;
  void AskPort(subnet::End end);
  void AskBeyond(subnet::End end);
  Status Checked() const;
  void ForEachLinkEnd(
      const std::function<void(subnet::End end, const subnet::PortInfo& info)>& visit);

  Status Run(const std::stop_token& stop);
  Status WaitUntil(SteadyTime until, const std::stop_token& stop);
  void Ask(const Order& order);
  void NotCovered(std::string text);
  void Progress();

  void AskTables();
  void AskPartitions();
  void AskLanes();
  void AskLanesOf(subnet::End at, bool all_inputs);
  void AskManagers();
  void AskCapabilities();
  void AskTicks();
  void AskCounters();
  void KeepFirstCounters();
  Status ReadFirmware(const std::stop_token& stop);
  void AskSwitches();

  void OnDone(const Done& done);
  void OnFailure(const Done& done);
  void OnNodeInfo(const Order& order, const subnet::NodeInfo& info);
  void OnPortInfo(const Order& order, const subnet::MadData& data);
  void OnSwitchInfo(const Order& order, const subnet::MadData& data);
  void OnPerformance(const Order& order, const subnet::MadAnswer& answer);
  void OnCounters(const Order& order, const subnet::MadAnswer& answer);
  void OnFirmware(const Order& order, const subnet::MadData& data);
  void OnBlock(const Order& order, const subnet::MadData& data);
  void OnPKeys(const Order& order, const subnet::MadData& data);
  void OnSlToVl(const Order& order, const subnet::MadData& data);
  void OnArbitration(const Order& order, const subnet::MadData& data);
  void OnManager(const Order& order, const subnet::MadData& data);
  std::uint32_t AddNode(const subnet::NodeInfo& info, Route route);
  void KnowOwn(subnet::End own, std::uint64_t guid);
  void Connect(subnet::End from, subnet::End to);
  v1::SubnetPort& PortAt(subnet::End end);
  bool HasCable(subnet::End end);
  void Finish();

  MadTransport& transport_;
  const Clock& clock_;
  ReaderOptions options_;
  Window window_;
  v1::SubnetSnapshot made_;
  std::vector<Known> known_;  // By index of the node
  std::unordered_map<std::uint64_t, std::uint32_t> by_guid_;
  std::size_t ports_ = 0;
  std::map<std::string, std::uint64_t> lost_by_kind_;
  std::vector<ManagerAt> managers_;
  std::vector<SwitchAt> switches_;
  bool own_answered_ = false;
  bool own_active_ = false;
  std::uint64_t own_guid_ = 0;
  std::uint32_t own_node_ = 0;
  std::uint32_t own_port_ = 0;
  bool again_ = false;  // SwitchInfo is read for the second time.
  std::vector<std::string> changed_;
  SteadyTime progress_at_{};

  // Refresh
  std::uint32_t known_before_ = 0;                  // Nodes of the earlier reading: the first ones
  std::unordered_set<std::uint64_t> asked_;         // Ports whose PortInfo was asked for
  std::unordered_set<std::uint64_t> identified_;    // Ports whose other end was asked who it is
  std::unordered_set<std::uint64_t> port_changed_;  // Ports with another PortInfo
  std::vector<bool> gone_;                          // Nodes without a route
  std::string contradiction_;                       // Of the earlier reading; empty: none
};

// Readings, if the subnet changes during each of them.
inline constexpr int kReadingsMax = 3;

// Reads the subnet again when it changed meanwhile, at most twice. Errors of SubnetReader::Read.
Result<v1::SubnetSnapshot> ReadUnchanged(MadTransport& transport, const Clock& clock,
                                         const ReaderOptions& options, const std::stop_token& stop);

}  // namespace fabric::agent
