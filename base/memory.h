// Giving back memory that a program does not need any more.
#pragma once

namespace fabric {

// All threads share one heap, where each would have one of its own that keeps what it once needed:
// for a program whose threads seldom allocate at the same moment. Before other threads are made.
void ShareOneHeap();

// Returns to the kernel what the start of a program has used and nobody uses any more: free pages
// of the heap, and pages of code and constants, most of which linking and initialising have read
// and nothing else does. What is needed again comes back from the page cache at its next use. Once,
// when a program has settled; other threads may run meanwhile.
void ReleaseStartMemory();

}  // namespace fabric
