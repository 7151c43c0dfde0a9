// Files of custom rules: whatever they hold, each problem is one line with a place in the file,
// and what was loaded can be evaluated and tested.
#include <algorithm>

#include "daemon/custom/rule_file.h"
#include "tests/fuzz/fuzz.h"

using fabric::fuzz::Check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view yaml(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kTaken[] = {"port_active"};
  const auto file = fabric::custom::LoadRules(yaml, "f.yaml", kTaken);
  const auto lines = static_cast<std::size_t>(std::count(yaml.begin(), yaml.end(), '\n')) +
                     static_cast<std::size_t>(std::count(yaml.begin(), yaml.end(), '\r')) + 2;
  for (const auto& problem : file.problems) {
    const std::string text = ToString(problem);
    Check(text.starts_with("f.yaml:"), "a problem names the file");
    Check(text.find('\n') == std::string::npos, "a problem is one line");
    Check(problem.position.line <= lines, "a problem is in the file");
  }
  fabric::v1::NodeSnapshot node;
  node.add_rdma_devices()->add_ports()->set_number(1);
  for (const auto& rule : file.rules) {
    const auto evaluation = Evaluate(rule, node);
    for (const auto& finding : evaluation.findings) {
      Check(!finding.evidence().empty(), "a finding has evidence");
      Check(finding.rule() == rule.id, "a finding names its rule");
    }
  }
  const auto none = [](const std::string&) -> fabric::Result<fabric::v1::NodeSnapshot> {
    return fabric::Status(fabric::Code::kNotFound, "no files here");
  };
  Check(RunTests(file, none).size() == file.tests.size(), "every test has a result");
  return 0;
}
