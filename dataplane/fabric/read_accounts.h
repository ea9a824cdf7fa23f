// SPDX-License-Identifier: Apache-2.0
// Makes one account of the data plane from the accounts that its workers publish.
#pragma once

#include "dataplane/core/snapshot.h"
#include "dataplane/core/worker_passes.h"
#include "dataplane/fabric/worker.h"

namespace bfly::dataplane {

// Any thread: returns when every worker has ended the pass that it is in. Packets go onto a trunk
// before the pass is published, so the other end may have counted them already. A caller that reads
// the other end, then calls this function, and then reads this end finds at the other end only
// packets that this end has counted. The function waits at most a quarter of a second for a worker
// that hangs.
void EndPasses(const Workers& workers);

WorkerPasses PassesOf(const Workers& workers);
// The CPU time of all workers so far.
double CpuSecondsOf(const Workers& workers);

// Any thread: fills in the workers, and the data plane's conservation, trunk totals and drops.
void ReadAccounts(const Workers& workers, Snapshot& snapshot);

}  // namespace bfly::dataplane
