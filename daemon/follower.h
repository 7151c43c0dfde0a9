// Reads of a controller that does not lead: it answers them from a copy of the stored state, which
// it reads again every few seconds. Each answer says how old the copy is. Thread-safe.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "daemon/access/gate.h"
#include "daemon/api/call_metrics.h"
#include "daemon/api/fabric_api.h"
#include "daemon/control/options.h"
#include "daemon/leadership.h"

namespace fabric {

class Follower {
 public:
  // An older copy answers nothing.
  static constexpr Duration kAgeMax = std::chrono::seconds(60);

  // All but `options` are borrowed. Starts to read.
  Follower(const Leadership& leadership, control::ControllerOptions options, access::Gate& gate,
           const Clock& clock);
  ~Follower();

  // Checks the caller, and answers who it is. Methods about what only the leader has, and changes,
  // are refused with its address: UNAVAILABLE.
  Status Call(const api::CallContext& context, const google::protobuf::MethodDescriptor& method,
              const google::protobuf::Message& request, google::protobuf::Message& response)
      EXCLUDES(mutex_);

 private:
  struct Copy;
  // The newest copy, which stays until it is given back. nullptr: none was read.
  Copy* Take(Status& failure) EXCLUDES(mutex_);
  void Give(Copy& copy) EXCLUDES(mutex_);
  Status Answer(Copy& copy, const Status& failure, const api::CallContext& context,
                const google::protobuf::MethodDescriptor& method,
                const google::protobuf::Message& request, google::protobuf::Message& response);
  Status Identify(const api::CallContext& context, const google::protobuf::MethodDescriptor& method,
                  const google::protobuf::Message& request, google::protobuf::Message& response);
  void Run(const std::stop_token& stop) EXCLUDES(mutex_);
  Result<std::unique_ptr<Copy>> Read();
  void Replace(std::unique_ptr<Copy> copy) EXCLUDES(mutex_);
  void Note(const Status& status) EXCLUDES(mutex_);
  Status Refuse(const api::CallContext& context, const google::protobuf::MethodDescriptor& method,
                std::string why);

  const Leadership& leadership_;
  const control::ControllerOptions options_;
  access::Gate& gate_;
  const Clock& clock_;
  api::CallMetrics calls_;

  Mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<std::unique_ptr<Copy>> copies_ GUARDED_BY(mutex_);  // The newest one is the last.
  Status failure_ GUARDED_BY(mutex_);                             // Of the last reading
  std::jthread thread_;                                           // Last: uses all of the above
};

}  // namespace fabric
