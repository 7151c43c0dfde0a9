// Planning of the mesh in short steps: reads the fleet some nodes at a time, then plans without it.
// Nodes that change in between are planned as they were.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>

#include "daemon/blame/fabric.h"
#include "daemon/control/mesh/mesh_layout.h"
#include "daemon/fleet/fleet.h"
#include "daemon/fleet/sites.h"
#include "daemon/plan/ports.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

class MeshPlanning {
 public:
  // Reason why the port cannot be pinged; empty if it can.
  using Obstacle = std::function<std::string(const v1::ProbePort&)>;

  explicit MeshPlanning(const v1::TrafficClass& traffic_class);

  // Reads some nodes. True: there are more to read.
  bool Gather(const fleet::Fleet& fleet, const fleet::Sites& sites, const Obstacle& obstacle);
  // After all nodes. `before`: the layout that this one will replace.
  void Plan(std::uint32_t paths, const MeshLayout& before);

  std::size_t ports() const { return read_; }  // That were read
  MeshLayout& layout() { return layout_; }
  const EarlierPairs& earlier() const { return earlier_; }
  google::protobuf::RepeatedPtrField<v1::CoverageGap>& left_out() { return left_out_; }

 private:
  plan::PortFinder ports_;
  blame::FabricBuilder fabric_;
  std::size_t read_ = 0;
  std::string last_node_;                                   // That was read
  std::unordered_map<std::string, std::string> obstacles_;  // By port
  MeshLayout layout_;
  google::protobuf::RepeatedPtrField<v1::CoverageGap> left_out_;
  EarlierPairs earlier_;
};

}  // namespace fabric::control
