#include "proto/coverage.h"

#include <utility>

#include "base/text.h"

namespace fabric {

v1::CoverageGap CoverageGapOf(v1::CoverageGapReason reason, std::string text) {
  v1::CoverageGap gap;
  gap.set_reason(reason);
  gap.set_text(std::move(text));
  return gap;
}

v1::CoverageGap CoverageGapOf(const std::string& node, v1::CoverageGapReason reason,
                              std::string text) {
  v1::CoverageGap gap = CoverageGapOf(reason, std::move(text));
  gap.set_node(node);
  return gap;
}

v1::CoverageGap CoverageGapOf(const v1::ProbePort& port, v1::CoverageGapReason reason,
                              std::string text) {
  v1::CoverageGap gap = CoverageGapOf(port.node(), reason, std::move(text));
  gap.set_device(port.device());
  gap.set_port(port.port());
  return gap;
}

std::string SubjectName(const v1::CoverageGap& gap) {
  if (!gap.rule().empty()) return "rule " + gap.rule();
  if (gap.device().empty()) return gap.node();
  return Format("{}/{}/{}", gap.node(), gap.device(), gap.port());
}

std::string ToString(const v1::CoverageGap& gap) {
  const std::string subject = SubjectName(gap);
  return subject.empty() ? gap.text() : Format("{}: {}", subject, gap.text());
}

}  // namespace fabric
