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
#include "control/intent/request_digest.h"

namespace bfly::control {

inline absl::Status UsedForAnotherRequest() {
  return absl::InvalidArgumentError(
      "idempotency_key: was used for a different request before; "
      "use a new key, or the same request");
}

// Only answers of requests that were done are kept: a request that was refused changed nothing and
// may be sent again with its key. When there are more than `capacity` keys, or when they hold more
// than `max_bytes`, the oldest keys go. The newest key always stays.
template <class Answer>
class IdempotencyKeys {
 public:
  IdempotencyKeys(size_t capacity, size_t max_bytes) : capacity_(capacity), max_bytes_(max_bytes) {}

  // Returns null if the key is new. INVALID_ARGUMENT: the key was used for another request.
  // `request` is the request as text or bytes, without what may differ when it is sent again.
  absl::StatusOr<std::shared_ptr<const Answer>> Find(const std::string& key,
                                                     absl::string_view request) const {
    const auto it = entries_.find(key);
    if (it == entries_.end()) return std::shared_ptr<const Answer>();
    if (it->second.request != DigestOf(request)) return UsedForAnotherRequest();
    return it->second.answer;
  }

  // The answer holds about `answer_bytes`.
  void Put(const std::string& key, absl::string_view request, Answer answer, size_t answer_bytes) {
    Put(key, request, std::make_shared<const Answer>(std::move(answer)), answer_bytes);
  }
  void Put(const std::string& key, absl::string_view request, std::shared_ptr<const Answer> answer,
           size_t answer_bytes) {
    Entry entry{DigestOf(request), std::move(answer), 0};
    entry.bytes = 2 * key.size() + entry.request.size() + answer_bytes;
    bytes_ += entry.bytes;
    entries_[key] = std::move(entry);
    order_.push_back(key);
    while (order_.size() > capacity_ || (bytes_ > max_bytes_ && order_.size() > 1)) {
      Forget(order_.front());
      order_.pop_front();
    }
  }

  // Returns how many keys were put and not forgotten.
  size_t size() const { return order_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string request;
    std::shared_ptr<const Answer> answer;
    size_t bytes;
  };

  void Forget(const std::string& key) {
    const auto it = entries_.find(key);
    bytes_ -= it->second.bytes;
    entries_.erase(it);
  }

  const size_t capacity_;
  const size_t max_bytes_;
  size_t bytes_ = 0;
  std::unordered_map<std::string, Entry> entries_;
  std::deque<std::string> order_;  // oldest first
};

}  // namespace bfly::control
