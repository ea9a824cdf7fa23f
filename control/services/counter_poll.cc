// SPDX-License-Identifier: Apache-2.0
#include "control/services/counter_poll.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "control/controller/agent_answers.h"

namespace bfly::control {
namespace {

// How many pictures slow listeners may hold, all together.
constexpr size_t kMaxAlive = 12;
// How many links a network may have for pictures of it. One link takes some 50 bytes of each
// picture that is alive.
constexpr uint64_t kMostLinks = 1 << 20;
// How long a poll takes that nobody asked for. Calls wait for it.
constexpr std::chrono::milliseconds kIdlePollTime{500};

}  // namespace

CounterPoll::CounterPoll(Controller& controller, Options options)
    : controller_(controller), options_(std::move(options)) {
  thread_ = std::thread([this] { Run(); });
}

CounterPoll::~CounterPoll() {
  {
    const std::lock_guard lock(listeners_mutex_);
    stopping_ = true;
  }
  listeners_changed_.notify_all();
  thread_.join();
}

absl::StatusOr<PicturePtr> CounterPoll::Now(bool links, Deadline deadline) {
  const Clock::time_point asked = Clock::now();
  std::unique_lock lock(poll_lock_, std::defer_lock);
  if (!lock.try_lock_until(deadline)) {
    return absl::DeadlineExceededError(
        "counters were read for other calls until the deadline of this one");
  }
  if (latest_ != nullptr && latest_began_ >= asked && (latest_->with_links || !links)) {
    return latest_;
  }
  return Poll(links, deadline);
}

absl::StatusOr<PicturePtr> CounterPoll::Poll(bool links, Deadline deadline) {
  const Clock::time_point began = Clock::now();
  absl::StatusOr<Controller::View> view = controller_.view(/*circuits=*/false);
  if (view.ok() && links && view->network->link_count() > kMostLinks) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the network has ", view->network->link_count(), " links, pictures are taken of at most ",
        kMostLinks, "; subscribe with filter.summary and read links with GetCounters"));
  }
  if (view.ok() && links) view = controller_.view(/*circuits=*/true);
  if (!view.ok()) {
    latest_ = nullptr;
    return view.status();
  }
  if (last_network_ != view->network || last_restores_ != view->restores) {
    last_parts_.clear();
    account_ = FabricAccount();
    last_network_ = view->network;
    last_restores_ = view->restores;
  }

  auto picture = std::make_shared<Picture>();
  picture->sequence = ++sequence_;
  picture->with_links = links;
  picture->network = view->network;
  picture->circuits = view->circuits;
  picture->capacity = view->capacity;
  v1::CircuitCounters& circuits = picture->circuit_counters;
  circuits.set_standing(view->standing);
  circuits.set_broken(view->broken);
  circuits.set_asked(view->blocking.asked);
  circuits.set_blocked(view->blocking.blocked);
  if (view->blocking.asked != 0) {
    circuits.set_blocking_ratio(static_cast<double>(view->blocking.blocked) /
                                static_cast<double>(view->blocking.asked));
  }
  // Receivers are asked before senders: a packet that a receiver has taken was put on the trunk
  // before.
  bool was_hurried = false;
  size_t left = view->planes.size();
  for (auto it = view->planes.rbegin(); it != view->planes.rend(); ++it) {
    DataPlane& plane = **it;
    const Clock::time_point asked = Clock::now();
    const Deadline until = ShareOf(deadline, left--);
    const absl::Status has_counts = plane.CheckCounts();
    absl::StatusOr<v1::AgentCounters> counters =
        has_counts.ok() ? plane.client().GetCounters(links, until) : has_counts;
    if (counters.ok()) {
      const absl::Status status = CheckAnswer(*counters, *view->network);
      if (!status.ok()) {
        picture->nonsense[plane.name()] = std::string(status.message());
        counters = status;
      }
    }
    if (counters.ok()) {
      picture->parts.push_back({plane.name(), *std::move(counters), asked});
      last_parts_[&plane] = picture->parts.back();
      continue;
    }
    was_hurried |= IsOver(until);
    const auto known = last_parts_.find(&plane);
    const bool have = known != last_parts_.end();
    picture->problems.push_back(
        absl::StrCat("data plane ", plane.name(), ": ", counters.status().message(),
                     have ? "; its last figures are used" : "; its figures are missing",
                     have && links ? ", and its links are missing" : ""));
    picture->planes_missing.push_back(plane.name());
    if (!have) continue;
    picture->parts.push_back(known->second);
    picture->parts.back().stands_in = true;
  }
  std::reverse(picture->parts.begin(), picture->parts.end());
  account_.Take(*picture);
  picture->taken = Clock::now();
  picture->time_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                         options_.time_of_day().time_since_epoch())
                         .count();
  // Whoever waits with more time gets a picture of its own.
  latest_ = was_hurried ? nullptr : picture;
  latest_began_ = began;
  return picture;
}

absl::StatusOr<v1::UnloadResponse> CounterPoll::Unload(uint64_t election_id, Deadline deadline) {
  // Nobody else may poll meanwhile, because the next fabric has an account of its own.
  std::unique_lock lock(poll_lock_, std::defer_lock);
  if (!lock.try_lock_until(deadline)) {
    return absl::DeadlineExceededError(
        "counters were read for other calls until the deadline of this one; nothing was changed");
  }
  // This is the last look at data planes that then cannot be unloaded. Half of the time is left for
  // unloading the others.
  Poll(/*links=*/false, ShareOf(deadline, 2)).status().IgnoreError();
  if (absl::Status status = CheckTime(deadline); !status.ok()) return status;
  const auto last = controller_.loader().Unload(election_id, deadline);
  if (!last.ok()) return last.status();
  latest_ = nullptr;
  std::vector<FabricAccount::FinalCounters> final_counters;
  v1::UnloadResponse response;
  for (const LastFigures& figures : *last) {
    final_counters.push_back(
        {.data_plane = figures.data_plane, .counters = figures.counters, .read = Clock::now()});
    if (figures.counters.ok()) response.mutable_workers()->MergeFrom(figures.counters->workers());
  }
  *response.mutable_conservation() = account_.Close(final_counters);
  for (std::string& unknown : account_.Unknown()) response.add_unknown(std::move(unknown));
  if (auto kept = controller_.keeper().kept()) *response.mutable_kept() = *std::move(kept);
  response.set_keeping_problem(controller_.keeper().problem());
  return response;
}

void CounterPoll::Subscribe(PictureListener* listener, std::chrono::milliseconds interval) {
  const std::lock_guard lock(listeners_mutex_);
  listeners_[listener] = interval;
  new_listener_ = true;
  listeners_changed_.notify_all();
}

void CounterPoll::Unsubscribe(PictureListener* listener) {
  const std::lock_guard lock(listeners_mutex_);
  listeners_.erase(listener);
}

void CounterPoll::Prune(const PicturePtr& picture) {
  told_.push_back(picture);
  std::erase_if(told_, [](const auto& told) { return told.expired(); });
  if (told_.size() <= kMaxAlive) return;
  if (const PicturePtr oldest_kept = told_[told_.size() - kMaxAlive].lock()) {
    for (const auto& [listener, wanted] : listeners_) listener->ForgetBefore(oldest_kept->sequence);
  }
}

void CounterPoll::Run() {
  Clock::time_point due = Clock::now();
  std::unique_lock lock(listeners_mutex_);
  while (!stopping_) {
    if (listeners_.empty()) {
      const bool changed = listeners_changed_.wait_for(
          lock, options_.idle_interval, [this] { return stopping_ || !listeners_.empty(); });
      due = Clock::now();
      if (changed) continue;
      lock.unlock();
      Now(/*links=*/false, Clock::now() + kIdlePollTime).status().IgnoreError();
      lock.lock();
      continue;
    }
    if (Clock::now() < due && !new_listener_) {
      listeners_changed_.wait_until(lock, due);
      continue;
    }
    new_listener_ = false;
    const bool links = std::any_of(listeners_.begin(), listeners_.end(), [](const auto& listener) {
      return listener.first->wants_links();
    });
    lock.unlock();
    absl::StatusOr<PicturePtr> picture = Now(links);
    absl::Status without_links;
    if (absl::IsResourceExhausted(picture.status())) {
      without_links = picture.status();
      picture = Now(/*links=*/false);
    }
    {
      const std::lock_guard newest(newest_mutex_);
      newest_ = picture.ok() ? *picture : nullptr;
    }
    lock.lock();
    if (picture.ok()) Prune(*picture);
    std::chrono::milliseconds interval = std::chrono::milliseconds::max();
    for (const auto& [listener, wanted] : listeners_) {
      interval = std::min(interval, wanted);
      if (listener->wants_links() && !without_links.ok()) {
        listener->OnEnd(without_links);
      } else if (picture.ok()) {
        if (listener->wants_links() && !(*picture)->with_links) continue;  // it came meanwhile
        listener->OnPicture(*picture);
      } else {
        listener->OnEnd(picture.status());
      }
    }
    // After a poll that took longer than the interval, missed polls are not made up.
    due = std::max(due + (listeners_.empty() ? std::chrono::milliseconds(0) : interval),
                   Clock::now());
  }
}

}  // namespace bfly::control
