// WatchEvents over gRPC: writes from a bounded queue. Heavy headers; include it in grpc_front.cc
// only.
#pragma once

#include <condition_variable>
#include <set>

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/server_callback.h>

#include "base/mutex.h"
#include "daemon/control/events.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::api {

class WatchService final : public grpc::Service {
 public:
  explicit WatchService(control::EventBus& events);
  ~WatchService() override;

  // Ends every watcher and refuses new ones, with UNAVAILABLE. Does not wait.
  void Stop() EXCLUDES(mutex_);
  void WaitUntilGone() EXCLUDES(mutex_);

 private:
  class Watcher;

  grpc::ServerWriteReactor<v1::Event>* Watch(grpc::CallbackServerContext* context,
                                             const v1::WatchEventsRequest& request);
  void Remove(Watcher* watcher) EXCLUDES(mutex_);

  control::EventBus& events_;

  Mutex mutex_;
  std::condition_variable_any all_gone_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::set<Watcher*> watchers_ GUARDED_BY(mutex_);  // They delete themselves.
};

}  // namespace fabric::api
