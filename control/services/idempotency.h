// SPDX-License-Identifier: Apache-2.0
// Answers by idempotency key: the same key with the same request gets the same answer again.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bfly::control {

// Only answers of requests that were done are kept: one that was refused changed nothing and may be
// sent again with its key. The oldest keys go when there are more than `capacity`.
template <class Answer>
class IdempotencyKeys {
 public:
  explicit IdempotencyKeys(size_t capacity) : capacity_(capacity) {}

  // Null: the key is new. INVALID_ARGUMENT: it was used for another request. `request` is the
  // request as text or bytes, without what may differ when it is sent again.
  absl::StatusOr<std::shared_ptr<const Answer>> Find(const std::string& key,
                                                     absl::string_view request) const {
    const auto it = entries_.find(key);
    if (it == entries_.end()) return std::shared_ptr<const Answer>();
    if (it->second.request != request) {
      return absl::InvalidArgumentError(
          "idempotency_key: was used for a different request before; "
          "use a new key, or the same request");
    }
    return it->second.answer;
  }

  void Put(const std::string& key, absl::string_view request, Answer answer) {
    entries_[key] = {std::string(request), std::make_shared<const Answer>(std::move(answer))};
    order_.push_back(key);
    if (order_.size() <= capacity_) return;
    entries_.erase(order_.front());
    order_.pop_front();
  }

  // Keys put so far and not forgotten; RemoveNewest undoes Put while fewer than `capacity` came
  // since.
  void RemoveNewest() {
    entries_.erase(order_.back());
    order_.pop_back();
  }

 private:
  struct Entry {
    std::string request;
    std::shared_ptr<const Answer> answer;
  };
  const size_t capacity_;
  std::unordered_map<std::string, Entry> entries_;
  std::deque<std::string> order_;  // oldest first
};

}  // namespace bfly::control
