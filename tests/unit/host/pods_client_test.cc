// Real gRPC servers on Unix sockets.
#include "agents/host/pods/pods_client.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "kubernetes/pod_resources.grpc.pb.h"
#include "kubernetes/runtime.grpc.pb.h"
#include "tests/testing/temp_tree.h"

namespace fabric::host {
namespace {

using ::testing::HasSubstr;

class Kubelet final : public ::v1::PodResourcesLister::Service {
 public:
  grpc::Status List(grpc::ServerContext* context, const ::v1::ListPodResourcesRequest*,
                    ::v1::ListPodResourcesResponse* response) override {
    authority = std::string(context->ExperimentalGetAuthority().data(),
                            context->ExperimentalGetAuthority().size());
    return answer(*context, *response);
  }
  std::function<grpc::Status(grpc::ServerContext&, ::v1::ListPodResourcesResponse&)> answer;
  std::string authority;
};

class Runtime final : public ::runtime::v1::RuntimeService::Service {
 public:
  grpc::Status ListPodSandbox(grpc::ServerContext*,
                              const ::runtime::v1::ListPodSandboxRequest* request,
                              ::runtime::v1::ListPodSandboxResponse* response) override {
    filtered = request->filter().has_state();
    *response = answer;
    return grpc::Status::OK;
  }
  ::runtime::v1::ListPodSandboxResponse answer;
  bool filtered = false;
};

class PodsOfKubernetes : public ::testing::Test {
 protected:
  PodsOfKubernetes() {
    kubelet_.answer = [](auto&, auto&) { return grpc::Status::OK; };
  }
  ~PodsOfKubernetes() override {
    if (server_) server_->Shutdown(SystemClock().Now().wall);
  }
  void Start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
    builder.RegisterService(&kubelet_);
    builder.RegisterService(&runtime_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  std::unique_ptr<Pods> Open(Duration patience = std::chrono::seconds(20)) {
    return OpenPods({.kubelet = socket_, .runtime = "unix://" + socket_, .patience = patience});
  }
  void AddSandbox(const std::string& name, const std::string& uid,
                  ::runtime::v1::PodSandboxState state = ::runtime::v1::SANDBOX_READY) {
    auto& item = *runtime_.answer.add_items();
    item.set_state(state);
    item.mutable_metadata()->set_namespace_("ml");
    item.mutable_metadata()->set_name(name);
    item.mutable_metadata()->set_uid(uid);
  }

  testing::TempTree tree_;
  const std::string socket_ = tree_.path() + "/kubelet.sock";
  Kubelet kubelet_;
  Runtime runtime_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(PodsOfKubernetes, HaveTheDevicesThatTheKubeletLists) {
  kubelet_.answer = [](auto&, auto& response) {
    auto& pod = *response.add_pod_resources();
    pod.set_namespace_("ml");
    pod.set_name("train-0");
    for (const char* id : {"GPU-1", "GPU-2"}) {
      auto& devices = *pod.add_containers()->add_devices();
      devices.set_resource_name("nvidia.com/gpu");
      devices.add_device_ids(id);
    }
    response.add_pod_resources()->set_name("without-namespace");
    return grpc::Status::OK;
  };
  Start();
  const auto pods = Open()->OfKubelet();
  ASSERT_TRUE(pods.ok()) << pods.status().message();
  ASSERT_EQ(pods->size(), 1U) << "an entry without a namespace is left out";
  EXPECT_EQ((*pods)[0].name_space, "ml");
  EXPECT_EQ((*pods)[0].name, "train-0");
  ASSERT_EQ((*pods)[0].devices.size(), 2U);
  EXPECT_EQ((*pods)[0].devices[1].resource, "nvidia.com/gpu");
  EXPECT_EQ((*pods)[0].devices[1].id, "GPU-2");
  EXPECT_EQ(kubelet_.authority, "localhost") << "servers in Go reject a path";
}

TEST_F(PodsOfKubernetes, HaveTheUidOfTheRuntimeWhenTheirSandboxIsReady) {
  AddSandbox("train-0", "0c1d2e3f-4a5b-6c7d-8e9f-0a1b2c3d4e5f");
  AddSandbox("ended", "1c1d2e3f-4a5b-6c7d-8e9f-0a1b2c3d4e5f", ::runtime::v1::SANDBOX_NOTREADY);
  AddSandbox("two\nlines", "2c1d2e3f-4a5b-6c7d-8e9f-0a1b2c3d4e5f");
  AddSandbox(std::string(300, 'x'), "3c1d2e3f-4a5b-6c7d-8e9f-0a1b2c3d4e5f");
  Start();
  const auto pods = Open()->OfRuntime();
  ASSERT_TRUE(pods.ok()) << pods.status().message();
  ASSERT_EQ(pods->size(), 1U);
  EXPECT_EQ((*pods)[0].name, "train-0");
  EXPECT_EQ((*pods)[0].uid, "0c1d2e3f-4a5b-6c7d-8e9f-0a1b2c3d4e5f");
  EXPECT_TRUE(runtime_.filtered);
}

TEST_F(PodsOfKubernetes, AServerThatIsSilentCostsThePatience) {
  kubelet_.answer = [](grpc::ServerContext& context, auto&) {
    while (!context.IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  };
  Start();
  EXPECT_EQ(Open(std::chrono::milliseconds(50))->OfKubelet().status().code(),
            Code::kDeadlineExceeded);
}

TEST_F(PodsOfKubernetes, AServerThatRefusesGivesItsReason) {
  kubelet_.answer = [](auto&, auto&) {
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "not you");
  };
  Start();
  const Status status = Open()->OfKubelet().status();
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_EQ(status.message(), socket_ + ": not you");
}

TEST_F(PodsOfKubernetes, AnAnswerThatIsTooLargeIsRefused) {
  kubelet_.answer = [](auto&, auto& response) {
    response.add_pod_resources()->set_name(std::string(9 << 20, 'x'));
    return grpc::Status::OK;
  };
  Start();
  EXPECT_EQ(Open()->OfKubelet().status().code(), Code::kResourceExhausted);
}

TEST_F(PodsOfKubernetes, AMissingSocketIsNotFound) {
  const Status status = Open()->OfKubelet().status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr(socket_));
}

TEST_F(PodsOfKubernetes, ASocketWithoutServerIsUnavailable) {
  Start();
  const std::string kept = socket_ + ".kept";
  ASSERT_EQ(::link(socket_.c_str(), kept.c_str()), 0);
  server_->Shutdown(SystemClock().Now().wall);
  server_.reset();
  EXPECT_EQ(OpenPods({.kubelet = kept})->OfKubelet().status().code(), Code::kUnavailable);
}

// Passes the bytes of the connections to a socket on to the socket of the server, and counts them.
class Relay {
 public:
  Relay(const std::string& from, std::string to) : to_(std::move(to)) {
    sockaddr_un address = AddressOf(from);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }
  ~Relay() {
    thread_.request_stop();
    thread_.join();
    for (const pollfd& each : polled_)
      if (each.fd >= 0) ::close(each.fd);
  }
  int connections() const { return connections_; }

 private:
  static sockaddr_un AddressOf(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    return address;
  }
  // polled_: the listener, then both ends of each connection.
  void Run(const std::stop_token& stop) {
    polled_.push_back({.fd = listener_, .events = POLLIN, .revents = 0});
    while (!stop.stop_requested()) {
      ::poll(polled_.data(), polled_.size(), 10);
      if ((polled_[0].revents & POLLIN) != 0) Accept();
      for (std::size_t i = 1; i < polled_.size(); ++i)
        if (polled_[i].revents != 0) Copy(polled_[i], polled_[i % 2 == 1 ? i + 1 : i - 1]);
      for (pollfd& each : polled_) each.revents = 0;
    }
  }
  void Accept() {
    const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = AddressOf(to_);
    EXPECT_EQ(::connect(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    for (const int end : {::accept(listener_, nullptr, nullptr), server})
      polled_.push_back({.fd = end, .events = POLLIN, .revents = 0});
    ++connections_;
  }
  static void Copy(pollfd& from, pollfd& to) {
    std::array<char, 4096> bytes{};
    const ssize_t read = ::read(from.fd, bytes.data(), bytes.size());
    // The other end may have closed: no SIGPIPE.
    if (read > 0 &&
        ::send(to.fd, bytes.data(), static_cast<std::size_t>(read), MSG_NOSIGNAL) == read)
      return;
    for (pollfd* const end : {&from, &to}) ::close(std::exchange(end->fd, -1));
  }

  const std::string to_;
  const int listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
  std::vector<pollfd> polled_;
  std::atomic<int> connections_ = 0;
  std::jthread thread_;
};

TEST_F(PodsOfKubernetes, AreAskedOverOneConnectionUntilACallFails) {
  bool refuse = false;
  kubelet_.answer = [&](auto&, auto&) {
    return refuse ? grpc::Status(grpc::StatusCode::INTERNAL, "broken") : grpc::Status::OK;
  };
  Start();
  const std::string path = socket_ + ".relay";
  Relay relay(path, socket_);
  const auto pods = OpenPods({.kubelet = path, .patience = std::chrono::seconds(20)});
  for (int n = 0; n < 3; ++n) EXPECT_TRUE(pods->OfKubelet().ok());
  EXPECT_EQ(relay.connections(), 1);
  refuse = true;
  EXPECT_EQ(pods->OfKubelet().status().code(), Code::kInternal);
  refuse = false;
  EXPECT_TRUE(pods->OfKubelet().ok());
  EXPECT_EQ(relay.connections(), 2);
}

TEST_F(PodsOfKubernetes, AreAskedOverANewConnectionAfterARestartOfTheServer) {
  Start();
  const auto pods = Open();
  EXPECT_TRUE(pods->OfKubelet().ok());
  server_->Shutdown(SystemClock().Now().wall);
  server_.reset();
  Start();  // The client may not know yet that the first server has ended.
  const auto again = pods->OfKubelet();
  EXPECT_TRUE(again.ok()) << again.status().message();
}

TEST_F(PodsOfKubernetes, AnswersThatAreNoGrpcAreAnError) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_.c_str(), sizeof(address.sun_path) - 1);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  std::jthread server([listener] {
    const int peer = ::accept(listener, nullptr, nullptr);
    const std::string garbage = "HTTP/1.1 400 Bad Request\r\n\r\n";
    (void)!::send(peer, garbage.data(), garbage.size(), MSG_NOSIGNAL);
    ::close(peer);
  });
  const Status status = Open(std::chrono::seconds(5))->OfKubelet().status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr(socket_));
  ::close(listener);
}

TEST(Pods, AreNotAskedWithoutASocket) {
  EXPECT_EQ(OpenPods({}), nullptr);
}

}  // namespace
}  // namespace fabric::host
