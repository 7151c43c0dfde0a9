// One turn of a list method: a part of a page. The handler collects elements under the controller's
// lock; the filter and the mask are applied later, without it. The controller takes turns until
// the page is full (Controller::Call).
//
// A page continues after the key of the last element of the page before. Keys order the list; they
// stay valid when other elements come and go.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  const std::string& after() const { return after_; }
  bool filtered() const { return filtered_; }

  // False when the turn must end.
  bool HasRoom() const {
    return keys_.size() < most_ && looked_at_ < kTurnElementsMax && bytes_ < kPageBytesMax;
  }

  // Adds the element to the part. `key` is larger than all earlier ones.
  template <class Element, class List>
  void Offer(std::string key, Element element, List& list) {
    keys_.push_back(std::move(key));
    ++looked_at_;
    bytes_ += element.ByteSizeLong();
    *list.Add() = std::move(element);
  }
  // Leaves out the element with this key.
  void Skip(std::string key) {
    skipped_ = std::move(key);
    skipped_at_ = keys_.size();
    ++looked_at_;
  }
  // An element that costs more than others counts as several.
  void AddCost(std::uint32_t elements) { looked_at_ += elements; }
  // `done`: there are no elements behind the last one.
  void End(bool done) { done_ = done; }

  // Without a lock: removes the elements that the filter leaves out and those beyond the page,
  // clears the fields that the mask leaves out, and sets the token. The list has the
  // elements of Start().
  void Finish(google::protobuf::Message& response) const;

 private:
  ListTurn(std::uint64_t fingerprint, Filter filter, FieldMask mask)
      : fingerprint_(fingerprint), filter_(std::move(filter)), mask_(std::move(mask)) {}
  std::string Token(std::string_view key) const;

  std::uint64_t fingerprint_;  // Of the request without page_size and page_token
  Filter filter_;
  FieldMask mask_;
  const google::protobuf::Descriptor* element_ = nullptr;
  bool filtered_ = false;
  std::uint32_t size_ = 0;  // Of the page
  std::uint32_t most_ = 0;  // Elements that this turn collects
  std::string after_;
  std::vector<std::string> keys_;  // Of the collected elements
  std::string skipped_;            // The last one, empty: none
  std::size_t skipped_at_ = 0;     // Number of keys before it
  std::uint32_t looked_at_ = 0;
  std::size_t bytes_ = 0;
  bool done_ = false;
};

}  // namespace fabric::control
