// Exact paths of probes by the forwarding tables of an InfiniBand subnet. Holds where routing is
// deterministic; with adaptive routing a packet can take another path. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/fleet/infiniband_topology.h"

namespace fabric::blame {

// A channel is one direction of a cable between two switches: the port that sends into it.
using ChannelId = std::uint32_t;
inline constexpr ChannelId kNoChannel = 0xffffffff;

class ExactRoutes {
 public:
  ExactRoutes() = default;
  // `attachments`: the switch port of each endpoint; nullptr: not known.
  ExactRoutes(const fleet::InfinibandTopology& topology,
              std::span<const fleet::Attachment* const> attachments);

  bool empty() const { return out_.empty(); }
  // Appends the channels from one endpoint to another, in order. False if a part is not known; then
  // `channels` is unchanged.
  bool AddPath(std::uint32_t from, std::uint32_t to, std::vector<ChannelId>& channels) const;

  std::size_t channels() const { return far_.size(); }  // ChannelIds are below
  bool IsCable(ChannelId channel) const { return far_[channel] != kNoChannel; }
  // Index of the switch that the endpoint is attached to. Absent: not known.
  std::optional<std::uint32_t> LeafOf(std::uint32_t endpoint) const;

  // The same for both directions of a cable.
  ChannelId CableOf(ChannelId channel) const;
  std::uint32_t SwitchOf(ChannelId channel) const { return channel / stride_; }
  std::uint32_t PortOf(ChannelId channel) const { return channel % stride_; }
  // The other direction.
  ChannelId Reverse(ChannelId channel) const { return far_[channel]; }
  const std::string& NameOf(std::uint32_t index) const { return names_[index]; }  // Of a switch
  std::string CableName(ChannelId channel) const;  // "leaf-1 port 33 - spine-2 port 4"

 private:
  struct Place {
    std::uint32_t leaf = 0;
    std::uint32_t port = 0;
    bool known = false;
  };

  std::uint32_t stride_ = 1;
  std::vector<std::string> names_;  // Of switches
  std::vector<ChannelId> far_;      // By channel; kNoChannel: not a cable between switches
  std::vector<Place> places_;       // Of endpoints
  std::vector<std::uint8_t> out_;   // Port by endpoint, then switch; 255: none
};

}  // namespace fabric::blame
