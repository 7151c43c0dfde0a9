// One turn of a list method: a part of a page, short enough to run under the controller's lock. The
// controller takes turns until the page is full (Controller::Call).
//
// A page continues after the key of the last element of the page before. Keys order the list; they
// stay valid when other elements come and go.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "daemon/control/listing/filter.h"
#include "proto/field_mask.h"

namespace fabric::control {

inline constexpr std::uint32_t kPageSizeDefault = 1'000;
inline constexpr std::uint32_t kPageSizeMax = 10'000;
inline constexpr std::size_t kPageBytesMax = 4 << 20;
inline constexpr std::uint32_t kTurnElementsMax = 1'000;  // Looked at in one turn

// Elements that a request wants on one page. Clamped to kPageSizeMax.
std::uint32_t PageSizeOf(const google::protobuf::Message& request);

class ListTurn {
 public:
  // Of a request with page_size, page_token and optionally filter and fields, for elements of this
  // type. INVALID_ARGUMENT for an invalid filter or mask, and for a token of another request.
  static Result<ListTurn> Start(const google::protobuf::Message& request,
                                const google::protobuf::Descriptor& element, Moment now);

  // The turn begins behind this key. Empty: at the start.
  const std::string& after() const { return key_; }
  bool filtered() const { return filtered_; }

  // False when the turn must end.
  bool HasRoom() const {
    return kept_ < size_ && looked_at_ < kTurnElementsMax && bytes_ < kPageBytesMax;
  }

  // Adds the element, unless the filter leaves it out. `key` is larger than all earlier ones.
  template <class Element, class List>
  void Offer(std::string key, Element element, List& list) {
    key_ = std::move(key);
    ++looked_at_;
    if (!filter_.Matches(element)) return;
    mask_.Apply(element);
    bytes_ += element.ByteSizeLong();
    ++kept_;
    *list.Add() = std::move(element);
  }
  // An element that costs more than others counts as several.
  void AddCost(std::uint32_t elements) { looked_at_ += elements; }

  // Sets the token of the response. `done`: there are no elements behind the last one offered.
  template <class Response>
  void Finish(bool done, Response& response) const {
    if (!done) response.set_next_page_token(Token());
  }

 private:
  ListTurn(std::uint64_t fingerprint, Filter filter, FieldMask mask)
      : fingerprint_(fingerprint), filter_(std::move(filter)), mask_(std::move(mask)) {}
  std::string Token() const;

  std::uint64_t fingerprint_;  // Of the request without page_size and page_token
  Filter filter_;
  FieldMask mask_;
  bool filtered_ = false;
  std::uint32_t size_ = 0;
  std::string key_;
  std::uint32_t kept_ = 0;
  std::uint32_t looked_at_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace fabric::control
