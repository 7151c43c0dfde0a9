// WatchEvents over gRPC. A watcher has a cursor and at most one event in flight; what it does not
// read in time is a gap. With the entry of proto/kept_events.h, the stream ends after the events
// that are kept. Callers are checked again every 10 s: a token can be revoked. Heavy headers;
// include it in grpc_front.cc only.
#pragma once

#include <condition_variable>
#include <set>
#include <stop_token>
#include <string_view>
#include <thread>

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/server_callback.h>

#include "base/mutex.h"
#include "daemon/api/fabric_api.h"
#include "daemon/api/peer_slots.h"
#include "daemon/control/events.h"
#include "fabric/v1/fabric.pb.h"

namespace fabric::api {

class WatchService final : public grpc::Service, private control::EventListener {
 public:
  // `call` checks the caller. Bus and slots are borrowed; `slots` bounds the watchers of all
  // transports.
  WatchService(CallFunction call, control::EventBus& events, PeerSlots& slots);
  ~WatchService() override;

  // Ends every watcher and refuses new ones, with UNAVAILABLE. Does not wait.
  void Stop() EXCLUDES(mutex_);
  void WaitUntilGone() EXCLUDES(mutex_);

 private:
  class Watcher;

  grpc::ServerWriteReactor<v1::Event>* Watch(grpc::CallbackServerContext* context,
                                             const v1::WatchEventsRequest& request);
  void Remove(Watcher* watcher) EXCLUDES(mutex_);
  void OnEvent(const v1::Event& event) override EXCLUDES(wake_mutex_);
  void Wake() EXCLUDES(wake_mutex_);  // The pump
  void PumpAll(std::stop_token stop);
  void RecheckAll() EXCLUDES(mutex_);

  Status Admit(const access::Caller& caller, std::string_view transport) const;

  const CallFunction call_;
  control::EventBus& events_;
  PeerSlots& slots_;

  Mutex wake_mutex_;
  std::condition_variable_any wake_;
  bool published_ GUARDED_BY(wake_mutex_) = false;

  Mutex mutex_;
  std::condition_variable_any all_gone_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::set<Watcher*> watchers_ GUARDED_BY(mutex_);  // They delete themselves.
  std::jthread pump_;  // Writes new events, so that who publishes them does not.
};

}  // namespace fabric::api
