// Runs work in a child process.
#pragma once

#include <functional>

namespace fabric {

// Runs `work` in a child of this process, which must have no other threads, and returns its exit
// status, 0 to 255; 128 plus the signal number if the child was killed. Returns as soon as the work
// is done, even if the child cannot exit because a thread is blocked in a driver: a wait for such a
// process never returns. Without a child process (fork fails) the work runs in this process.
int RunInChild(const std::function<int()>& work);

// Runs `work` in a child of this process, which must have no other threads, and returns at once.
// The child is killed after 30 s; init reaps it. If fork fails, `work` is not run.
void RunAside(const std::function<void()>& work);

}  // namespace fabric
