// counters_reference > docs/reference/COUNTERS.md
#include <cstdio>

#include "tests/tools/counters_reference.h"

int main() {
  std::fputs(fabric::inspect::CountersReference().c_str(), stdout);
  return 0;
}
