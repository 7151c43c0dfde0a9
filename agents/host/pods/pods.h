// Pods of Kubernetes on this machine, as the kubelet and the container runtime list them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace fabric::host {

struct PodDevice {
  std::string resource;  // "nvidia.com/gpu"
  std::string id;        // As the device plugin names it
};

struct Pod {
  std::string name_space;
  std::string name;
  std::string uid;                 // From the runtime only
  std::vector<PodDevice> devices;  // From the kubelet only
};

// Unix sockets, "/run/containerd/containerd.sock". Empty: the agent may not ask.
struct PodSockets {
  std::string kubelet = {};                     // API pod resources, v1
  std::string runtime = {};                     // Container Runtime Interface, v1
  Duration patience = std::chrono::seconds(2);  // For an answer
  bool empty() const { return kubelet.empty() && runtime.empty(); }
};

// Each call asks again, over the connection of the last one, and returns within the patience.
// After an error the next call connects again. NOT_FOUND: no such socket.
// PERMISSION_DENIED: this process may not connect. UNAVAILABLE: no server, or one without gRPC.
// DEADLINE_EXCEEDED: no answer in time. RESOURCE_EXHAUSTED: the answer is larger than 8 MiB. Other
// codes are those of the server. Thread-safe.
class Pods {
 public:
  virtual ~Pods() = default;
  virtual Result<std::vector<Pod>> OfKubelet() const = 0;
  // Pods whose sandbox is ready.
  virtual Result<std::vector<Pod>> OfRuntime() const = 0;
  virtual const PodSockets& sockets() const = 0;
};

}  // namespace fabric::host
