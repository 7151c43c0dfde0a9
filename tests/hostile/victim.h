// fabricd as a child process with a memory limit, and agents that talk to it over gRPC.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "fabric/v1/agent.grpc.pb.h"
#include "fabric/v1/fabric.grpc.pb.h"
#include "tests/testing/temp_tree.h"

namespace fabric::testing {

class Victim {
 public:
  // Limit of its address space. Stacks and heaps of its threads reserve about 1.5 GiB of it.
  static constexpr std::uint64_t kAddressSpace = std::uint64_t{4} << 30;

  Victim();
  ~Victim();

  void Restart();  // With the same state file
  bool alive() const;
  std::uint64_t PeakMemory() const;  // Bytes of resident memory, at most so far
  std::string Health() const;        // Answer of /livez
  std::string Get(const std::string& path) const;
  std::string Post(const std::string& path, const std::string& json) const;
  std::string Metrics() const;
  std::uint16_t rest_port() const { return rest_; }
  using RawStub = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;
  std::unique_ptr<RawStub> DialRaw() const;
  // Each has a connection of its own.
  std::unique_ptr<v1::AgentLink::Stub> DialAsAgent() const;
  std::unique_ptr<v1::Fabric::Stub> DialAsClient() const;

 private:
  void Start();
  void Stop();

  TempTree tree_;
  pid_t pid_ = 0;
  std::uint16_t grpc_ = 0;
  std::uint16_t rest_ = 0;
  std::uint16_t health_ = 0;
};

// One stream. Says Hello first, unless `node` is empty.
class Peer {
 public:
  Peer(const Victim& victim, const std::string& node);
  ~Peer();

  bool Say(const v1::AgentMessage& message) { return stream_->Write(message); }
  // Ends the stream of this side and returns the status of the controller.
  grpc::Status End();
  // Waits until the controller ends the stream.
  grpc::Status AwaitEnd();

 private:
  grpc::ClientContext context_;
  std::unique_ptr<v1::AgentLink::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ControllerMessage>> stream_;
};

// An agent that behaves: a snapshot, then heartbeats until it is destroyed.
class HonestAgent {
 public:
  HonestAgent(const Victim& victim, const std::string& node);
  ~HonestAgent();
  bool connected() const { return connected_; }

 private:
  Peer peer_;
  std::atomic<bool> connected_ = true;
  std::jthread beating_;
};

// fabricd under attack, and an honest agent that must not notice it.
class HostileCase : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kMemoryMax = std::uint64_t{256} << 20;

  // After the attack `after`: fabricd runs within its memory and serves health and the agent.
  void ExpectWell(const std::string& after);

  Victim victim_;
  HonestAgent honest_{victim_, "honest"};
};

}  // namespace fabric::testing
