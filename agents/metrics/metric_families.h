// Metric families: collection of samples, and the parts of ToMetrics(). Pure.
#pragma once

#include <prometheus/metric_family.h>

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "fabric/v1/inventory.pb.h"

namespace fabric::agent {

using Labels = std::vector<prometheus::ClientMetric::Label>;

class MetricFamilies {
 public:
  // Ignores a second sample of the same name and labels, which the text format forbids.
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

struct CounterMetric {
  std::string name;  // "fabric_netdev_pfc_frames_received_total"
  std::string_view help;
  std::string_view priority;  // Digit; may be empty. Borrows from the counter.
  double scale = 1;           // From the counter's unit to the metric's: seconds, ratios
  bool gauge = false;
};

// `of_port`: of an RDMA port or device, else of a netdev. Empty for a counter without neutral name.
std::optional<CounterMetric> MetricOf(const v1::Counter& counter, bool of_port);

// Metrics of fields with the option `metric`, in a message and below it. Reads the options once,
// when it is made. The message type must not contain itself, and must outlive this object.
class FieldMetrics {
 public:
  struct Type;
  explicit FieldMetrics(const google::protobuf::Descriptor& message);
  FieldMetrics(const FieldMetrics&) = delete;
  FieldMetrics& operator=(const FieldMetrics&) = delete;
  ~FieldMetrics();

  // `message`: of the type.
  void Add(const google::protobuf::Message& message, MetricFamilies& out) const;

 private:
  std::unique_ptr<const Type> type_;  // nullptr: no metrics
};

// Metrics that need more than one field.
void AddDevices(const v1::NodeSnapshot& snapshot, MetricFamilies& out);
void AddNetdevs(const v1::NodeSnapshot& snapshot, MetricFamilies& out);
void AddCounters(const v1::NodeSnapshot& snapshot, MetricFamilies& out);

// Metrics of node_exporter for the same node, under its names: families node_infiniband_*.
void AddNodeExporter(const v1::NodeSnapshot& snapshot, MetricFamilies& out);

}  // namespace fabric::agent
