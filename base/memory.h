// Reduction of the memory use of a process.
#pragma once

namespace fabric {

// Makes all threads share one heap. By default each thread has its own, which keeps freed memory.
// For programs whose threads seldom allocate at the same time. Call before starting threads.
void ShareOneHeap();

// Returns memory to the kernel that only the start of the program used: free pages of the heap, and
// pages of code and constants that were read for linking and initialization. Pages in use are read
// from the page cache again. Call once after the start; other threads may run.
void ReleaseStartMemory();

}  // namespace fabric
