// SPDX-License-Identifier: Apache-2.0
// bfly values: what the completion files ask the running fabric for. It is not in the help.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "bfly/v1/circuits.grpc.pb.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "bfly/v1/telemetry.grpc.pb.h"
#include "bfly/v1/traffic.grpc.pb.h"
#include "control/cli/client.h"
#include "control/cli/completion.h"
#include "control/cli/typed_number.h"
#include "control/cli/verb.h"
#include "control/lab/journal.h"

namespace bfly::control {
namespace {

// Somebody waits at a key for these, and no screen shows more of them.
constexpr std::chrono::seconds kValuesPatience{1};
constexpr uint32_t kMostValues = 200;
// The controller gives no larger page.
constexpr uint32_t kCircuitsOfPage = 10'000;

// The values that are looked for, and those that were found.
class Values {
 public:
  Values(Common common, std::string begin) : common_(std::move(common)), begin_(std::move(begin)) {}

  const Common& common() const { return common_; }
  const std::string& begin() const { return begin_; }
  const std::vector<std::string>& found() const { return found_; }
  bool enough() const { return found_.size() >= kMostValues; }

  // Keeps a value that begins with what was typed.
  void Offer(const std::string& value) {
    if (!enough() && absl::StartsWith(value, begin_)) found_.push_back(value);
  }

  // Calls once. All calls together have little patience, and nobody reads the error.
  template <class Stub, class Request, class Response>
  bool Ask(Stub* stub,
           grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
           const Request& request, Response* response) const {
    grpc::ClientContext context;
    context.set_deadline(give_up_);
    return (stub->*method)(&context, request, response).ok();
  }

 private:
  const Common common_;
  const std::string begin_;
  const std::chrono::system_clock::time_point give_up_ =
      std::chrono::system_clock::now() + kValuesPatience;
  std::vector<std::string> found_;
};

void CircuitIds(Values& values) {
  const auto stub = v1::Circuits::NewStub(Connect(values.common()));
  v1::ListRequest request;
  request.set_page_size(kCircuitsOfPage);
  do {
    v1::ListResponse answer;
    if (!values.Ask(stub.get(), &v1::Circuits::Stub::List, request, &answer)) return;
    for (const v1::Circuit& circuit : answer.circuits()) values.Offer(absl::StrCat(circuit.id()));
    request.set_page_token(answer.next_page_token());
  } while (!request.page_token().empty() && !values.enough());
}

void Sources(Values& values) {
  v1::ListTrafficResponse answer;
  if (!values.Ask(v1::Traffic::NewStub(Connect(values.common())).get(), &v1::Traffic::Stub::List,
                  v1::ListTrafficRequest(), &answer))
    return;
  for (const v1::TrafficSourceStatus& source : answer.sources())
    if (!source.source().name().empty()) values.Offer(source.source().name());
}

// A link in the form that has no space: stage,row,port.
template <class Link>
std::string Text(const Link& link) {
  return absl::StrCat(link.stage(), ",", link.row(), ",", link.port());
}

// Selects the links whose text may begin with `typed`. False: there are none.
bool Select(const std::string& typed, const v1::FabricStatus& fabric, v1::CounterFilter* filter) {
  std::vector<std::string> parts = absl::StrSplit(typed, ',');
  const uint32_t counts[] = {fabric.stages(), fabric.rows(), fabric.ports()};
  if (parts.size() > std::size(counts)) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    // A comma ends the number before it.
    const bool whole = i + 1 < parts.size();
    const auto ranges = whole ? TypedNumber(parts[i], counts[i]) : BeginWith(parts[i], counts[i]);
    if (ranges.empty()) return false;
    for (const auto& [first, last] : ranges) {
      if (i == 2) {
        for (uint32_t port = first; port <= last; ++port) filter->add_ports(port);
        continue;
      }
      v1::NumberRange* range = i == 0 ? filter->add_stage_ranges() : filter->add_row_ranges();
      range->set_first(first);
      range->set_last(last);
    }
  }
  return true;
}

// The fullest of the links that begin with what was typed.
void FullestLinks(Values& values) {
  const auto channel = Connect(values.common());
  v1::StatusResponse status;
  v1::GetCountersRequest request;
  v1::Counters answer;
  request.mutable_filter()->set_top(kMostValues);
  if (!values.Ask(v1::Fabric::NewStub(channel).get(), &v1::Fabric::Stub::Status,
                  v1::StatusRequest(), &status) ||
      !Select(values.begin(), status.status(), request.mutable_filter()) ||
      !values.Ask(v1::Telemetry::NewStub(channel).get(), &v1::Telemetry::Stub::GetCounters, request,
                  &answer))
    return;
  for (const v1::LinkCounters& link : answer.links()) values.Offer(Text(link));
}

void DownLinks(Values& values) {
  v1::GetLinksResponse answer;
  if (!values.Ask(v1::Fabric::NewStub(Connect(values.common())).get(), &v1::Fabric::Stub::GetLinks,
                  v1::GetLinksRequest(), &answer))
    return;
  for (const v1::LinkRef& link : answer.down()) values.Offer(Text(link));
}

void HostPorts(Values& values) {
  v1::GetPortsResponse answer;
  if (!values.Ask(v1::Fabric::NewStub(Connect(values.common())).get(), &v1::Fabric::Stub::GetPorts,
                  v1::GetPortsRequest(), &answer))
    return;
  for (const v1::AttachedPort& port : answer.ports()) values.Offer(port.port().name());
}

// The hosts in which a command can be run.
void LabHosts(Values& values) {
  const absl::StatusOr<LabRecord> record = LabJournal::Read(values.common().run_dir);
  if (!record.ok()) return;
  for (const LabHost& host : record->hosts)
    if (host.has_namespace) values.Offer(host.name);
}

const std::map<std::string, std::function<void(Values&)>>& Kinds() {
  static const auto* const kinds = new std::map<std::string, std::function<void(Values&)>>{
      {kCircuitValues, CircuitIds}, {kSourceValues, Sources}, {kLinkValues, FullestLinks},
      {kDownLinkValues, DownLinks}, {kPortValues, HostPorts}, {kHostValues, LabHosts}};
  return *kinds;
}

}  // namespace

void AddCompletionValues(CLI::App& app, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(app, invocation, "values", "Print values of the running fabric for a completion file",
              "bfly values circuits --begin 12");
  verb->group("");
  struct Wanted {
    std::string kind, begin;
  };
  auto wanted = std::make_shared<Wanted>();
  verb->add_option("kind", wanted->kind, "Which")->required()->check(CLI::IsMember(&Kinds()));
  verb->add_option("--begin", wanted->begin, "Only values that begin with this");
  verb->callback([&invocation, wanted] {
    invocation.action = [common = invocation.common, wanted] {
      Values values(common, wanted->begin);
      Kinds().at(wanted->kind)(values);
      for (const std::string& value : values.found()) printf("%s\n", value.c_str());
      return absl::OkStatus();
    };
  });
}

}  // namespace bfly::control
