#include "ctl/campaign_spec.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
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
    {"cables", v1::CAMPAIGN_PATTERN_CABLES},
};

using Field = google::protobuf::FieldDescriptor;

const v1::ProbeFlag& FlagOf(const Field& field) {
  return field.options().GetExtension(v1::probe_flag);
}

OptionType TypeOf(const Field& field) {
  switch (FlagOf(field).form()) {
    case v1::PROBE_FLAG_FORM_BYTES: return OptionType::kSize;
    case v1::PROBE_FLAG_FORM_MICROSECONDS:
    case v1::PROBE_FLAG_FORM_MILLISECONDS: return OptionType::kDuration;
    default: break;
  }
  if (field.cpp_type() == Field::CPPTYPE_STRING) return OptionType::kWords;
  if (field.cpp_type() == Field::CPPTYPE_BOOL) return OptionType::kBool;
  return field.is_repeated() ? OptionType::kNumbers : OptionType::kNumber;
}

// Short names, then full names
std::vector<std::string_view> KindNames(bool full) {
  std::vector<std::string_view> words;
  for (const ProbeArm* const arm : ProbeArms())
    if (!OptionsOf(*arm).word().empty()) words.push_back(OptionsOf(*arm).word());
  words.push_back(kKindFallback);
  for (const ProbeArm* const arm : ProbeArms())
    if (full) words.push_back(arm->name());
  return words;
}

// Kinds of the pattern incast
std::vector<std::string> IncastKinds() {
  std::vector<std::string> names;
  for (const ProbeArm* const arm : ProbeArms())
    if (OptionsOf(*arm).incast()) names.push_back(arm->name());
  return names;
}

// As a user writes it: "64KiB", "1ms", "1000".
std::string FlagText(const v1::ProbeFlag& flag, std::uint32_t number) {
  constexpr std::uint32_t kKibi = 1024;
  switch (flag.form()) {
    case v1::PROBE_FLAG_FORM_BYTES:
      if (number % (kKibi * kKibi) == 0) return Format("{}MiB", number / (kKibi * kKibi));
      return number % kKibi == 0 ? Format("{}KiB", number / kKibi) : Format("{}", number);
    case v1::PROBE_FLAG_FORM_MICROSECONDS: return ToString(std::chrono::microseconds(number));
    case v1::PROBE_FLAG_FORM_MILLISECONDS: return ToString(std::chrono::milliseconds(number));
    default: return Format("{}", number);
  }
}

// "Default: 128; 16 for rc_read_bandwidth, incast." The first value is that of most kinds.
std::string DefaultSentence(const v1::ProbeFlag& flag) {
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
  for (const ProbeArm* const arm : ProbeArms()) {
    const Field* const field = FieldOfFlag(*arm->message_type(), flag.name());
    const std::uint32_t number =
        field == nullptr ? 0 : field->options().GetExtension(v1::zero_means);
    if (number == 0) continue;
    const std::string text = FlagText(flag, number);
    auto at = std::ranges::find(values, text, [](const auto& value) { return value.first; });
    if (at == values.end()) at = values.insert(at, {text, {}});
    at->second.push_back(arm->name());
  }
  std::ranges::stable_sort(values, std::greater(),
                           [](const auto& value) { return value.second.size(); });
  std::string sentence;
  for (const auto& [text, kinds] : values)
    sentence += sentence.empty() ? Format(" Default: {}", text)
                                 : Format("; {} for {}", text, Join(kinds, ", "));
  return sentence.empty() ? sentence : sentence + ".";
}

template <typename Unit>
std::uint32_t CountOf(Duration duration) {
  return static_cast<std::uint32_t>(std::chrono::duration_cast<Unit>(duration).count());
}

std::uint32_t NumberOf(const Arguments& arguments, const v1::ProbeFlag& flag) {
  const std::string& name = flag.name();
  switch (flag.form()) {
    case v1::PROBE_FLAG_FORM_BYTES: return static_cast<std::uint32_t>(arguments.Size(name));
    case v1::PROBE_FLAG_FORM_MICROSECONDS:
      return CountOf<std::chrono::microseconds>(arguments.Duration(name));
    case v1::PROBE_FLAG_FORM_MILLISECONDS:
      return CountOf<std::chrono::milliseconds>(arguments.Duration(name));
    default: return arguments.Number(name);
  }
}

void SetField(const Arguments& arguments, const v1::ProbeFlag& flag, const Field& field,
              google::protobuf::Message& kind) {
  const auto* const reflection = kind.GetReflection();
  if (field.cpp_type() == Field::CPPTYPE_STRING) {
    for (const std::string& word : arguments.Words(flag.name()))
      reflection->AddString(&kind, &field, word);
  } else if (field.is_repeated()) {
    for (const std::uint32_t number : arguments.Numbers(flag.name()))
      reflection->AddUInt32(&kind, &field, number);
  } else if (field.cpp_type() == Field::CPPTYPE_BOOL) {
    reflection->SetBool(&kind, &field, arguments.Bool(flag.name()));
  } else {
    reflection->SetUInt32(&kind, &field, NumberOf(arguments, flag));
  }
}

Status SetFields(const Arguments& arguments, v1::CampaignSpec& spec) {
  for (const Field* const first : FieldsWithFlags()) {
    const v1::ProbeFlag& flag = FlagOf(*first);
    if (!arguments.Has(flag.name())) continue;
    bool taken = false;
    for (v1::ProbeSpec& probe : *spec.mutable_probes()) {
      google::protobuf::Message& kind = SetProbeKind(*ProbeArmOf(probe), probe);
      const Field* const field = FieldOfFlag(*kind.GetDescriptor(), flag.name());
      if (field != nullptr) SetField(arguments, flag, *field, kind);
      taken = taken || field != nullptr;
    }
    if (!taken)
      return {Code::kInvalidArgument,
              Format("--{} does not apply to {}", flag.name(),
                     spec.preset() == v1::CAMPAIGN_PRESET_UNSPECIFIED || arguments.Given("kind")
                         ? "--kind " + arguments.Text("kind")
                         : "--preset " + arguments.Text("preset"))};
  }
  return {};
}

void SetSettings(const Arguments& arguments, v1::CampaignSpec& spec) {
  const auto timeout_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(arguments.Duration("probe-timeout"))
          .count();
  for (v1::ProbeSpec& probe : *spec.mutable_probes()) {
    probe.set_timeout_ms(static_cast<std::uint32_t>(timeout_ms));
  }
}

}  // namespace

std::vector<Option> KindOptions() {
  static const std::map<std::string, std::string, std::less<>> docs = [] {
    std::map<std::string, std::string, std::less<>> all;
    for (const Field* const field : FieldsWithFlags())
      all[FlagOf(*field).name()] = FlagOf(*field).doc() + DefaultSentence(FlagOf(*field));
    return all;
  }();
  std::vector<Option> options;
  for (const Field* const field : FieldsWithFlags()) {
    const v1::ProbeFlag& flag = FlagOf(*field);
    options.push_back({.name = flag.name(),
                       .type = TypeOf(*field),
                       .value = flag.value(),
                       .min = flag.min(),
                       .max = flag.max(),
                       .doc = docs.at(flag.name())});
  }
  return options;
}

std::string_view PatternName(v1::CampaignPattern pattern) {
  if (pattern == v1::CAMPAIGN_PATTERN_UNSPECIFIED) pattern = v1::CAMPAIGN_PATTERN_ALL_PAIRS;
  for (const Pattern& known : kPatterns)
    if (known.pattern == pattern) return known.name;
  return {};
}

std::string ShortKinds() {
  const auto words = KindNames(false);
  return Join({words.begin(), words.end()}, ", ");
}

std::string AllKinds() {
  const auto words = KindNames(true);
  return Join({words.begin(), words.end()}, ", ");
}

Result<std::vector<const ProbeArm*>> KindsOf(std::string_view word) {
  std::vector<const ProbeArm*> kinds;
  for (const ProbeArm* const arm : ProbeArms()) {
    const v1::ProbeKindOptions& options = OptionsOf(*arm);
    if (arm->name() == word || options.word() == word ||
        (word == kKindFallback && options.is_default()))
      kinds.push_back(arm);
  }
  if (!kinds.empty()) return kinds;
  return Status(Code::kInvalidArgument,
                UnknownName("kind", word, KindNames(true), "; expected one of " + AllKinds()));
}

Status ReadPairs(const Arguments& arguments, v1::CampaignSpec& spec) {
  std::string word = arguments.Text("pattern");
  spec.set_degree(arguments.Number("degree"));
  if (spec.preset() != v1::CAMPAIGN_PRESET_UNSPECIFIED && !arguments.Given("pattern")) {
    RETURN_IF_ERROR(ApplyPreset(spec));
    word = PatternName(spec.pattern());
  }
  // These kinds have only this pattern.
  if (word == kPatternOption.fallback && spec.probes_size() == 1 &&
      ProbeOptionsOf(spec.probes(0)).incast())
    word = PatternName(v1::CAMPAIGN_PATTERN_INCAST);
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

Result<v1::TrafficClassChoice> ReadClass(const Arguments& arguments) {
  constexpr std::uint32_t kEct0 = 2;  // The packets can be marked by ECN, as those of jobs.
  v1::TrafficClassChoice choice;
  if (arguments.Has("dscp") && arguments.Has("traffic-class"))
    return Status(Code::kInvalidArgument, "--dscp and --traffic-class exclude each other");
  if (arguments.Has("dscp")) {
    const std::uint32_t dscp = arguments.Number("dscp");
    choice.set_traffic_class(dscp == 0 ? 0 : dscp << 2 | kEct0);
  }
  if (arguments.Has("traffic-class")) choice.set_traffic_class(arguments.Number("traffic-class"));
  if (arguments.Has("gid-index")) choice.set_gid_index(arguments.Number("gid-index"));
  if (arguments.Has("service-level")) choice.set_service_level(arguments.Number("service-level"));
  choice.set_compare_default(arguments.Bool("compare-default"));
  if (!arguments.Has("pkey")) return choice;
  const std::string text = arguments.Text("pkey");
  const bool hex = text.starts_with("0x");
  const auto pkey = ParseNumber<std::uint32_t>(text.substr(hex ? 2 : 0), hex ? 16 : 10);
  if (!pkey.ok() || (*pkey & 0x7fff) == 0 || *pkey > 0xffff)
    return Status(Code::kInvalidArgument,
                  Format("--pkey: expected a P_Key from 0x1 to 0x7fff, saw {}", Quoted(text)));
  choice.set_pkey(*pkey & 0x7fff);
  return choice;
}

namespace {

Status ReadKinds(const Arguments& arguments, v1::CampaignSpec& spec) {
  if (arguments.Has("preset")) {
    ASSIGN_OR_RETURN(const v1::CampaignPreset preset, FindProbePreset(arguments.Text("preset")));
    spec.set_preset(preset);
  }
  if (arguments.Has("preset") && !arguments.Given("kind")) {
    v1::CampaignSpec filled;
    filled.set_preset(spec.preset());
    RETURN_IF_ERROR(ApplyPreset(filled));
    spec.mutable_probes()->Swap(filled.mutable_probes());
    return {};
  }
  // The default of this pattern
  std::vector<std::string> words = arguments.Words("kind");
  if (arguments.Text("pattern") == PatternName(v1::CAMPAIGN_PATTERN_INCAST) &&
      arguments.Text("kind") == kKindFallback)
    words = IncastKinds();
  for (const std::string& word : words) {
    ASSIGN_OR_RETURN(const auto kinds, KindsOf(word));
    for (const ProbeArm* const kind : kinds) SetProbeKind(*kind, *spec.add_probes());
  }
  return {};
}

}  // namespace

Status ReadProbes(const Arguments& arguments, v1::CampaignSpec& spec) {
  RETURN_IF_ERROR(ReadKinds(arguments, spec));
  RETURN_IF_ERROR(SetFields(arguments, spec));
  SetSettings(arguments, spec);
  ASSIGN_OR_RETURN(*spec.mutable_class_choice(), ReadClass(arguments));
  const v1::TrafficClassChoice choice = spec.class_choice();  // It can be cleared below.
  if (choice.ByteSizeLong() == 0) spec.clear_class_choice();
  // For controllers that do not know class_choice.
  for (v1::ProbeSpec& probe : *spec.mutable_probes()) {
    if (!choice.compare_default()) probe.set_traffic_class(choice.traffic_class());
    if (choice.has_gid_index()) probe.mutable_queue_pair()->set_gid_index(choice.gid_index());
    if (choice.has_service_level())
      probe.mutable_queue_pair()->set_service_level(choice.service_level());
  }
  return {};
}

}  // namespace fabric::ctl
