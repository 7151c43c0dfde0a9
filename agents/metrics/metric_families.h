// Collects samples into metric families. Pure.
#pragma once

#include <prometheus/metric_family.h>

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace fabric::agent {

using Labels = std::vector<prometheus::ClientMetric::Label>;

class MetricFamilies {
 public:
  // The second sample of the same name and labels is left out: the text format forbids it.
  void Gauge(std::string_view name, std::string_view help, Labels labels, double value) {
    Add(prometheus::MetricType::Gauge, name, help, std::move(labels), value);
  }
  void Counter(std::string_view name, std::string_view help, Labels labels, double value) {
    Add(prometheus::MetricType::Counter, name, help, std::move(labels), value);
  }
  void Untyped(std::string_view name, std::string_view help, Labels labels, double value) {
    Add(prometheus::MetricType::Untyped, name, help, std::move(labels), value);
  }

  std::vector<prometheus::MetricFamily> Take();  // Sorted by name

 private:
  void Add(prometheus::MetricType type, std::string_view name, std::string_view help, Labels labels,
           double value);

  struct Family {
    prometheus::MetricFamily family;
    std::unordered_set<std::string> seen;  // Values of the labels
  };
  std::map<std::string, Family, std::less<>> families_;
};

}  // namespace fabric::agent
