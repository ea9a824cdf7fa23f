// SPDX-License-Identifier: Apache-2.0
#include "control/services/picture_bytes.h"

#include <grpcpp/grpcpp.h>

#include <vector>

#include "control/server/message_bytes.h"

namespace bfly::control {

PictureMessage::PictureMessage(const v1::Counters& counters, grpc::ByteBuffer bytes,
                               Resource& picture_bytes)
    : bytes_(std::move(bytes)),
      has_links_(counters.links_size() > 0),
      bare_(std::make_shared<const std::string>(BareText(counters))),
      picture_bytes_(picture_bytes) {}

grpc::ByteBuffer PictureMessage::WithSkipped(uint64_t skipped) const {
  if (skipped == 0) return bytes_;
  // Messages one after the other are one message.
  v1::Counters rest;
  rest.set_skipped(skipped);
  std::vector<grpc::Slice> slices;
  bytes_.Dump(&slices);
  slices.emplace_back(rest.SerializeAsString());
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::shared_ptr<const PictureMessage> PictureBytes::Make(const PicturePtr& now,
                                                         const PicturePtr& before,
                                                         const v1::CounterFilter& filter,
                                                         bool changed_only) {
  const std::lock_guard lock(mutex_);
  if (sequence_ != now->sequence) made_.clear();
  sequence_ = now->sequence;
  // If none of these is set, the picture before does not matter.
  const bool compares = before != nullptr && (changed_only || filter.top() != 0);
  const Kind kind(compares ? before->sequence : 0, changed_only, filter.SerializeAsString());
  std::weak_ptr<const PictureMessage>& known = made_[kind];
  if (auto made = known.lock()) return made;
  const v1::Counters counters =
      ToCounters(*now, compares ? before.get() : nullptr, filter, changed_only);
  if (!picture_bytes_.Take(counters.ByteSizeLong())) return nullptr;
  auto made = std::make_shared<const PictureMessage>(counters, Serialize(counters), picture_bytes_);
  known = made;
  return made;
}

}  // namespace bfly::control
