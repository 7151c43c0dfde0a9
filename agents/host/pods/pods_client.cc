#include "agents/host/pods/pods_client.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "agents/host/resolve.h"
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

class PodsClient final : public Pods {
 public:
  explicit PodsClient(PodSockets sockets) : sockets_(std::move(sockets)) {
    sockets_.kubelet = PathOf(sockets_.kubelet);
    sockets_.runtime = PathOf(sockets_.runtime);
  }

  Result<std::vector<Pod>> OfKubelet() const override {
    RETURN_IF_ERROR(CheckSocket(sockets_.kubelet));
    grpc::ClientContext context;
    context.set_deadline(Deadline());
    kubelet::ListPodResourcesResponse response;
    RETURN_IF_ERROR(FromServer(kubelet::PodResourcesLister::NewStub(Connect(sockets_.kubelet))
                                   ->List(&context, {}, &response),
                               sockets_.kubelet));
    std::vector<Pod> pods;
    for (const kubelet::PodResources& from : response.pod_resources())
      if (IsPlain(from.namespace_()) && IsPlain(from.name())) pods.push_back(ToPod(from));
    return pods;
  }

  Result<std::vector<Pod>> OfRuntime() const override {
    RETURN_IF_ERROR(CheckSocket(sockets_.runtime));
    grpc::ClientContext context;
    context.set_deadline(Deadline());
    cri::ListPodSandboxRequest request;
    request.mutable_filter()->mutable_state()->set_state(cri::SANDBOX_READY);
    cri::ListPodSandboxResponse response;
    RETURN_IF_ERROR(FromServer(cri::RuntimeService::NewStub(Connect(sockets_.runtime))
                                   ->ListPodSandbox(&context, request, &response),
                               sockets_.runtime));
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
};

}  // namespace

std::unique_ptr<Pods> OpenPods(PodSockets sockets) {
  if (sockets.empty()) return nullptr;
  return std::make_unique<PodsClient>(std::move(sockets));
}

}  // namespace fabric::host
