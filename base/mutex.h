// std::mutex with annotations for clang's -Wthread-safety. Use one Mutex per class, and GUARDED_BY
// on every field that it protects.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define FABRIC_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define FABRIC_THREAD_ANNOTATION(x)
#endif

// gRPC's headers define the same macro.
#ifndef GUARDED_BY
#define GUARDED_BY(x) FABRIC_THREAD_ANNOTATION(guarded_by(x))
#endif
#define REQUIRES(x) FABRIC_THREAD_ANNOTATION(requires_capability(x))
#define EXCLUDES(x) FABRIC_THREAD_ANNOTATION(locks_excluded(x))

namespace fabric {

class FABRIC_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void lock() FABRIC_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void unlock() FABRIC_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class FABRIC_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) FABRIC_THREAD_ANNOTATION(acquire_capability(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() FABRIC_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  // For condition_variable_any::wait, which unlocks and locks again before it returns to the
  // caller.
  void lock() FABRIC_THREAD_ANNOTATION(no_thread_safety_analysis) { mutex_.lock(); }
  void unlock() FABRIC_THREAD_ANNOTATION(no_thread_safety_analysis) { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

}  // namespace fabric
