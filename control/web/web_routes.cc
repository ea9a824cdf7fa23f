// SPDX-License-Identifier: Apache-2.0
#include "control/web/web_routes.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"
#include "control/web/answers.h"
#include "control/web/page_files.h"
#include "control/web/query.h"

namespace bfly::control {
namespace {

using nlohmann::json;

unsigned HttpCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

std::string Text(const nlohmann::ordered_json& answer) {
  return answer.dump(-1, ' ', false, json::error_handler_t::replace);
}

absl::StatusOr<LinkFigure> FigureIn(const HttpRequest& request) {
  static const auto* const kFigures = new std::map<std::string, LinkFigure>{
      {"rate", LinkFigure::kPacketRate},   {"bytes", LinkFigure::kByteRate},
      {"packets", LinkFigure::kPackets},   {"occupancy", LinkFigure::kOccupancy},
      {"circuits", LinkFigure::kCircuits}, {"drops", LinkFigure::kDrops}};
  const auto given = request.query.find("by");
  if (given == request.query.end()) return LinkFigure::kPacketRate;
  const auto found = kFigures->find(given->second);
  if (found != kFigures->end()) return found->second;
  return ErrorAtField(absl::StatusCode::kInvalidArgument, "by",
                      absl::StrCat("\"", given->second.substr(0, 40),
                                   "\" is unknown; use rate, bytes, packets, occupancy, "
                                   "circuits or drops"));
}

// The fields of a change, which must be these and no others.
absl::StatusOr<std::vector<uint32_t>> FieldsIn(const std::string& body,
                                               const std::vector<std::string>& names) {
  const json object = json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    return absl::InvalidArgumentError(
        absl::StrCat("the body is not an object of JSON; send one with the fields ",
                     names.size() == 3 ? "stage, row and port" : "level and row"));
  FieldErrors errors;
  for (const auto& [name, value] : object.items()) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      errors.Add(name.substr(0, 40), "is not a field of this request");
  }
  std::vector<uint32_t> fields;
  for (const std::string& name : names) {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_number_unsigned() ||
        found->get<uint64_t>() > UINT32_MAX) {
      errors.Add(name, "is missing or not a whole number from 0");
    } else {
      fields.push_back(found->get<uint32_t>());
    }
  }
  if (!errors.empty()) return errors.ToStatus();
  return fields;
}

}  // namespace

HttpResponse WebRoutes::Answer(const HttpRequest& request) {
  if (const std::optional<HttpResponse> refused = door_.Refuse(request)) return *refused;
  if (request.method == "POST") {
    if (const absl::Status status = Post(request); !status.ok())
      return HttpError(HttpCodeOf(status), std::string(status.message()));
    watch_.Hurry();
    return {.status = 200, .content_type = "application/json", .body = "{}"};
  }
  if (const PageFile* file = FindPageFile(request.path))
    return {.status = 200,
            .content_type = std::string(file->content_type),
            .body = std::string(file->text)};
  absl::StatusOr<std::string> answer = Get(request);
  if (!answer.ok())
    return HttpError(HttpCodeOf(answer.status()), std::string(answer.status().message()));
  return {.status = 200, .content_type = "application/json", .body = *std::move(answer)};
}

absl::StatusOr<std::string> WebRoutes::Get(const HttpRequest& request) {
  if (request.path == "/api/load") return Load(request);
  if (request.path == "/api/links") return Links(request);
  if (request.path == "/api/circuits") return Circuits(request);
  if (request.path == "/api/role") return Role(request);
  if (request.path == "/api/programs") return Text(ProgramsAnswer());
  if (request.path == "/api/program") return Program(request);
  nlohmann::ordered_json (*answer)(const FabricWatch::Known&) = nullptr;
  if (request.path == "/api/topology") answer = TopologyAnswer;
  if (request.path == "/api/ports") answer = PortsAnswer;
  if (request.path == "/api/history") answer = HistoryAnswer;
  if (answer == nullptr)
    return absl::NotFoundError(
        absl::StrCat("nothing is served at ", request.path.substr(0, 80), "; the page is at /"));
  const auto known = watch_.known();
  if (!known.ok()) return known.status();
  return Text(answer(**known));
}

absl::StatusOr<std::string> WebRoutes::Load(const HttpRequest& request) {
  const absl::StatusOr<uint64_t> bands = NumberIn(request, "bands", 1, kMostBands, 32);
  if (!bands.ok()) return bands.status();
  const absl::StatusOr<uint64_t> hottest = NumberIn(request, "hottest", 0, kMostHottest, 10);
  if (!hottest.ok()) return hottest.status();
  const absl::StatusOr<LinkFigure> by = FigureIn(request);
  if (!by.ok()) return by.status();
  const auto sample = watch_.Links(*by);
  if (!sample.ok()) return sample.status();
  const uint64_t shown = std::min<uint64_t>(*bands, (*sample)->wiring->rows);
  return Text(LoadAnswer(**sample, static_cast<uint32_t>(shown), *by, *hottest));
}

absl::StatusOr<std::string> WebRoutes::Links(const HttpRequest& request) {
  const auto sample = watch_.Links();
  if (!sample.ok()) return sample.status();
  const Wiring& wiring = *(*sample)->wiring;
  RowWindow window;
  struct Part {
    const char* name;
    uint32_t* value;
    uint32_t last;
    uint32_t otherwise;
  };
  const Part parts[] = {{"first_row", &window.first_row, wiring.rows - 1, 0},
                        {"last_row", &window.last_row, wiring.rows - 1, wiring.rows - 1},
                        {"first_stage", &window.first_stage, wiring.stages - 1, 0},
                        {"last_stage", &window.last_stage, wiring.stages - 1, wiring.stages - 1}};
  for (const Part& part : parts) {
    const absl::StatusOr<uint64_t> number =
        NumberIn(request, part.name, 0, part.last, part.otherwise);
    if (!number.ok()) return number.status();
    *part.value = static_cast<uint32_t>(*number);
  }
  if (!(*sample)->every_link()) return LinksOfLarge(**sample, window);
  const std::vector<SampledLink> links = LinksIn(**sample, window);
  if (links.size() > kMostLinks)
    return absl::ResourceExhaustedError(absl::StrCat("last_row: the window has ", links.size(),
                                                     " links, at most ", kMostLinks,
                                                     " are answered; ask for fewer rows"));
  return Text(LinksAnswer(**sample, links));
}

absl::StatusOr<std::string> WebRoutes::LinksOfLarge(const FabricSample& sample,
                                                    const RowWindow& window) {
  const Wiring& wiring = *sample.wiring;
  const uint64_t rows =
      window.first_row <= window.last_row ? uint64_t{window.last_row} - window.first_row + 1 : 0;
  const uint64_t stages = window.first_stage <= window.last_stage
                              ? uint64_t{window.last_stage} - window.first_stage + 1
                              : 0;
  if (rows * stages * wiring.ports > kMostLinks)
    return absl::ResourceExhaustedError(
        absl::StrCat("last_row: the window has ", rows * stages * wiring.ports, " links, at most ",
                     kMostLinks, " are answered; ask for fewer rows"));
  if (rows == 0 || stages == 0) return Text(LinksAnswer(sample, {}));
  v1::GetCountersRequest request;
  v1::NumberRange* row_range = request.mutable_filter()->add_row_ranges();
  row_range->set_first(window.first_row);
  row_range->set_last(window.last_row);
  v1::NumberRange* stage_range = request.mutable_filter()->add_stage_ranges();
  stage_range->set_first(window.first_stage);
  stage_range->set_last(window.last_stage);
  const absl::StatusOr<v1::Counters> counters = viewer_.GetCounters(request);
  if (!counters.ok()) return counters.status();
  const absl::StatusOr<v1::GetLinksResponse> down = viewer_.GetLinks();
  if (!down.ok()) return down.status();
  const FabricSample read = SampleOf(sample.wiring, *counters, *down, nullptr);
  return Text(LinksAnswer(sample, read.links));
}

absl::StatusOr<std::string> WebRoutes::Circuits(const HttpRequest& request) {
  const absl::StatusOr<std::vector<v1::ListRequest>> wanted = CircuitsIn(request, kMostCircuits);
  if (!wanted.ok()) return wanted.status();
  absl::StatusOr<v1::ListResponse> all = viewer_.List(wanted->front());
  if (!all.ok()) return all.status();
  if (wanted->size() == 1) return Text(CircuitsAnswer(*all));
  // The circuit from the row comes first on the first page, and the circuits to the row follow in
  // pages.
  absl::StatusOr<v1::ListResponse> list = viewer_.List(wanted->back());
  if (!list.ok()) return list.status();
  const std::vector<v1::Circuit> from(all->circuits().begin(), all->circuits().end());
  if (!wanted->back().page_token().empty()) all->clear_circuits();
  all->set_total(all->total() + list->total());
  for (const v1::Circuit& circuit : from) {
    // It ends where it begins, so both lists have it.
    if (circuit.input() == circuit.output()) all->set_total(all->total() - 1);
  }
  for (v1::Circuit& circuit : *list->mutable_circuits()) {
    const bool is_there =
        std::any_of(from.begin(), from.end(),
                    [&circuit](const v1::Circuit& other) { return other.id() == circuit.id(); });
    if (!is_there) *all->add_circuits() = std::move(circuit);
  }
  all->set_next_page_token(list->next_page_token());
  return Text(CircuitsAnswer(*all));
}

absl::StatusOr<std::string> WebRoutes::Program(const HttpRequest& request) {
  const absl::StatusOr<v1::RouteRequest> run = RunIn(request);
  if (!run.ok()) return run.status();
  const auto known = watch_.known();
  if (!known.ok()) return known.status();
  // The other threads of the server stay free for what the page asks every second.
  const bool has_room = dry_runs_.fetch_add(1) < kMostDryRuns;
  absl::StatusOr<v1::RouteRecording> recording = absl::ResourceExhaustedError(
      absl::StrCat(kMostDryRuns, " programs are being recorded already; ask again in a moment"));
  if (has_room) recording = viewer_.DryRun(*run);
  dry_runs_.fetch_sub(1);
  if (!recording.ok()) return recording.status();
  // The program may have run on another fabric than the last one that was read.
  const absl::StatusOr<v1::DescribeResponse> now = viewer_.Describe(/*links=*/false);
  if (!now.ok()) return now.status();
  if (!IsSameFabric(*now, (*known)->description)) {
    watch_.Hurry();
    return absl::AbortedError("another fabric was loaded meanwhile; ask again");
  }
  return Text(ProgramAnswer((*known)->fabric, *recording));
}

absl::StatusOr<std::string> WebRoutes::Role(const HttpRequest& request) const {
  if (door_.ShowsToken(request)) return Text({{"role", "operator"}});
  if (request.authorization.empty()) return Text({{"role", "viewer"}});
  return absl::PermissionDeniedError(
      "this is not the token of the running bfly-controller; read the file web.token again");
}

absl::Status WebRoutes::Post(const HttpRequest& request) {
  const bool is_link = absl::StartsWith(request.path, "/api/link/");
  const bool is_up = absl::EndsWith(request.path, "/restore");
  if (request.path !=
      absl::StrCat(is_link ? "/api/link/" : "/api/node/", is_up ? "restore" : "fail")) {
    return absl::NotFoundError(
        absl::StrCat("nothing can be changed at ", request.path.substr(0, 80),
                     "; use /api/link/fail, /api/link/restore, /api/node/fail or "
                     "/api/node/restore"));
  }
  const absl::StatusOr<std::vector<uint32_t>> fields =
      FieldsIn(request.body, is_link ? std::vector<std::string>{"stage", "row", "port"}
                                     : std::vector<std::string>{"level", "row"});
  if (!fields.ok()) return fields.status();
  if (is_link) {
    v1::SetLinkStateRequest change;
    change.set_stage((*fields)[0]);
    change.set_row((*fields)[1]);
    change.set_port((*fields)[2]);
    change.set_up(is_up);
    return changer_.SetLinkState(change);
  }
  v1::SetNodeStateRequest change;
  change.set_level((*fields)[0]);
  change.set_row((*fields)[1]);
  change.set_up(is_up);
  return changer_.SetNodeState(change);
}

}  // namespace bfly::control
