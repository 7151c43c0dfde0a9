// Memory between which the bandwidth of the ports of a certificate was measured: that of GPUs where
// a node has one, else host memory. Pure.
//
// Each port of a node with GPUs is probed with itself, so that a result is about this port, its GPU
// and the path between them. What all nodes lack is shown and does not change a verdict, because
// jobs on such a fleet use host memory. What one node lacks and most others have does.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fabric/v1/certificate.pb.h"
#include "fabric/v1/inventory.pb.h"
#include "fabric/v1/probe.pb.h"

namespace fabric::control {

class CertificateMemory {
 public:
  // Adds a port of this node, unless the node has no GPU.
  void AddPort(const v1::ProbePort& port, const v1::NodeSnapshot& node);
  // Of a port that is not probed. Ignores an unknown one.
  void RemovePort(const v1::ProbePort& port);

  // Nodes whose GPU memory can be tested.
  std::vector<std::string> NodesToTest() const;
  // Kinds of the campaign over these nodes, with the pattern LOOPBACK.
  static std::vector<v1::ProbeSpec> Probes();
  void Take(const v1::PairResult& result);
  // Why the ports without a result have none.
  void SetNotTested(const std::string& reason);

  struct Problem {
    std::string node;
    bool fails = false;  // False: the node is UNKNOWN
    std::string text;
  };
  std::vector<Problem> Problems() const;
  // Of the ports of this node, by name of the port
  std::vector<v1::CertifiedMemory> Of(const std::string& node) const;

 private:
  struct Tested {
    v1::CertifiedMemory memory;
    bool can_be_tested = false;
    bool tried = false;   // There is a result of GPU memory.
    bool failed = false;  // A transfer began and ended with an error.
  };

  std::map<std::string, Tested> ports_;  // By name
};

}  // namespace fabric::control
