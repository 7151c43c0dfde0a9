#include "tests/hostile/victim.h"

#include <fcntl.h>
#include <google/protobuf/struct.pb.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <iterator>

#include "base/settings.h"
#include "proto/json.h"
#include "tests/testing/paths.h"
#include "tests/testing/raw_client.h"

namespace fabric::testing {
namespace {

std::uint16_t PortIn(const std::string& addresses, const std::string& which) {
  google::protobuf::Struct json;
  if (!FromJson(addresses, json).ok()) return 0;
  const auto address = ParseHostPort(json.fields().at(which).string_value());
  return address.ok() ? address->port : std::uint16_t{0};
}

auto Dial(std::uint16_t port) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxSendMessageSize(-1);
  return grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port),
                                   grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

Victim::Victim() {
  Start();
}

Victim::~Victim() {
  Stop();
}

void Victim::Start() {
  const std::string program = std::string(kBinaryDir) + "/bin/fabricd";
  const std::string addresses = tree_.path() + "/addresses.json";
  const std::string state = tree_.path() + "/state.db";
  const std::string log = tree_.path() + "/log";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  pid_ = fork();
  if (pid_ == 0) {
    const rlimit limit{.rlim_cur = kAddressSpace, .rlim_max = kAddressSpace};
    setrlimit(RLIMIT_AS, &limit);
    const rlimit files{.rlim_cur = 256, .rlim_max = 4096};  // It raises the soft limit itself.
    setrlimit(RLIMIT_NOFILE, &files);
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    const int err = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (err >= 0) dup2(err, STDERR_FILENO);
    execl(program.c_str(), "fabricd", "--grpc", "127.0.0.1:0", "--rest", "127.0.0.1:0", "--state",
          state.c_str(), "--addresses-file", addresses.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  // It prints one line when it listens.
  std::array<char, 256> line;
  ASSERT_GT(read(ends[0], line.data(), line.size()), 0) << "fabricd did not start";
  close(ends[0]);
  std::ifstream file(addresses);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  grpc_ = PortIn(text, "grpc");
  rest_ = PortIn(text, "rest");
  health_ = PortIn(text, "health");
}

void Victim::Stop() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Victim::Restart() {
  Stop();
  Start();
}

bool Victim::alive() const {
  return waitpid(pid_, nullptr, WNOHANG) == 0;
}

std::uint64_t Victim::PeakMemory() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) << 10;
  return 0;
}

std::string Victim::Get(const std::string& path) const {
  return HttpGet(rest_, path);
}

std::string Victim::Post(const std::string& path, const std::string& json) const {
  return HttpExchange(rest_, "POST " + path +
                                 " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                 "Content-Type: application/json\r\nContent-Length: " +
                                 std::to_string(json.size()) + "\r\n\r\n" + json);
}

std::string Victim::Metrics() const {
  return HttpBody(HttpGet(health_, "/metrics"));
}

std::unique_ptr<Victim::RawStub> Victim::DialRaw() const {
  return std::make_unique<RawStub>(Dial(grpc_));
}

std::string Victim::Health() const {
  return HttpGet(health_, "/livez");
}

std::unique_ptr<v1::AgentLink::Stub> Victim::DialAsAgent() const {
  return v1::AgentLink::NewStub(Dial(grpc_));
}
std::unique_ptr<v1::Fabric::Stub> Victim::DialAsClient() const {
  return v1::Fabric::NewStub(Dial(grpc_));
}

Peer::Peer(const Victim& victim, const std::string& node)
    : stub_(victim.DialAsAgent()), stream_(stub_->Connect(&context_)) {
  if (node.empty()) return;
  v1::AgentMessage hello;
  hello.mutable_hello()->mutable_node()->set_name(node);
  hello.mutable_hello()->mutable_node()->set_machine_id("machine-" + node);
  Say(hello);
}

Peer::~Peer() {
  context_.TryCancel();
}

grpc::Status Peer::AwaitEnd() {
  v1::ControllerMessage message;
  while (stream_->Read(&message)) {
  }
  return stream_->Finish();
}

grpc::Status Peer::End() {
  stream_->WritesDone();
  return AwaitEnd();
}

HonestAgent::HonestAgent(const Victim& victim, const std::string& node) : peer_(victim, node) {
  v1::AgentMessage snapshot;
  snapshot.mutable_snapshot()->mutable_node()->set_name(node);
  snapshot.mutable_snapshot()->mutable_taken_at()->set_seconds(1'800'000'000);
  peer_.Say(snapshot);
  beating_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    for (std::uint64_t n = 1; !stop.stop_requested() && connected_; ++n) {
      v1::AgentMessage heartbeat;
      heartbeat.mutable_heartbeat()->set_sequence(n);
      if (!peer_.Say(heartbeat)) connected_ = false;
      wake.wait_for(lock, stop, std::chrono::milliseconds(500), [] { return false; });
    }
  });
}

HonestAgent::~HonestAgent() = default;

void HostileCase::ExpectWell(const std::string& after) {
  SCOPED_TRACE("after " + after);
  EXPECT_TRUE(victim_.alive());
  EXPECT_NE(victim_.Health().find("200 OK"), std::string::npos);
  EXPECT_LT(victim_.PeakMemory(), kMemoryMax);
  EXPECT_TRUE(honest_.connected());
}

}  // namespace fabric::testing
