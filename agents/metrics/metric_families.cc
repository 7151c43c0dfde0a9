#include "agents/metrics/metric_families.h"

namespace fabric::agent {
namespace {

// Names of labels are the same in all samples of a family.
std::string Values(const Labels& labels) {
  std::string values;
  for (const auto& label : labels) (values += label.value) += '\0';
  return values;
}

}  // namespace

void MetricFamilies::Add(prometheus::MetricType type, std::string_view name, std::string_view help,
                         Labels labels, double value) {
  auto at = families_.find(name);
  if (at == families_.end()) at = families_.emplace(std::string(name), Family()).first;
  Family& family = at->second;
  if (family.family.metric.empty()) {
    family.family.name = name;
    family.family.help = help;
    family.family.type = type;
  }
  if (!family.seen.insert(Values(labels)).second) return;
  prometheus::ClientMetric& metric = family.family.metric.emplace_back();
  metric.label = std::move(labels);
  // Only the one that belongs to the family's type is written.
  metric.gauge.value = value;
  metric.counter.value = value;
  metric.untyped.value = value;
}

std::vector<prometheus::MetricFamily> MetricFamilies::Take() {
  std::vector<prometheus::MetricFamily> taken;
  for (auto& [name, family] : families_) taken.push_back(std::move(family.family));
  families_.clear();
  return taken;
}

}  // namespace fabric::agent
