// rules_reference > docs/reference/RULES.md
#include <cstdio>

#include "tests/tools/rules_reference.h"

int main() {
  std::fputs(fabric::rules::RulesReference().c_str(), stdout);
  return 0;
}
