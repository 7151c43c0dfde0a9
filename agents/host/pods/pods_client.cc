#include "agents/host/pods/pods_client.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "agents/host/resolve.h"
#include "base/mutex.h"
#include "base/text.h"
#include "kubernetes/pod_resources.grpc.pb.h"
#include "kubernetes/runtime.grpc.pb.h"

namespace fabric::host {
namespace {

namespace kubelet = ::v1;
namespace cri = ::runtime::v1;

constexpr int kAnswerBytesMax = 8 << 20;
constexpr std::size_t kTextMax = 253;  // Of names of Kubernetes

// The kernel's answer, before gRPC: its errors do not say which permission is missing.
Status CheckSocket(const std::string& path) {
  return ::access(path.c_str(), W_OK) == 0 ? Status() : FileError(errno, path);
}

auto Connect(const std::string& path) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Servers in Go reject the default, which is the path of the socket.
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  arguments.SetMaxReceiveMessageSize(kAnswerBytesMax);
  return grpc::CreateCustomChannel("unix:" + path, grpc::InsecureChannelCredentials(), arguments);
}

Status FromServer(const grpc::Status& status, const std::string& path) {
  if (status.ok()) return {};
  return Status(static_cast<Code>(status.error_code()), status.error_message()).At(path);
}

// Names come from another program. What no cluster can have is left out.
bool IsPlain(const std::string& text) {
  return !text.empty() && text.size() <= kTextMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

Pod ToPod(const kubelet::PodResources& from) {
  Pod pod{.name_space = from.namespace_(), .name = from.name(), .uid = {}, .devices = {}};
  for (const kubelet::ContainerResources& container : from.containers())
    for (const kubelet::ContainerDevices& devices : container.devices())
      for (const std::string& id : devices.device_ids())
        if (IsPlain(devices.resource_name()) && IsPlain(id))
          pod.devices.push_back({.resource = devices.resource_name(), .id = id});
  return pod;
}

std::string PathOf(std::string_view socket) {
  constexpr std::string_view kScheme = "unix://";
  if (socket.starts_with(kScheme)) socket.remove_prefix(kScheme.size());
  return std::string(socket);
}

// The connection to one server. It is kept until a call fails. A kept one can be that to a server
// which has ended: without an answer, the call is repeated over a new one. Calls at the same time
// have connections of their own.
template <class Service>
class Connection {
 public:
  using Call = std::function<grpc::Status(typename Service::Stub&, grpc::ClientContext&)>;
  Status Run(const std::string& path, gpr_timespec deadline, const Call& call) {
    std::unique_ptr<typename Service::Stub> stub = Take();
    RETURN_IF_ERROR(CheckSocket(path));
    const bool kept = stub != nullptr;
    if (!kept) stub = Service::NewStub(Connect(path));
    Status status = RunOver(*stub, path, deadline, call);
    if (kept && status.code() == Code::kUnavailable) {
      stub = Service::NewStub(Connect(path));
      status = RunOver(*stub, path, deadline, call);
    }
    RETURN_IF_ERROR(std::move(status));
    const MutexLock lock(mutex_);
    stub_ = std::move(stub);
    return {};
  }

 private:
  static Status RunOver(typename Service::Stub& stub, const std::string& path,
                        gpr_timespec deadline, const Call& call) {
    grpc::ClientContext context;
    context.set_deadline(deadline);
    return FromServer(call(stub, context), path);
  }
  std::unique_ptr<typename Service::Stub> Take() {
    const MutexLock lock(mutex_);
    return std::move(stub_);
  }

  Mutex mutex_;
  std::unique_ptr<typename Service::Stub> stub_ GUARDED_BY(mutex_);
};

class PodsClient final : public Pods {
 public:
  explicit PodsClient(PodSockets sockets) : sockets_(std::move(sockets)) {
    sockets_.kubelet = PathOf(sockets_.kubelet);
    sockets_.runtime = PathOf(sockets_.runtime);
  }

  Result<std::vector<Pod>> OfKubelet() const override {
    kubelet::ListPodResourcesResponse response;
    RETURN_IF_ERROR(
        kubelet_.Run(sockets_.kubelet, Deadline(),
                     [&](kubelet::PodResourcesLister::Stub& stub, grpc::ClientContext& context) {
                       return stub.List(&context, {}, &response);
                     }));
    std::vector<Pod> pods;
    for (const kubelet::PodResources& from : response.pod_resources())
      if (IsPlain(from.namespace_()) && IsPlain(from.name())) pods.push_back(ToPod(from));
    return pods;
  }

  Result<std::vector<Pod>> OfRuntime() const override {
    cri::ListPodSandboxRequest request;
    request.mutable_filter()->mutable_state()->set_state(cri::SANDBOX_READY);
    cri::ListPodSandboxResponse response;
    RETURN_IF_ERROR(
        runtime_.Run(sockets_.runtime, Deadline(),
                     [&](cri::RuntimeService::Stub& stub, grpc::ClientContext& context) {
                       return stub.ListPodSandbox(&context, request, &response);
                     }));
    std::vector<Pod> pods;
    for (const cri::PodSandbox& item : response.items()) {
      const cri::PodSandboxMetadata& from = item.metadata();
      if (item.state() == cri::SANDBOX_READY && IsPlain(from.namespace_()) &&
          IsPlain(from.name()) && IsPlain(from.uid()))
        pods.push_back({.name_space = from.namespace_(),
                        .name = from.name(),
                        .uid = from.uid(),
                        .devices = {}});
    }
    return pods;
  }

  const PodSockets& sockets() const override { return sockets_; }

 private:
  gpr_timespec Deadline() const {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(sockets_.patience);
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                        gpr_time_from_millis(ms.count(), GPR_TIMESPAN));
  }

  PodSockets sockets_;
  mutable Connection<kubelet::PodResourcesLister> kubelet_;
  mutable Connection<cri::RuntimeService> runtime_;
};

}  // namespace

std::unique_ptr<Pods> OpenPods(PodSockets sockets) {
  if (sockets.empty()) return nullptr;
  return std::make_unique<PodsClient>(std::move(sockets));
}

}  // namespace fabric::host
