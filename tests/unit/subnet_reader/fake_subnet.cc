#include "tests/unit/subnet_reader/fake_subnet.h"

#include <algorithm>

#include "subnet/mad/attributes.h"
#include "subnet/mad/bytes.h"
#include "subnet/mad/mad.h"

namespace fabric::agent::testing {
namespace {

using subnet::Attribute;
using subnet::Load;
using subnet::Store;

constexpr std::size_t kData = 64;

bool IsDirected(const subnet::Mad& mad) {
  return mad[1] == 0x81;
}

bool IsOfNvidia(const subnet::Mad& mad) {
  return mad[1] == 0x0a;
}

}  // namespace

FakeSubnet::FakeSubnet(const subnet::testing::TestSubnet& made, std::uint32_t reader,
                       FakeClock& clock)
    : manager(reader), made_(made), reader_(reader), clock_(clock) {
  for (const auto& cable : made.cables) {
    cables_[{cable.from, cable.from_port}] = {cable.to, cable.to_port};
    cables_[{cable.to, cable.to_port}] = {cable.from, cable.from_port};
  }
}

std::uint64_t FakeSubnet::RequestsTo(std::uint16_t lid, Attribute attribute) const {
  const auto at = performance_requests_.find({lid, static_cast<std::uint16_t>(attribute)});
  return at == performance_requests_.end() ? 0 : at->second;
}

std::uint64_t FakeSubnet::RequestsFor(Attribute attribute) const {
  const auto at = directed_requests_.find(static_cast<std::uint16_t>(attribute));
  return at == directed_requests_.end() ? 0 : at->second;
}

void FakeSubnet::Unlink(std::uint32_t node, std::uint32_t port) {
  const Place peer = cables_.at({node, port});
  for (const Place& end : {Place{node, port}, peer}) {
    cables_.erase({end.node, end.port});
    if (counts_downed) ++downed_[{end.node, end.port}];
  }
}

void FakeSubnet::Link(std::uint32_t node, std::uint32_t port, std::uint32_t peer,
                      std::uint32_t peer_port) {
  cables_[{node, port}] = {peer, peer_port};
  cables_[{peer, peer_port}] = {node, port};
}

std::optional<FakeSubnet::Place> FakeSubnet::Follow(const subnet::Mad& mad) const {
  Place place{reader_, 1};
  for (std::size_t hop = 0; hop < mad[7]; ++hop) {
    const auto at = cables_.find({place.node, mad[129 + hop]});
    if (at == cables_.end()) return std::nullopt;
    place = at->second;
  }
  return place;
}

std::optional<FakeSubnet::Place> FakeSubnet::FindLid(std::uint16_t lid) const {
  for (std::uint32_t node = 0; node < made_.nodes.size(); ++node)
    if (made_.nodes[node].lid == lid) return Place{node, 1};
  return std::nullopt;
}

void FakeSubnet::FillPortInfo(std::uint32_t node, std::uint32_t port, std::uint8_t* data) const {
  const auto& made = made_.nodes[node];
  const std::span<std::uint8_t> bytes(data, 64);
  const bool up = (made.is_switch && port == 0) || cables_.contains({node, port});
  Store<std::uint64_t>(bytes, 0, 0x1234);  // M_Key
  Store<std::uint16_t>(bytes, 16, static_cast<std::uint16_t>(made.lid));
  const bool runs_manager = node == manager || more_managers.contains(node);
  Store<std::uint32_t>(bytes, 20, 0x4000U | (runs_manager ? 2U : 0U));
  data[28] = static_cast<std::uint8_t>(port);
  data[29] = data[31] = 2;  // 4x
  data[32] = up ? 4 : 1;    // ACTIVE
  if (const auto own = states.find({node, port}); up && own != states.end()) data[32] = own->second;
  data[33] = up ? 5 << 4 : 2 << 4;  // LinkUp, Polling
  data[35] = 4 << 4 | 4;            // QDR
  data[36] = 5 << 4;                // MTU 4096
  data[39] = data[40] = 8;          // Entries of the VL arbitration tables
  data[41] = 5;
  data[43] = 4 << 4;  // 8 lanes
  data[62] = 4 << 4;  // HDR
  data[63] = 4;
}

void FakeSubnet::FillLanes(const Place& place, std::uint32_t modifier, std::uint8_t* data) const {
  for (std::uint8_t level = 0; level < 16; ++level)
    data[level / 2] |= static_cast<std::uint8_t>((level & 7) << (level % 2 == 0 ? 4 : 0));
  const bool is_switch = made_.nodes[place.node].is_switch;
  const std::uint32_t input = is_switch ? modifier >> 8 & 0xff : place.port;
  const std::uint32_t output = is_switch ? modifier & 0xff : place.port;
  data[0] = static_cast<std::uint8_t>(lane(place.node, input, output) << 4 | (data[0] & 0x0f));
}

bool FakeSubnet::FillSubnet(const subnet::Mad& request, const Place& place,
                            std::uint8_t* data) const {
  const auto& node = made_.nodes[place.node];
  const std::span<std::uint8_t> bytes(data, 64);
  const auto modifier = Load<std::uint32_t>(request, 20);
  switch (static_cast<Attribute>(Load<std::uint16_t>(request, 16))) {
    case Attribute::kNodeInfo:
      data[2] = node.is_switch ? 2 : 1;
      data[3] = static_cast<std::uint8_t>(node.is_switch ? node.ports : 1);
      Store<std::uint64_t>(bytes, 4, node.guid);
      Store<std::uint64_t>(bytes, 12, node.guid);
      Store<std::uint64_t>(bytes, 20, node.is_switch ? node.guid : node.guid + place.port);
      Store<std::uint16_t>(bytes, 28, 32);
      Store<std::uint32_t>(bytes, 36, of_nvidia && node.is_switch ? 0x2c9 : 0);
      data[36] = static_cast<std::uint8_t>(place.port);
      return true;
    case Attribute::kNodeDescription:
      std::copy_n(node.name.begin(), std::min<std::size_t>(node.name.size(), 63), data);
      return true;
    case Attribute::kSwitchInfo:
      if (!node.is_switch) return false;
      Store<std::uint16_t>(
          bytes, 6, static_cast<std::uint16_t>(node.routes.empty() ? 0 : node.routes.size() - 1));
      Store<std::uint16_t>(bytes, 14, 32);
      if (changed_bits.contains(place.node)) data[11] |= 4;
      return true;
    case Attribute::kPortInfo: FillPortInfo(place.node, modifier & 0xff, data); return true;
    case Attribute::kPKeyTable: Store<std::uint16_t>(bytes, 0, 0xffff); return true;
    case Attribute::kSlToVl: FillLanes(place, modifier, data); return true;
    case Attribute::kVlArbitration:
      for (std::uint8_t entry = 0; entry < 8; ++entry) {
        data[entry * 2] = entry;
        data[entry * 2 + 1] = entry == 0 ? weight_of_lane_0 : 4;
      }
      return true;
    case Attribute::kForwardingTable:
      std::fill_n(data, 64, std::uint8_t{255});
      for (std::size_t i = 0; i < 64 && modifier * 64 + i < node.routes.size(); ++i)
        data[i] = node.routes[modifier * 64 + i];
      return true;
    case Attribute::kSubnetManagerInfo:
      Store<std::uint64_t>(bytes, 0, node.guid + 1);
      data[20] = static_cast<std::uint8_t>(manager_priority << 4 | 3);  // MASTER
      if (place.node != manager) data[20] = more_managers_state;
      return true;
    default: return false;
  }
}

bool FakeSubnet::FillFirmware(subnet::Mad& answer, const Place& place) const {
  const std::string board = "MT_0000000063";
  std::copy(board.begin(), board.end(), answer.begin() + kData + 16);
  const auto own = firmware.find(place.node);
  Store<std::uint32_t>(answer, kData + 36, 27);
  Store<std::uint32_t>(answer, kData + 40, 2012);
  Store<std::uint32_t>(answer, kData + 44, own == firmware.end() ? 1010 : own->second);
  return true;
}

bool FakeSubnet::FillPerformance(subnet::Mad& answer, Attribute attribute, const Place& place) {
  const std::pair at(place.node, std::uint32_t{answer[kData + 1]});
  const auto grown = [&](const auto& counter) {
    const auto grows = counter.find(at);
    return grows == counter.end() ? 0 : grows->second * reads_[at];
  };
  switch (attribute) {
    case Attribute::kClassPortInfo:
      Store<std::uint16_t>(answer, kData + 2, has_fec_counters ? 1 << 14 : 0);
      Store<std::uint32_t>(answer, kData + 4, announces_wide_counters ? 0x2U << 5 : 0);
      return true;
    case Attribute::kPortExtendedSpeedsCounters: {
      const std::uint32_t reads = ++fec_reads_[at];
      const auto grows = fec.find(at);
      if (grows == fec.end()) return has_fec_counters;
      Store<std::uint32_t>(answer, kData + 144, grows->second.second * reads);
      Store<std::uint32_t>(answer, kData + 148, grows->second.first * reads);
      return has_fec_counters;
    }
    case Attribute::kPortSamplesControl: answer[kData + 2] = 7; return true;
    case Attribute::kPortCounters:
      ++reads_[at];
      answer[kData + 7] = downed_[at];
      Store<std::uint16_t>(answer, kData + 8, static_cast<std::uint16_t>(grown(errors)));
      return true;
    case Attribute::kPortCountersExtended:
      ++reads_[at];
      Store<std::uint64_t>(answer, kData + 96, grown(errors));
      Store<std::uint64_t>(answer, kData + 168, grown(waits));
      return has_wide_counters;
    default: return false;
  }
}

std::optional<subnet::Mad> FakeSubnet::Answer(const subnet::Mad& request, const Place& place) {
  const auto own = nodes.find(place.node);
  Behaviour& behaviour = own == nodes.end() ? usual : own->second;
  if (!behaviour.answers || behaviour.answers_left == 0U) return std::nullopt;
  if (behaviour.answers_left) --*behaviour.answers_left;
  if (IsDirected(request) && Load<std::uint64_t>(request, 24) != behaviour.m_key)
    return std::nullopt;
  if (IsOfNvidia(request) && !answers_firmware) return std::nullopt;
  subnet::Mad answer = request;
  answer[3] = 0x81;
  const auto attribute = static_cast<Attribute>(Load<std::uint16_t>(request, 16));
  std::uint8_t* const data = answer.data() + kData;
  const bool supported = IsDirected(request)   ? FillSubnet(request, place, data)
                         : IsOfNvidia(request) ? FillFirmware(answer, place)
                                               : FillPerformance(answer, attribute, place);
  if (!supported) Store<std::uint16_t>(answer, 4, subnet::kStatusNotSupported);
  if (IsDirected(request)) answer[4] |= 0x80;  // Direction
  return answer;
}

Status FakeSubnet::Send(const MadPacket& packet, Duration timeout) {
  const bool directed = IsDirected(packet.mad);
  ++requests_;
  if (directed) ++directed_requests_[Load<std::uint16_t>(packet.mad, 16)];
  if (!directed) ++performance_requests_[{packet.lid, Load<std::uint16_t>(packet.mad, 16)}];
  std::uint32_t& outstanding = directed ? smps_ : gmps_;
  ++outstanding;
  smps_max_ = std::max(smps_max_, smps_);
  gmps_max_ = std::max(gmps_max_, gmps_);
  const auto place = directed ? Follow(packet.mad) : FindLid(packet.lid);
  auto answer = place ? Answer(packet.mad, *place) : std::nullopt;
  if (lose_one_in != 0 && requests_ % lose_one_in == 0) answer.reset();
  const auto own = place ? nodes.find(place->node) : nodes.end();
  const Behaviour& behaviour = own == nodes.end() ? usual : own->second;
  const SteadyTime now = clock_.Now().steady;
  if (!answer) {
    // Nothing comes; the request stays outstanding for its time.
    answers_.emplace(now + timeout, std::pair(MadPacket{.lid = 0, .mad = {}}, true));
    return {};
  }
  if (change) change(*answer);
  const MadPacket reply{.lid = packet.lid, .mad = *answer};
  answers_.emplace(now + behaviour.round_trip, std::pair(reply, true));
  if (behaviour.twice) answers_.emplace(now + behaviour.round_trip, std::pair(reply, false));
  return {};
}

Result<std::optional<MadPacket>> FakeSubnet::Receive(Duration wait) {
  const SteadyTime until = clock_.Now().steady + wait;
  while (!answers_.empty() && answers_.begin()->first <= until) {
    const auto [packet, counts] = answers_.begin()->second;
    const SteadyTime at = answers_.begin()->first;
    answers_.erase(answers_.begin());
    clock_.Advance(std::max<Duration>(at - clock_.Now().steady, Duration(0)));
    const bool empty = packet.mad[0] == 0;
    if (counts && empty) {
      // Which window it was in does not matter for the maximum.
      if (smps_ > 0)
        --smps_;
      else if (gmps_ > 0)
        --gmps_;
      continue;
    }
    if (counts) --(IsDirected(packet.mad) ? smps_ : gmps_);
    return std::optional<MadPacket>(packet);
  }
  clock_.Advance(until - clock_.Now().steady);
  return std::optional<MadPacket>();
}

}  // namespace fabric::agent::testing
