// SPDX-License-Identifier: Apache-2.0
#include "control/controller/intent_keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How often the thread looks whether something was changed.
constexpr milliseconds kLook{100};
// How soon it looks again if something was not committed yet.
constexpr milliseconds kLookAgain{10};
// How long it waits after an error, such as a full disk.
constexpr milliseconds kAfterError{1'000};
// It rests this many times as long as it wrote, so that it takes at most a fifth of a CPU.
constexpr int kRest = 4;
// More set-ups than there can be between two writes of a store that works.
constexpr uint64_t kSetUpsAhead = 1 << 22;

}  // namespace

IntentKeeper::IntentKeeper(LoadedIntent& intent, Store& store, EventLog& events)
    : intent_(intent), store_(store), events_(events) {
  ReadNow().IgnoreError();
  intent_.WatchFromStart(&unwritten_);
  thread_ = std::thread([this] { Run(); });
}

IntentKeeper::~IntentKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  intent_.Unwatch(&unwritten_);
  const std::lock_guard writing(writing_);
  if (intent_.is_loaded()) {
    Write(Moment::kControllerEnds, /*surely=*/true);
  } else {
    WriteEnd();
  }
}

std::optional<v1::KeptIntent> IntentKeeper::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

std::string IntentKeeper::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

absl::StatusOr<std::optional<FabricRecord>> IntentKeeper::ReadRecord() {
  const auto kept = store_.Read();
  if (!kept.ok()) return kept.status();
  if (!kept->has_value() || (*kept)->state.empty()) return std::optional<FabricRecord>();
  absl::StatusOr<FabricRecord> record = ToRecord(**kept, store_.path());
  if (!record.ok()) return record.status();
  return std::optional(*std::move(record));
}

absl::Status IntentKeeper::ReadNow() {
  if (!is_unread()) return absl::OkStatus();
  const auto record = ReadRecord();
  Learn(record.status());
  if (!record.ok()) return record.status();
  unread_.store(false, std::memory_order_relaxed);
  if (!record->has_value()) return absl::OkStatus();
  intent_.SkipCircuitIds((*record)->state.last_circuit_id());
  if (!intent_.is_loaded()) SetKept(SummaryOf(**record, store_.path()));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<v1::KeptIntent>> IntentKeeper::RestoreInto(Intent& intent,
                                                                        uint64_t most_objects) {
  {
    const std::lock_guard writing(writing_);
    if (!WriteEnd()) {
      return ErrorAtField(
          absl::StatusCode::kFailedPrecondition, "resume",
          absl::StrCat(
              "the last fabric's intent is not written to the store yet (", problem(),
              "); repair the store, or load without resume and lose the unwritten changes"));
    }
  }
  const auto record = ReadRecord();
  if (!record.ok()) return record.status();
  if (!record->has_value()) return std::optional<v1::KeptIntent>();
  const absl::Status status = Restore(**record, store_.path(), most_objects, intent);
  if (!status.ok()) return status;
  return std::optional(SummaryOf(**record, store_.path()));
}

absl::StatusOr<std::optional<v1::AgentState>> IntentKeeper::LeftLoaded() {
  auto record = ReadRecord();
  if (!record.ok()) return record.status();
  if (!record->has_value() || !(*record)->state.loaded()) return std::optional<v1::AgentState>();
  return std::optional(std::move((*record)->state));
}

std::optional<v1::KeptIntent> IntentKeeper::Begin(std::unique_ptr<Intent> next) {
  const std::lock_guard writing(writing_);
  WriteEnd();
  std::optional<v1::KeptIntent> before;
  bool is_known = true;  // what the file holds
  if (intent_.is_loaded() && intent_.now().is_known()) {
    Write(Moment::kUnloaded, /*surely=*/true);
    is_known = !is_unread();
    before = SummaryOf(intent_.now(), store_.path());
    if (!IsWorthKeeping(intent_.now()) || store_.path().empty()) before.reset();
  } else {
    if (intent_.is_loaded()) EndKept().IgnoreError();
    // Somebody may have put back a file since the last fabric ended.
    const auto record = ReadRecord();
    is_known = record.ok();
    if (is_known && record->has_value()) {
      before = SummaryOf(**record, store_.path());
      intent_.SkipCircuitIds((*record)->state.last_circuit_id());
    }
  }
  next->state.SkipIds(intent_.last_circuit_id());
  if (!is_known) {
    next->state.SkipIds(next->state.last_id() + kSetUpsUnread * next->state.network().rows());
  }
  unread_.store(false, std::memory_order_relaxed);
  if (before.has_value() && !IsWorthKeeping(*before)) before.reset();
  const std::string state = StateOf(*next, /*loaded=*/true, kSetUpsAhead).SerializeAsString();
  const absl::Status begun =
      store_.Begin(NameForStore(next->topology), state, before.has_value() || !is_known);
  Learn(begun);
  if (!begun.ok()) before.reset();
  if (before.has_value()) before->set_path(store_.aside());
  written_state_.clear();
  intent_.Replace(std::move(next));
  SetKept(std::nullopt);
  return before;
}

void IntentKeeper::Resume(std::unique_ptr<Intent> next) {
  const std::lock_guard writing(writing_);
  Learn(store_.Open(NameForStore(next->topology)).status());
  unread_.store(false, std::memory_order_relaxed);
  intent_.Replace(std::move(next));
  intent_.ChangeAndTell([](const Intent& intent) {
    return CircuitChange{.install = intent.state.circuits(), .remove = {}};
  });
  SetKept(std::nullopt);
  Write(Moment::kRunning, /*surely=*/true);
}

void IntentKeeper::WriteNotWhole() {
  const std::lock_guard writing(writing_);
  const Intent& now = intent_.now();
  if (!now.circuits_known || now.whole_at == kNobody) return;
  intent_.Change([](Intent& intent) { intent.whole_at = kNobody; });
  Write(Moment::kRunning, /*surely=*/true);
}

void IntentKeeper::End() {
  const std::lock_guard writing(writing_);
  ReadNow().IgnoreError();
  const Intent& last = intent_.now();
  if (!last.circuits_known && last.whole_at.empty()) {
    ending_ = [this] { return EndKept(); };
  } else if (!last.is_known() || is_unread()) {
    ending_ = [this, name = NameForStore(last.topology), state = StateOf(last, /*loaded=*/false),
               circuits = unwritten_.Take()] { return EndUnread(name, state, circuits); };
  } else if (!IsWorthKeeping(last)) {
    ending_ = [this, name = NameForStore(last.topology)] { return store_.Begin(name); };
  } else {
    ending_ = [this, change = ChangeTo(StateOf(last, /*loaded=*/false), unwritten_.Take()),
               kept = SummaryOf(last, store_.path())] {
      absl::Status status = store_.Keep(change);
      if (status.ok() && !store_.path().empty()) SetKept(kept);
      return status;
    };
  }
  unread_.store(false, std::memory_order_relaxed);
  written_state_.clear();
  intent_.Replace(nullptr);
  written_ = intent_.changes();
  SetKept(std::nullopt);
  WriteEnd();
}

bool IntentKeeper::WriteEnd() {
  // Data planes that answer late may have brought another fabric.
  if (intent_.changes() != written_) ending_ = nullptr;
  if (ending_ == nullptr) return true;
  absl::Status status = ending_();
  // Nobody can complete what was in a file that is gone.
  if (status.ok() || absl::IsNotFound(status)) ending_ = nullptr;
  const bool written = ending_ == nullptr;
  // From now on the file can be copied, and another one put in its place.
  if (status.ok()) {
    status = store_.Close();
    if (!status.ok()) ending_ = [] { return absl::OkStatus(); };  // the next look closes it
  }
  Learn(status);
  return written;
}

absl::Status IntentKeeper::EndKept() {
  const auto record = ReadRecord();
  if (!record.ok() || !record->has_value()) return record.status();
  SetKept(SummaryOf(**record, store_.path()));
  v1::AgentState state = (*record)->state;
  state.set_loaded(false);
  state.clear_circuits();
  return store_.Keep({.state = state.SerializeAsString()});
}

absl::Status IntentKeeper::EndUnread(const std::string& name, v1::AgentState state,
                                     UnwrittenCircuits::Batch circuits) {
  const auto before = ReadRecord();
  if (!before.ok()) return before.status();
  if (before->has_value()) {
    state.set_last_circuit_id(
        std::max(state.last_circuit_id(), (*before)->state.last_circuit_id()));
    const auto reads = ReadsOf(**before);
    for (auto& [input, circuit] : circuits.circuits) {
      const auto read = reads.find(circuit.id);
      if (circuit.object == kUnknownObject && read != reads.end()) circuit.object = read->second;
    }
  }
  absl::Status status = store_.Open(name).status();
  if (status.ok()) status = store_.Keep(ChangeTo(state, circuits));
  if (!status.ok()) return status;
  const auto kept = ReadRecord();
  if (!kept.ok() || !kept->has_value()) return kept.status();
  const v1::KeptIntent summary = SummaryOf(**kept, store_.path());
  if (IsWorthKeeping(summary)) SetKept(summary);
  return absl::OkStatus();
}

void IntentKeeper::SetKept(std::optional<v1::KeptIntent> kept) {
  const std::lock_guard lock(mutex_);
  kept_ = std::move(kept);
}

bool IntentKeeper::Write(Moment moment, bool surely) {
  ending_ = nullptr;  // a fabric is loaded
  if (is_unread() && !(surely && ReadNow().ok())) return false;
  const uint64_t changes = intent_.changes();
  v1::AgentState state;
  bool known = false;
  const auto read = [&](const Intent& intent) {
    known = intent.is_known();
    if (!known) return;
    state =
        StateOf(intent, moment != Moment::kUnloaded, moment == Moment::kRunning ? kSetUpsAhead : 0);
  };
  const bool could_read = surely ? intent_.Read(read).ok() : intent_.TryRead(read);
  if (!could_read || !known) return false;
  const absl::Status status = Put(state);
  Learn(status);
  if (status.ok()) written_ = changes;
  return status.ok();
}

absl::Status IntentKeeper::Put(const v1::AgentState& state) {
  UnwrittenCircuits::Batch circuits = unwritten_.Take();
  KeptChange change = ChangeTo(state, circuits);
  if (!change.forget_circuits && change.circuits.empty() && change.state == written_state_) {
    return absl::OkStatus();
  }
  absl::Status status = store_.Keep(change);
  if (status.ok()) {
    written_state_ = std::move(change.state);
  } else {
    unwritten_.PutBack(std::move(circuits));
    // The store may not hold that state any more, and only the store can say so.
    written_state_.clear();
  }
  return status;
}

void IntentKeeper::Learn(const absl::Status& status) {
  std::string problem(status.message());
  {
    const std::lock_guard lock(mutex_);
    if (problem == problem_) return;
    problem_ = problem;
  }
  v1::Event event;
  event.set_severity(status.ok() ? v1::Event::INFO : v1::Event::ERROR);
  event.mutable_store()->set_kept(status.ok());
  event.mutable_store()->set_reason(problem);
  events_.Add(std::move(event));
}

void IntentKeeper::Run() {
  Clock::duration wait = kLook;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, wait, [this] { return stopping_; })) return;
    }
    wait = kLook;
    const std::lock_guard writing(writing_);
    if (intent_.changes() == written_) {
      if (!WriteEnd() || !problem().empty()) wait = kAfterError;
      continue;
    }
    const auto begin = Clock::now();
    const bool written = Write(Moment::kRunning, /*surely=*/false);
    const Clock::duration rest = kRest * (Clock::now() - begin);
    wait = written             ? std::max<Clock::duration>(kLook, rest)
           : problem().empty() ? kLookAgain
                               : kAfterError;
  }
}

}  // namespace bfly::control
