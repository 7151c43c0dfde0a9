// Unary rpcs of the services Fabric and NodeJoin on gRPC, by descriptors: no code for each rpc.
// Heavy headers; include it in grpc_front.cc only.
#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/async_generic_service.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "daemon/api/fabric_api.h"
#include "proto/wire_check.h"

namespace fabric::api {

// gRPC's threads read requests; threads of the service answer them, so that a call that waits for
// the controller does not delay the connections. RESOURCE_EXHAUSTED when too many calls wait. A
// call that its caller has cancelled, or whose deadline has passed, ends without work.
class UnaryService final : public grpc::CallbackGenericService {
 public:
  explicit UnaryService(CallFunction call);
  ~UnaryService() override;  // After the server has ended all calls

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  class Call;

  bool Put(Call& call) EXCLUDES(mutex_);
  void Serve(const std::stop_token& stop) EXCLUDES(mutex_);

  const CallFunction call_;
  std::map<const google::protobuf::Descriptor*, WireCheck> checks_;  // By the type of the request

  Mutex mutex_;
  std::condition_variable_any work_;
  std::deque<Call*> waiting_ GUARDED_BY(mutex_);  // They delete themselves.
  std::vector<std::jthread> threads_;             // Last: use all of the above
};

}  // namespace fabric::api
