#include "ctl/campaign_spec.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/suggest.h"
#include "base/text.h"

namespace fabric::ctl {
namespace {

struct Pattern {
  std::string_view name;
  v1::CampaignPattern pattern;
};

constexpr Pattern kPatterns[] = {
    {"all-pairs", v1::CAMPAIGN_PATTERN_ALL_PAIRS},
    {"cross-rail", v1::CAMPAIGN_PATTERN_CROSS_RAIL},
    {"one-to-many", v1::CAMPAIGN_PATTERN_ONE_TO_MANY},
    {"many-to-one", v1::CAMPAIGN_PATTERN_MANY_TO_ONE},
    {"ring", v1::CAMPAIGN_PATTERN_RING},
    {"random-regular", v1::CAMPAIGN_PATTERN_RANDOM_REGULAR},
    {"same-leaf", v1::CAMPAIGN_PATTERN_SAME_LEAF},
    {"same-pod", v1::CAMPAIGN_PATTERN_SAME_POD},
    {"across", v1::CAMPAIGN_PATTERN_ACROSS},
    {"loopback", v1::CAMPAIGN_PATTERN_LOOPBACK},
    {"within-node", v1::CAMPAIGN_PATTERN_WITHIN_NODE},
    {"incast", v1::CAMPAIGN_PATTERN_INCAST},
};

// Aliases of --kind.
struct KindWord {
  std::string_view word;
  std::string_view kinds;
};

constexpr KindWord kKindWords[] = {
    {"latency", "rc_write_latency"},
    {"bandwidth", "rc_write_bandwidth"},
    {"both", "rc_write_latency,rc_write_bandwidth"},
    {"ping", "ud_ping"},
    {"mtu", "path_mtu"},
};

// Options, and the field of a kind that each sets.
struct KindOption {
  std::string_view option;
  std::string_view field;
};

constexpr KindOption kKindOptions[] = {
    {"bytes", "message_bytes"},         {"iterations", "iterations"},
    {"queue-depth", "queue_depth"},     {"queue-pairs", "queue_pairs"},
    {"bidirectional", "bidirectional"}, {"pings", "pings"},
    {"interval", "interval_us"},        {"flow-labels", "flow_labels"},
    {"duration", "duration_ms"},        {"gpus", "gpus"},
};

const google::protobuf::FieldDescriptor* KindNamed(std::string_view name) {
  const auto* const kinds = v1::ProbeSpec::descriptor()->FindOneofByName("kind");
  for (int n = 0; n < kinds->field_count(); ++n)
    if (kinds->field(n)->name() == name) return kinds->field(n);
  return nullptr;
}

Status UnknownKind(std::string_view word) {
  std::vector<std::string_view> known;
  for (const KindWord& one : kKindWords) known.push_back(one.word);
  const auto* const kinds = v1::ProbeSpec::descriptor()->FindOneofByName("kind");
  for (int n = 0; n < kinds->field_count(); ++n) known.push_back(kinds->field(n)->name());
  return {Code::kInvalidArgument,
          UnknownName("kind", word, known,
                      "; expected one of " + Join({known.begin(), known.end()}, ", "))};
}

// Sets the field. False if the kind does not have it.
bool SetField(const Arguments& arguments, const KindOption& option,
              google::protobuf::Message& kind) {
  const auto* const field = kind.GetDescriptor()->FindFieldByName(std::string(option.field));
  if (field == nullptr) return false;
  const auto* const reflection = kind.GetReflection();
  if (option.option == "gpus") {
    for (const std::string& gpu : arguments.Words(option.option))
      reflection->AddString(&kind, field, gpu);
  } else if (field->is_repeated()) {
    for (const std::uint32_t number : arguments.Numbers(option.option))
      reflection->AddUInt32(&kind, field, number);
  } else if (field->type() == google::protobuf::FieldDescriptor::TYPE_BOOL) {
    reflection->SetBool(&kind, field, true);
  } else if (option.option == "interval") {
    const auto us =
        std::chrono::duration_cast<std::chrono::microseconds>(arguments.Duration(option.option));
    reflection->SetUInt32(&kind, field, static_cast<std::uint32_t>(us.count()));
  } else if (option.option == "duration") {
    const auto ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(arguments.Duration(option.option));
    reflection->SetUInt32(&kind, field, static_cast<std::uint32_t>(ms.count()));
  } else {
    reflection->SetUInt32(&kind, field, arguments.Number(option.option));
  }
  return true;
}

Status SetFields(const Arguments& arguments, v1::CampaignSpec& spec) {
  for (const KindOption& option : kKindOptions) {
    if (!arguments.Has(option.option)) continue;
    bool taken = false;
    for (v1::ProbeSpec& probe : *spec.mutable_probes()) {
      const auto* const kind =
          v1::ProbeSpec::descriptor()->FindFieldByNumber(static_cast<int>(probe.kind_case()));
      taken |= SetField(arguments, option, *probe.GetReflection()->MutableMessage(&probe, kind));
    }
    if (!taken)
      return {Code::kInvalidArgument,
              Format("--{} does not apply to --kind {}", option.option, arguments.Text("kind"))};
  }
  return {};
}

void SetSettings(const Arguments& arguments, v1::CampaignSpec& spec) {
  const auto timeout_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(arguments.Duration("probe-timeout"))
          .count();
  for (v1::ProbeSpec& probe : *spec.mutable_probes()) {
    probe.set_timeout_ms(static_cast<std::uint32_t>(timeout_ms));
    probe.set_traffic_class(arguments.Number("traffic-class"));
    if (arguments.Has("gid-index"))
      probe.mutable_queue_pair()->set_gid_index(arguments.Number("gid-index"));
    if (arguments.Has("service-level"))
      probe.mutable_queue_pair()->set_service_level(arguments.Number("service-level"));
  }
}

}  // namespace

std::string_view PatternName(v1::CampaignPattern pattern) {
  if (pattern == v1::CAMPAIGN_PATTERN_UNSPECIFIED) pattern = v1::CAMPAIGN_PATTERN_ALL_PAIRS;
  for (const Pattern& known : kPatterns)
    if (known.pattern == pattern) return known.name;
  return {};
}

Status ReadPairs(const Arguments& arguments, v1::CampaignSpec& spec) {
  std::string word = arguments.Text("pattern");
  // This kind has only this pattern.
  if (word == kPatternOption.fallback && spec.probes_size() == 1 && spec.probes(0).has_incast())
    word = "incast";
  std::replace(word.begin(), word.end(), '_', '-');
  const auto* const pattern = std::find_if(std::begin(kPatterns), std::end(kPatterns),
                                           [&](const Pattern& one) { return one.name == word; });
  if (pattern == std::end(kPatterns)) {
    std::vector<std::string_view> names;
    for (const Pattern& known : kPatterns) names.push_back(known.name);
    return {Code::kInvalidArgument,
            UnknownName("pattern", arguments.Text("pattern"), names,
                        "; expected one of " + Join({names.begin(), names.end()}, ", "))};
  }
  spec.set_pattern(pattern->pattern);
  spec.set_hub(arguments.Text("hub"));
  spec.set_degree(arguments.Number("degree"));
  spec.set_seed(arguments.Number64("seed"));
  spec.set_pairs_at_once(arguments.Number("pairs-at-once"));
  spec.set_pairs_per_uplink(arguments.Number("pairs-per-uplink"));
  spec.set_include_busy(arguments.Bool("include-busy"));
  const bool star = pattern->pattern == v1::CAMPAIGN_PATTERN_ONE_TO_MANY ||
                    pattern->pattern == v1::CAMPAIGN_PATTERN_MANY_TO_ONE ||
                    pattern->pattern == v1::CAMPAIGN_PATTERN_INCAST;
  if (star == spec.hub().empty())
    return {Code::kInvalidArgument, star ? Format("--pattern {} requires --hub", word)
                                         : Format("--hub does not apply to --pattern {}", word)};
  if (arguments.Has("degree") && pattern->pattern != v1::CAMPAIGN_PATTERN_RANDOM_REGULAR)
    return {Code::kInvalidArgument, Format("--degree does not apply to --pattern {}", word)};
  return {};
}

Status ReadProbes(const Arguments& arguments, v1::CampaignSpec& spec) {
  // This pattern has only this kind.
  const bool of_incast =
      arguments.Text("pattern") == "incast" && arguments.Text("kind") == kKindFallback;
  const std::vector<std::string> words =
      of_incast ? std::vector<std::string>{"incast"} : arguments.Words("kind");
  for (const std::string& word : words) {
    const auto* const known = std::find_if(std::begin(kKindWords), std::end(kKindWords),
                                           [&](const KindWord& one) { return one.word == word; });
    const std::string_view kinds = known == std::end(kKindWords) ? word : known->kinds;
    for (const std::string_view name : Split(kinds, ',')) {
      const auto* const kind = KindNamed(name);
      if (kind == nullptr) return UnknownKind(word);
      v1::ProbeSpec& probe = *spec.add_probes();
      probe.GetReflection()->MutableMessage(&probe, kind);
    }
  }
  RETURN_IF_ERROR(SetFields(arguments, spec));
  SetSettings(arguments, spec);
  return {};
}

}  // namespace fabric::ctl
