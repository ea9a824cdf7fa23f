// SPDX-License-Identifier: Apache-2.0
// Makes one account of the data plane from the accounts that its workers publish.
#pragma once

#include "dataplane/core/snapshot.h"
#include "dataplane/core/worker_passes.h"
#include "dataplane/fabric/worker.h"

namespace bfly::dataplane {

// Any thread: returns when every worker has ended the pass that it is in. Packets go onto a trunk
// before the pass is published, so they may be counted at the other end already: who reads the
// other end, calls this and reads this end finds nothing there that is not here. A worker that
// hangs is waited for a quarter of a second.
void EndPasses(const Workers& workers);

WorkerPasses PassesOf(const Workers& workers);
// The CPU time of all workers so far.
double CpuSecondsOf(const Workers& workers);

// Any thread: fills in the workers, and the data plane's conservation, trunk totals and drops.
void ReadAccounts(const Workers& workers, Snapshot& snapshot);

}  // namespace bfly::dataplane
