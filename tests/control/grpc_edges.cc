// SPDX-License-Identifier: Apache-2.0
// What ThreadSanitizer cannot see of gRPC, told to it. Debian's gRPC and Abseil are built without
// ThreadSanitizer, so memory that gRPC hands from one thread to another looks as if nothing ordered
// its two uses. The functions here stand in front of those of the libraries in programs under
// ThreadSanitizer, call them, and report the five ways in which they order threads:
//   - what a thread did before it unlocked an absl::Mutex happens before what the next owner does;
//   - what it did before it started a batch of a call happens before the batch's callback;
//   - what a handler did until it had made its reactor happens before the reactor's OnCancel;
//   - what the callbacks of a call did, OnCancel among them, happens before OnDone;
//   - what a call did, OnDone included, happens before the shutdown of its server ends.
// Each edge belongs to one mutex, one batch or one call, so that two handlers which nothing orders
// are still reported (tests/control/planted_race_test.py).
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <link.h>
#include <stdlib.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}

namespace {

using grpc::internal::ServerCallbackCall;
using grpc::internal::ServerReactor;

// Two counts of a call: the callbacks decrement the one, whose last decrement leads to OnDone; the
// handler that has made its reactor and the cancellation decrement the other, whose last decrement
// leads to OnCancel. They are private; an explicit instantiation may name them.
auto OutstandingMember();
auto CancelConditionsMember();
template <auto outstanding, auto conditions>
struct Name {
  friend auto OutstandingMember() { return outstanding; }
  friend auto CancelConditionsMember() { return conditions; }
};
template struct Name<&ServerCallbackCall::callbacks_outstanding_,
                     &ServerCallbackCall::on_cancel_conditions_remaining_>;

// Stands for a reactor while it is told that its call is cancelled. ThreadSanitizer sees what the
// handler does to the counts, which gRPC's headers compile into our program, and not what the
// library does: that the cancellation came second, and its decrement after OnCancel.
class Cancelled final : public ServerReactor {
 public:
  Cancelled(ServerReactor* reactor, void* conditions, void* outstanding)
      : reactor_(reactor), conditions_(conditions), outstanding_(outstanding) {}
  void OnDone() override {}
  void OnCancel() override {
    __tsan_acquire(conditions_);
    reactor_->OnCancel();
    __tsan_release(outstanding_);
    delete this;
  }

 private:
  ServerReactor* const reactor_;
  void* const conditions_;
  void* const outstanding_;
};

// Batches end in one of a few functions of gRPC's headers. Function i of `acquiring` goes before
// function i of `ends`.
using End = void (*)(grpc_completion_queue_functor*, int);
constexpr int kEnds = 16;
std::atomic<End> ends[kEnds];

template <int i>
void Acquiring(grpc_completion_queue_functor* tag, int ok) {
  __tsan_acquire(tag);
  ends[i].load(std::memory_order_acquire)(tag, ok);
}
template <int... i>
constexpr std::array<End, kEnds> AllAcquiring(std::integer_sequence<int, i...>) {
  return {Acquiring<i>...};
}
constexpr std::array<End, kEnds> acquiring = AllAcquiring(std::make_integer_sequence<int, kEnds>());

bool IsCode(End end) {
  auto address = reinterpret_cast<uintptr_t>(end);
  const auto holds = [](dl_phdr_info* info, size_t, void* wanted) {
    const uintptr_t at = *static_cast<uintptr_t*>(wanted);
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const auto& segment = info->dlpi_phdr[i];
      const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
      const bool runs = segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
      if (runs && at >= begin && at < begin + segment.p_memsz) return 1;
    }
    return 0;
  };
  return dl_iterate_phdr(holds, &address) != 0;
}

// The tag of a callback begins with the function that ends its batch. Any other tag begins with a
// pointer to a table of virtual functions, which is not code, and is left alone.
void AcquireAtEnd(grpc_completion_queue_functor* tag) {
  const End end = tag->functor_run;
  for (const End known : acquiring) {
    if (end == known) return;
  }
  for (int i = 0; i < kEnds; ++i) {
    End known = ends[i].load(std::memory_order_acquire);
    if (known == nullptr) {
      if (!IsCode(end)) return;
      if (ends[i].compare_exchange_strong(known, end)) known = end;
    }
    if (known == end) {
      tag->functor_run = acquiring[i];
      return;
    }
  }
  abort();  // more functions than this file has room for
}

template <class Function>
Function InTheLibrary(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t count, void* tag,
                                      void* reserved) {
  static const auto real = InTheLibrary<decltype(&grpc_call_start_batch)>("grpc_call_start_batch");
  if (tag != nullptr) {
    AcquireAtEnd(static_cast<grpc_completion_queue_functor*>(tag));
    __tsan_release(tag);
  }
  return real(call, ops, count, tag, reserved);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                      void* reserved) {
  static const auto real =
      InTheLibrary<decltype(&grpc_completion_queue_next)>("grpc_completion_queue_next");
  const grpc_event event = real(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag,
                                       gpr_timespec deadline, void* reserved) {
  static const auto real =
      InTheLibrary<decltype(&grpc_completion_queue_pluck)>("grpc_completion_queue_pluck");
  const grpc_event event = real(queue, tag, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

// Members of classes, by the names that the compiler gives them; `this` is their first argument.
#define SCHEDULE_ON_DONE "_ZN4grpc8internal18ServerCallbackCall14ScheduleOnDoneEb"
#define CALL_ON_CANCEL "_ZN4grpc8internal18ServerCallbackCall12CallOnCancelEPNS0_13ServerReactorE"
#define UNREF_SERVER "_ZN4grpc6Server23UnrefWithPossibleNotifyEv"
#define SHUTDOWN "_ZN4grpc6Server16ShutdownInternalE12gpr_timespec"
#define LOCK "_ZN4absl7debian35Mutex4LockEv"
#define UNLOCK "_ZN4absl7debian35Mutex6UnlockEv"
#define TRY_LOCK "_ZN4absl7debian35Mutex7TryLockEv"
#define READER_LOCK "_ZN4absl7debian35Mutex10ReaderLockEv"
#define READER_UNLOCK "_ZN4absl7debian35Mutex12ReaderUnlockEv"
#define RELEASE "_ZN4absl7debian319ReleasableMutexLock7ReleaseEv"
#define WAIT "_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE"
#define WAIT_FOR "_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE"
#define WAIT_UNTIL "_ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE"

extern "C" {

// absl::Duration, and absl::Time, which holds one.
struct Duration {
  int64_t seconds;
  uint32_t ticks;
};

void ScheduleOnDone(ServerCallbackCall* call, bool at_once) __asm__(SCHEDULE_ON_DONE);
void CallOnCancel(ServerCallbackCall* call, ServerReactor* reactor) __asm__(CALL_ON_CANCEL);
void UnrefServer(void* server) __asm__(UNREF_SERVER);
void Shutdown(void* server, gpr_timespec deadline) __asm__(SHUTDOWN);
void Lock(void* mutex) __asm__(LOCK);
void Unlock(void* mutex) __asm__(UNLOCK);
bool TryLock(void* mutex) __asm__(TRY_LOCK);
void ReaderLock(void* mutex) __asm__(READER_LOCK);
void ReaderUnlock(void* mutex) __asm__(READER_UNLOCK);
void Release(void** lock) __asm__(RELEASE);
void Wait(void* condition, void* mutex) __asm__(WAIT);
bool WaitFor(void* condition, void* mutex, Duration timeout) __asm__(WAIT_FOR);
bool WaitUntil(void* condition, void* mutex, Duration deadline) __asm__(WAIT_UNTIL);

void ScheduleOnDone(ServerCallbackCall* call, bool at_once) {
  static const auto real = InTheLibrary<decltype(&ScheduleOnDone)>(SCHEDULE_ON_DONE);
  __tsan_acquire(&(call->*OutstandingMember()));
  real(call, at_once);
}

void CallOnCancel(ServerCallbackCall* call, ServerReactor* reactor) {
  static const auto real = InTheLibrary<decltype(&CallOnCancel)>(CALL_ON_CANCEL);
  real(call,
       new Cancelled(reactor, &(call->*CancelConditionsMember()), &(call->*OutstandingMember())));
}

void UnrefServer(void* server) {
  static const auto real = InTheLibrary<decltype(&UnrefServer)>(UNREF_SERVER);
  __tsan_release(server);
  real(server);
}

void Shutdown(void* server, gpr_timespec deadline) {
  static const auto real = InTheLibrary<decltype(&Shutdown)>(SHUTDOWN);
  real(server, deadline);
  __tsan_acquire(server);
}

void Lock(void* mutex) {
  static const auto real = InTheLibrary<decltype(&Lock)>(LOCK);
  real(mutex);
  __tsan_acquire(mutex);
}

void Unlock(void* mutex) {
  static const auto real = InTheLibrary<decltype(&Unlock)>(UNLOCK);
  __tsan_release(mutex);
  real(mutex);
}

bool TryLock(void* mutex) {
  static const auto real = InTheLibrary<decltype(&TryLock)>(TRY_LOCK);
  const bool locked = real(mutex);
  if (locked) __tsan_acquire(mutex);
  return locked;
}

void ReaderLock(void* mutex) {
  static const auto real = InTheLibrary<decltype(&ReaderLock)>(READER_LOCK);
  real(mutex);
  __tsan_acquire(mutex);
}

void ReaderUnlock(void* mutex) {
  static const auto real = InTheLibrary<decltype(&ReaderUnlock)>(READER_UNLOCK);
  __tsan_release(mutex);
  real(mutex);
}

// A ReleasableMutexLock holds the pointer to its mutex and nothing else.
void Release(void** lock) {
  static const auto real = InTheLibrary<decltype(&Release)>(RELEASE);
  __tsan_release(*lock);
  real(lock);
}

void Wait(void* condition, void* mutex) {
  static const auto real = InTheLibrary<decltype(&Wait)>(WAIT);
  __tsan_release(mutex);
  real(condition, mutex);
  __tsan_acquire(mutex);
}

bool WaitFor(void* condition, void* mutex, Duration timeout) {
  static const auto real = InTheLibrary<decltype(&WaitFor)>(WAIT_FOR);
  __tsan_release(mutex);
  const bool expired = real(condition, mutex, timeout);
  __tsan_acquire(mutex);
  return expired;
}

bool WaitUntil(void* condition, void* mutex, Duration deadline) {
  static const auto real = InTheLibrary<decltype(&WaitUntil)>(WAIT_UNTIL);
  __tsan_release(mutex);
  const bool expired = real(condition, mutex, deadline);
  __tsan_acquire(mutex);
  return expired;
}

}  // extern "C"
