// Reader of a whole InfiniBand subnet: discovers nodes and cables by directed routes, then reads
// forwarding tables, partitions, subnet managers and counters of switch ports. Sends Get requests
// only, at the pace of the options.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <unordered_map>
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

class SubnetReader {
 public:
  static constexpr std::size_t kNodesMax = 65'536;
  static constexpr std::size_t kPortsMax = 1'000'000;  // Of all nodes
  static constexpr std::size_t kNotCoveredMax = 100;   // Lines

  SubnetReader(MadTransport& transport, const Clock& clock, ReaderOptions options);

  // Reads the subnet once. UNAVAILABLE when the own port does not answer, CANCELLED when stopped.
  Result<v1::SubnetSnapshot> Read(const std::stop_token& stop);
  // Of the last Read().
  const std::vector<ManagerAt>& managers() const { return managers_; }

 private:
  using Route = DirectedRoute;
  struct Known {
    Route route;                                 // The first that was found
    std::map<std::uint32_t, Route> routes = {};  // Of the ports of an adapter
    std::uint16_t p_keys = 0;                    // Size of the table
    std::uint16_t lid = 0;                       // Of a switch
    bool wide_counters = false;
    bool fec_counters = false;
  };

  MadPacket Compose(const Order& order, std::uint32_t transaction) const;
  Route RouteOf(const Order& order) const;

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
  void Connect(subnet::End from, subnet::End to);
  v1::SubnetPort& PortAt(subnet::End end);
  bool HasCable(subnet::End end);
  void Finish();

  MadTransport& transport_;
  const Clock& clock_;
  const ReaderOptions options_;
  Window window_;
  v1::SubnetSnapshot made_;
  std::vector<Known> known_;  // By index of the node
  std::unordered_map<std::uint64_t, std::uint32_t> by_guid_;
  std::size_t ports_ = 0;
  std::map<std::string, std::uint64_t> lost_by_kind_;
  std::vector<ManagerAt> managers_;
  bool own_answered_ = false;
  bool own_active_ = false;
  bool again_ = false;  // SwitchInfo is read for the second time.
  std::vector<std::string> changed_;
  SteadyTime progress_at_{};
};

// Reads the subnet again when it changed meanwhile, at most twice. `managers`: those that answered.
// Errors of SubnetReader::Read.
Result<v1::SubnetSnapshot> ReadUnchanged(MadTransport& transport, const Clock& clock,
                                         const ReaderOptions& options, const std::stop_token& stop,
                                         std::vector<ManagerAt>* managers = nullptr);

}  // namespace fabric::agent
