// Inspections that end, whatever drivers do.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "agents/inspect/inspector.h"
#include "base/clock.h"

namespace fabric::inspect {

struct InspectionOptions {
  std::string node_name;
  std::span<const Inspector* const> inspectors = AllInspectors();
  Duration answer_max = std::chrono::seconds(2);      // What has made no step for so long hangs.
  Duration inspector_max = std::chrono::seconds(10);  // Nor may one inspector take longer.
  Duration look_every = std::chrono::milliseconds(50);
  std::size_t hanging_max = 16;
};

// Inspects on a thread of its own. When a call into the kernel does not return, its thread is left
// behind with all that it was working on, and another one inspects from the start, without that
// call; see CallWatch. What two calls about one device have done is assumed of the others; an
// inspector that hangs outside of a known call is not run. Each such call or inspector is a gap
// DEADLINE_EXCEEDED until its thread has come back, which the checks of everything look for.
//
// Threads that were left behind cannot be ended, and need what they use until they come back: no
// more than `hanging_max` of them are made, and with that many, nothing is inspected. A program
// with some left must not end through main().
class Inspection {
 public:
  // Called on the inspecting threads: each needs sockets of its own.
  using OpenMachine = std::function<Result<std::unique_ptr<host::HostOwner>>()>;

  Inspection(InspectionOptions options, const Clock& clock, OpenMachine open);
  ~Inspection();  // Does not wait for what hangs.
  Inspection(const Inspection&) = delete;
  Inspection& operator=(const Inspection&) = delete;

  // The machine after `events`. Nothing, when asked to stop while something hung. One thread at a
  // time.
  std::optional<v1::NodeSnapshot> Inspect(EventSet events, const std::stop_token& stop = {});

  // Threads that have been left behind, as of the last inspection.
  std::size_t hanging() const { return hangs_.size(); }

 private:
  class Worker;
  struct Thread {  // The worker belongs to its thread, and is there until it is let go.
    Worker* worker = nullptr;
    std::thread thread;
  };
  struct Hang {
    Thread thread;
    std::string inspector;
    std::string call;  // Empty: not known
  };

  void StartThread();
  static void LetGo(Thread& thread);
  bool AwaitEnd() const;  // False when it hangs.
  void LeaveBehind();
  void ForgetThoseThatCameBack();
  std::vector<std::string> CallsToAvoid() const;
  std::vector<std::string> InspectorsToAvoid() const;
  void AddGaps(v1::NodeSnapshot& snapshot) const;
  v1::NodeSnapshot NothingInspected() const;

  const InspectionOptions options_;
  const Clock& clock_;
  const OpenMachine open_;
  Thread current_;
  std::vector<Hang> hangs_;
  std::optional<v1::NodeSnapshot> last_;
};

}  // namespace fabric::inspect
