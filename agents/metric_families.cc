#include "agents/metric_families.h"

namespace fabric::agent {

void MetricFamilies::Add(prometheus::MetricType type, std::string_view name, std::string_view help,
                         Labels labels, double value) {
  Family& family = families_[std::string(name)];
  if (family.family.metric.empty()) {
    family.family.name = name;
    family.family.help = help;
    family.family.type = type;
  }
  if (!family.seen.insert(labels).second) return;
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
