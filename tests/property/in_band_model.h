// SPDX-License-Identifier: Apache-2.0
// The in-band protocols without workers: each stage with a queue in each direction, served in
// random order and in bursts of random size, which is all that threads could do to them.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "dataplane/programs/input_nodes.h"
#include "dataplane/programs/stage_nodes.h"
#include "topologies/network.h"
#include "topologies/switch_settings.h"

namespace bfly::dataplane {

inline uint64_t NoTime() { return 1; }

class InBandModel {
 public:
  InBandModel(const Network& network, uint32_t seed, const LinkCapacity& capacity = {})
      : network_(network),
        disks_(network.rows()),
        inputs_(&NoTime),
        outputs_(&NoTime, 4 * size_t{network.rows()} + 2, IsDataServer() ? &disks_ : nullptr),
        forward_(network.hops() + 1),
        backward_(network.hops() + 1),
        random_(seed) {
    if (!IsDataServer()) candidates_.emplace(*SwitchSettings::Make(network));
    const int first = IsDataServer() ? 0 : candidates_->first_collision_hop();
    for (int s = 0; s < network.stages(); ++s) {
      stages_.push_back(std::make_unique<StageNodes>(
          network, s, s >= first && s < first + network.dimension(), capacity));
    }
  }

  void SetLinkUp(LinkId link, bool up) {
    stages_[link.stage]->SetLinkUp(link.row * 2 + static_cast<uint32_t>(link.port), up);
  }

  // Of a two-fold butterfly.
  const CandidatePaths& candidates() const { return *candidates_; }

  void Run(Program& program) {
    inputs_.Start(&program);
    for (uint64_t turn = 0; turn < 100'000'000; ++turn) {
      if (inputs_.TakeFinished() != nullptr) {
        EXPECT_EQ(inputs_.sent(), inputs_.returned());
        for (const auto& queue : forward_) EXPECT_TRUE(queue.empty());
        for (const auto& queue : backward_) EXPECT_TRUE(queue.empty());
        return;
      }
      Turn();
    }
    ADD_FAILURE() << "the program does not end";
  }

  // Circuits that end at each disk of a data server.
  std::vector<uint32_t> at_disks() const {
    std::vector<uint32_t> all;
    for (Row disk = 0; disk < network_.rows(); ++disk) all.push_back(disks_.circuits(disk));
    return all;
  }
  // Circuits on every link, by index.
  std::vector<uint32_t> circuits() const {
    std::vector<uint32_t> all;
    for (const auto& stage : stages_) {
      for (uint32_t l = 0; l < stage->links(); ++l) all.push_back(stage->circuits(l));
    }
    return all;
  }

 private:
  using Queue = std::deque<Message>;

  bool IsDataServer() const { return network_.kind() == NetworkKind::kRandomlyWiredButterfly; }

  // One burst somewhere: place 0 is the inputs, place k stage k - 1, the last one the outputs.
  void Turn() {
    const uint32_t places = static_cast<uint32_t>(network_.hops()) + 2;
    const uint32_t place = static_cast<uint32_t>(random_() % places);
    const int size = static_cast<int>(random_() % kMessageBurst) + 1;
    Message burst[kMessageBurst];
    if (place == 0) {
      inputs_.Return(burst, Pop(backward_[0], burst, size));
      Push(forward_[0], burst, inputs_.Emit(burst, size));
    } else if (place == places - 1) {
      outputs_.Take(burst, Pop(forward_.back(), burst, size));
      Push(backward_.back(), burst, outputs_.Emit(burst, size));
    } else {
      StageNodes& stage = *stages_[place - 1];
      int count = Pop(forward_[place - 1], burst, size);
      stage.Forward(burst, count);
      Push(forward_[place], burst, count);
      count = Pop(backward_[place], burst, size);
      stage.Backward(burst, count);
      Push(backward_[place - 1], burst, count);
    }
  }

  static int Pop(Queue& queue, Message* burst, int size) {
    int count = 0;
    for (; count < size && !queue.empty(); queue.pop_front()) burst[count++] = queue.front();
    return count;
  }
  static void Push(Queue& queue, const Message* burst, int count) {
    queue.insert(queue.end(), burst, burst + count);
  }

  const Network& network_;
  std::optional<CandidatePaths> candidates_;
  DiskNodes disks_;
  InputNodes inputs_;
  OutputNodes outputs_;
  std::vector<std::unique_ptr<StageNodes>> stages_;
  std::vector<Queue> forward_;   // forward_[k]: towards stage k, the last one towards the outputs
  std::vector<Queue> backward_;  // backward_[k]: out of stage k backwards
  std::mt19937 random_;
};

}  // namespace bfly::dataplane
