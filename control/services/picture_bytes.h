// SPDX-License-Identifier: Apache-2.0
// Pictures as the bytes that subscribers get. They are made once for all who want the same.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "control/controller/resources.h"
#include "control/services/counter_poll.h"

namespace bfly::control {

// One message without `skipped`, which differs for each subscriber. It takes its size of
// picture_bytes.
class PictureMessage {
 public:
  PictureMessage(const v1::Counters& counters, grpc::ByteBuffer bytes, Resource& picture_bytes);
  ~PictureMessage() { picture_bytes_.Give(bytes_.Length()); }
  PictureMessage(const PictureMessage&) = delete;
  PictureMessage& operator=(const PictureMessage&) = delete;

  bool has_links() const { return has_links_; }
  // The message without what always differs: two that are equal here tell the same, links apart.
  const std::shared_ptr<const std::string>& bare() const { return bare_; }
  grpc::ByteBuffer WithSkipped(uint64_t skipped) const;

 private:
  grpc::ByteBuffer bytes_;
  const bool has_links_;
  std::shared_ptr<const std::string> bare_;
  Resource& picture_bytes_;
};

// Thread-safe.
class PictureBytes {
 public:
  explicit PictureBytes(Resource& picture_bytes) : picture_bytes_(picture_bytes) {}

  // Returns the message that ToCounters makes. Null: messages that clients have not read yet take
  // all the memory there is for messages.
  std::shared_ptr<const PictureMessage> Make(const PicturePtr& now, const PicturePtr& before,
                                             const v1::CounterFilter& filter, bool changed_only);

 private:
  // What messages of the newest picture differ by: the picture before, changed_only, and the
  // filter.
  using Kind = std::tuple<uint64_t, bool, std::string>;

  Resource& picture_bytes_;
  std::mutex mutex_;
  uint64_t sequence_ = 0;                                     // mutex_: of the newest picture
  std::map<Kind, std::weak_ptr<const PictureMessage>> made_;  // mutex_
};

}  // namespace bfly::control
