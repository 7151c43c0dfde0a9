// A simulated subnet whose hosts are all probed, with a bad cable or switch.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "daemon/blame/blame.h"
#include "tests/unit/subnet/test_subnet.h"

namespace fabric::blame {

class CableWorld {
 public:
  explicit CableWorld(subnet::testing::TestSubnet made) {
    made.Route();
    const subnet::Subnet read = made.Read();
    const subnet::Subnet* const subnets[] = {&read};
    topology_ = fleet::InfinibandTopology::Of(subnets);
    std::map<std::string, const fleet::Attachment*> hosts;
    for (const auto& node : made.nodes) {
      if (node.is_switch) continue;
      v1::RdmaDevice device;
      v1::Port port;
      port.set_port_guid(Format("{:016x}", node.guid + 1));
      hosts.emplace(node.name.substr(0, node.name.find(' ')), topology_.Find(device, port));
    }
    std::vector<const fleet::Attachment*> attachments;
    for (const auto& [name, at] : hosts) {
      attachments.push_back(at);
      fabric_.endpoints.push_back({.node = name,
                                   .device = "mlx5_0",
                                   .port = 1,
                                   .rail = 0,
                                   .leaf = topology_.switches()[at->leaf].name,
                                   .leaf_port = std::to_string(at->port)});
    }
    fabric_.routes = ExactRoutes(topology_, attachments);
    fabric_.passes_cables = true;
    for (std::uint32_t index = 0; index < topology_.switches().size(); ++index)
      for (const fleet::SwitchLink& link : topology_.switches()[index].links)
        if (index < link.other) cables_.emplace_back(index, link.port);
  }

  const Fabric& fabric() const { return fabric_; }
  std::size_t cables() const { return cables_.size(); }

  // Loss of packets in one direction or both.
  void Break(std::size_t cable, double loss, bool both) {
    bad_ = cables_[cable];
    loss_ = loss;
    both_ = both;
  }
  // The endpoint loses packets in a share of its probes.
  void BreakEndpoint(std::uint32_t endpoint, double loss, double share) {
    bad_endpoint_ = endpoint;
    endpoint_loss_ = loss;
    endpoint_share_ = share;
  }
  void BreakSwitch(const std::string& name) {
    for (std::uint32_t index = 0; index < topology_.switches().size(); ++index)
      if (topology_.switches()[index].name == name) bad_switch_ = index;
    loss_ = 1;
  }
  ChannelId ChannelOf(std::size_t cable) const {
    const auto& [index, port] = cables_[cable];
    for (ChannelId channel = 0;; ++channel)
      if (fabric_.routes.SwitchOf(channel) == index && fabric_.routes.PortOf(channel) == port)
        return channel;
  }
  std::string BadName() const {
    const auto& [index, port] = bad_;
    for (const fleet::SwitchLink& link : topology_.switches()[index].links)
      if (link.port == port)
        return Format("cable {} port {} - {} port {}", topology_.switches()[index].name, port,
                      topology_.switches()[link.other].name, link.other_port);
    return {};
  }

  void Probe(const std::vector<ProbeRequest>& pairs, std::uint32_t round, std::mt19937_64& random) {
    for (const ProbeRequest& pair : pairs) {
      std::vector<ChannelId> channels;
      EXPECT_TRUE(fabric_.routes.AddPath(pair.from, pair.to, channels));
      EXPECT_TRUE(fabric_.routes.AddPath(pair.to, pair.from, channels));
      double passes = 1 - 1e-5;
      for (const ChannelId channel : channels)
        if (IsBad(channel)) passes *= 1 - loss_;
      if (bad_endpoint_ && (pair.from == *bad_endpoint_ || pair.to == *bad_endpoint_) &&
          std::bernoulli_distribution(endpoint_share_)(random))
        passes *= 1 - endpoint_loss_;
      constexpr std::uint32_t kPackets = 200;
      const std::uint32_t lost =
          std::binomial_distribution<std::uint32_t>(kPackets, 1 - passes)(random);
      observations_.push_back({.from = pair.from,
                               .to = pair.to,
                               .round = round,
                               .attempts = kPackets,
                               .failures = lost});
    }
  }
  const std::vector<Observation>& observations() const { return observations_; }

 private:
  bool IsBad(ChannelId channel) const {
    const ExactRoutes& routes = fabric_.routes;
    if (bad_switch_ && (routes.SwitchOf(channel) == *bad_switch_ ||
                        routes.SwitchOf(routes.Reverse(channel)) == *bad_switch_))
      return true;
    const auto is = [&](ChannelId each) {
      return routes.SwitchOf(each) == bad_.first && routes.PortOf(each) == bad_.second;
    };
    return loss_ > 0 && !bad_switch_ && (is(channel) || (both_ && is(routes.Reverse(channel))));
  }

  fleet::InfinibandTopology topology_;
  Fabric fabric_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cables_;
  std::pair<std::uint32_t, std::uint32_t> bad_{};
  std::optional<std::uint32_t> bad_switch_;
  std::optional<std::uint32_t> bad_endpoint_;
  double endpoint_loss_ = 0;
  double endpoint_share_ = 0;
  double loss_ = 0;
  bool both_ = true;
  std::vector<Observation> observations_;
};

// Channels on the path of any pair; routing uses no others.
inline std::set<ChannelId> UsedChannels(const Fabric& fabric) {
  std::set<ChannelId> used;
  std::vector<ChannelId> channels;
  const auto ends = static_cast<std::uint32_t>(fabric.endpoints.size());
  for (std::uint32_t from = 0; from < ends; ++from) {
    channels.clear();
    for (std::uint32_t to = 0; to < ends; ++to) fabric.routes.AddPath(from, to, channels);
    used.insert(channels.begin(), channels.end());
  }
  return used;
}

}  // namespace fabric::blame
