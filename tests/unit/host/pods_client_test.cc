// Real gRPC servers on Unix sockets.
#include "agents/host/pods/pods_client.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>

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
    (void)!::write(peer, garbage.data(), garbage.size());
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
