// SPDX-License-Identifier: Apache-2.0
#include "control/server/short_slices.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace bfly::control {
namespace {

constexpr uint64_t kSliceNs = 100'000;  // the least that the kernel takes

// struct sched_attr of the kernel. Its header cannot be read beside <sched.h> of Debian 12.
struct SchedAttributes {
  uint32_t size;
  uint32_t policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime;  // the slice, ns
  uint64_t deadline;
  uint64_t period;
};
static_assert(sizeof(SchedAttributes) == 48);  // SCHED_ATTR_SIZE_VER0

}  // namespace

void TakeShortSlices() {
  SchedAttributes attributes = {};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  // A real-time policy is somebody's choice and has no slices of this kind.
  if (attributes.policy != uint32_t{SCHED_OTHER}) return;
  attributes.runtime = kSliceNs;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace bfly::control
