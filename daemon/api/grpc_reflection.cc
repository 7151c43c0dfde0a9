#include "daemon/api/grpc_reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/empty.pb.h>
#include <grpcpp/server_context.h>

#include <string_view>
#include <utility>

#include "daemon/api/caught.h"
#include "daemon/api/grpc_caller.h"

namespace fabric::api {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::ServerRpcInfo;

constexpr std::string_view kReflectionPath =
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr const char* kReflectionMethod =
    "grpc.reflection.v1alpha.ServerReflection.ServerReflectionInfo";

Status AdmitReflection(const CallFunction& call, const grpc::ServerContextBase& context) {
  const auto* const method =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(kReflectionMethod);
  if (method == nullptr) return {Code::kPermissionDenied, "the reflection service is not known"};
  const access::Caller caller = CallerOf(context);
  google::protobuf::Empty ignored;
  return Caught(
      [&] { return call({.caller = caller, .transport = "grpc"}, *method, ignored, ignored); });
}

// The reflection service belongs to gRPC and answers on its own: cancelling is the only way to
// refuse before its first answer.
class ReflectionGuard final : public grpc::experimental::Interceptor {
 public:
  ReflectionGuard(const CallFunction& call, ServerRpcInfo& info) : call_(call), info_(info) {}

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA) &&
        !AdmitReflection(call_, *info_.server_context()).ok())
      info_.server_context()->TryCancel();
    methods->Proceed();
  }

 private:
  const CallFunction& call_;
  ServerRpcInfo& info_;
};

class ReflectionGuardFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit ReflectionGuardFactory(CallFunction call) : call_(std::move(call)) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    if (info->method() != kReflectionPath) return nullptr;
    return new ReflectionGuard(call_, *info);  // gRPC deletes it.
  }

 private:
  const CallFunction call_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
ReflectionGuards(CallFunction call) {
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> guards;
  guards.push_back(std::make_unique<ReflectionGuardFactory>(std::move(call)));
  return guards;
}

}  // namespace fabric::api
