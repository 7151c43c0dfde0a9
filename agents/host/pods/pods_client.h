// Client of the kubelet and of the container runtime on their Unix sockets.
#pragma once

#include <memory>

#include "agents/host/pods/pods.h"

namespace fabric::host {

// "unix:///run/x.sock" and "/run/x.sock" name the same socket. Starts threads with the first call.
// Null: no socket is set.
std::unique_ptr<Pods> OpenPods(PodSockets sockets);

}  // namespace fabric::host
