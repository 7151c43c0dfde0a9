#include "daemon/explain/origin.h"

#include <re2/re2.h>

#include <array>
#include <string>

#include "base/text.h"

namespace fabric::explain {
namespace {

// Prefixes are at the start of a line; the rest is the message.
constexpr std::size_t kPrefixBytesMax = 256;

constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

re2::StringPiece ToPiece(std::string_view text) {
  return {text.data(), text.size()};
}

std::string_view View(const re2::StringPiece& piece) {
  return {piece.data(), piece.size()};
}

double NumberOf(std::string_view digits) {
  const auto number = ParseNumber<std::uint32_t>(digits);
  return number.ok() ? *number : 0;
}

// Months have 31 days here: only the order matters.
double CalendarSeconds(double month, double day, std::string_view clock) {
  return ((month * 31 + day) * 24 + NumberOf(clock.substr(0, 2))) * 3600 +
         NumberOf(clock.substr(3, 2)) * 60 + NumberOf(clock.substr(6, 2));
}

double Fraction(std::string_view digits) {
  double value = 0;
  double unit = 0.1;
  for (const char digit : digits.substr(0, 9)) {
    value += (digit - '0') * unit;
    unit /= 10;
  }
  return value;
}

bool AreDigits(std::string_view text, std::size_t from, std::size_t count) {
  return from + count <= text.size() &&
         text.substr(from, count).find_first_not_of("0123456789") == std::string_view::npos;
}

// "12:34:56"; without a time there is no date.
bool HasClock(std::string_view text) {
  for (std::size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1))
    if (at >= 2 && AreDigits(text, at - 2, 2) && AreDigits(text, at + 1, 2) &&
        text.substr(at + 3).starts_with(':') && AreDigits(text, at + 4, 2))
      return true;
  return false;
}

// ".123456]"
bool HasMicroseconds(std::string_view text) {
  for (std::size_t at = text.find(']'); at != std::string_view::npos; at = text.find(']', at + 1))
    if (at >= 7 && text[at - 7] == '.' && AreDigits(text, at - 6, 6)) return true;
  return false;
}

}  // namespace

struct OriginReader::Patterns {
  // A host name has a letter, unlike a time.
  RE2 nccl{R"(([\w.-]*[A-Za-z][\w.-]*):(\d+)(?::\d+)? \[\d+\] )"};
  RE2 ucx{R"(\[([\w.-]*[A-Za-z][\w.-]*):(\d+):\w+(?::\w+)?\])"};
  RE2 pid_equals{R"(\[([\w.-]*[A-Za-z][\w.-]*):pid=(\d+)\])"};
  RE2 kernel{R"((?:^|\s)([\w.-]+) kernel:)"};
  RE2 pod{R"(^\[pod/([\w.-]+))"};
  RE2 pdsh{R"(^([a-z][a-z0-9.-]*\d[a-z0-9.-]*): )"};
  RE2 rank{R"(\[[Rr]ank ?(\d+)\])"};
  RE2 rank_srun{R"(^ *(\d+): )"};
  RE2 rank_mpirun{R"(^\[\d+,(\d+)\]<std)"};
  RE2 rank_of{R"(^\[(\d+)/\d+\])"};
  RE2 iso{R"((\d{4}-(\d\d)-(\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d+))?))"};
  RE2 epoch{R"(\[((\d{9,10})\.(\d{6}))\])"};
  RE2 glog{R"([EWIF]((\d\d)(\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?))"};
  RE2 syslog{R"((([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d)))"};
  RE2 uptime{R"(\[ *((\d+)\.(\d{6}))\])"};

  // A plain search first: much faster than a failing pattern.
  void Who(const re2::StringPiece& line, Origin& origin) const {
    const std::string_view text = View(line);
    re2::StringPiece host;
    re2::StringPiece process;
    for (const RE2* pattern : {&nccl, &ucx, &pid_equals})
      if (RE2::PartialMatch(line, *pattern, &host, &process)) break;
    if (host.empty() && text.find(" kernel:") != std::string_view::npos)
      RE2::PartialMatch(line, kernel, &host);
    if (host.empty() && !RE2::PartialMatch(line, pod, &host)) RE2::PartialMatch(line, pdsh, &host);
    origin.host = View(host);
    origin.pid = View(process);
    std::uint32_t number = 0;
    const bool named = text.find("[rank") != std::string_view::npos ||
                       text.find("[Rank") != std::string_view::npos;
    if ((named && RE2::PartialMatch(line, rank, &number)) ||
        RE2::PartialMatch(line, rank_srun, &number) ||
        RE2::PartialMatch(line, rank_mpirun, &number) || RE2::PartialMatch(line, rank_of, &number))
      origin.rank = number;
  }

  bool Calendar(const re2::StringPiece& line, Origin& origin) const {
    re2::StringPiece text;
    re2::StringPiece month;
    re2::StringPiece day;
    re2::StringPiece clock;
    re2::StringPiece fraction;
    double month_number = 0;
    if (!HasClock(View(line))) return false;
    if (RE2::PartialMatch(line, iso, &text, &month, &day, &clock, &fraction) ||
        RE2::PartialMatch(line, glog, &text, &month, &day, &clock, &fraction)) {
      month_number = NumberOf(View(month));
    } else if (RE2::PartialMatch(line, syslog, &text, &month, &day, &clock)) {
      while (month_number < kMonths.size() &&
             View(month) != kMonths[static_cast<std::size_t>(month_number)])
        ++month_number;
      if (month_number == kMonths.size()) return false;
      ++month_number;
    } else {
      return false;
    }
    origin.time_text = View(text);
    origin.time = {.scale = LogTime::Scale::kCalendar,
                   .seconds = CalendarSeconds(month_number, NumberOf(View(day)), View(clock)) +
                              Fraction(View(fraction))};
    return true;
  }

  void When(const re2::StringPiece& line, Origin& origin) const {
    if (Calendar(line, origin) || !HasMicroseconds(View(line))) return;
    re2::StringPiece text;
    re2::StringPiece whole;
    re2::StringPiece fraction;
    LogTime::Scale scale = LogTime::Scale::kEpoch;
    if (!RE2::PartialMatch(line, epoch, &text, &whole, &fraction)) {
      if (!RE2::PartialMatch(line, uptime, &text, &whole, &fraction)) return;
      scale = LogTime::Scale::kUptime;
    }
    origin.time_text = View(text);
    origin.time = {.scale = scale, .seconds = NumberOf(View(whole)) + Fraction(View(fraction))};
  }
};

OriginReader::OriginReader() : patterns_(std::make_unique<const Patterns>()) {}
OriginReader::~OriginReader() = default;

Origin OriginReader::Read(std::string_view line) const {
  const re2::StringPiece prefix = ToPiece(line.substr(0, kPrefixBytesMax));
  Origin origin;
  patterns_->Who(prefix, origin);
  patterns_->When(prefix, origin);
  return origin;
}

}  // namespace fabric::explain
