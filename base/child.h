// Work in a process of its own.
#pragma once

#include <functional>

namespace fabric {

// Runs `work` in a child of this process, which must have no other threads, and returns what it
// returns: an exit status from 0 to 255. Returns as soon as the work is done, even when the child
// cannot end because a driver does not let go of one of its threads: nobody can wait for such a
// process, not even its parent. 128 plus the signal when the child was killed. Where no child can
// be made, the work is done here.
int RunInChild(const std::function<int()>& work);

}  // namespace fabric
