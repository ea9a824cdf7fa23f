// SPDX-License-Identifier: Apache-2.0
#include "control/intent/traffic.h"

#include <algorithm>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

bool HasSourceNamed(const Traffic::Sources& sources, const std::string& name) {
  return std::any_of(sources.begin(), sources.end(),
                     [&](const v1::TrafficSource& source) { return source.name() == name; });
}

// Several sources may have no name.
absl::Status CheckNamesDiffer(const Traffic::Sources& sources) {
  FieldErrors errors;
  std::unordered_set<std::string> seen;
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string& name = sources[i].name();
    if (name.empty() || seen.insert(name).second) continue;
    errors.Add(absl::StrCat("sources[", i, "].name"),
               absl::StrCat("\"", name, "\" is given twice"));
  }
  return errors.ToStatus();
}

}  // namespace

uint64_t Traffic::bytes() const {
  uint64_t bytes = 0;
  for (const v1::TrafficSource& source : sources_) bytes += source.ByteSizeLong();
  return bytes;
}

uint64_t Traffic::latency_id() const {
  uint64_t newest = 0;
  for (const v1::TrafficSource& source : sources_) {
    if (source.latency()) newest = std::max<uint64_t>(newest, source.id());
  }
  return newest;
}

std::string Traffic::NamesText() const {
  if (sources_.empty()) return "none runs";
  return absl::StrCat("running: ",
                      absl::StrJoin(sources_, ", ", [](std::string* out, const auto& source) {
                        absl::StrAppend(out, source.name().empty() ? "-" : source.name());
                      }));
}

absl::StatusOr<Traffic> Traffic::WithStarted(Sources added) const {
  if (absl::Status status = CheckNamesDiffer(added); !status.ok()) return status;
  uint64_t last_id = 0;
  Traffic after;
  for (const v1::TrafficSource& running : sources_) {
    last_id = std::max<uint64_t>(last_id, running.id());
    if (!HasSourceNamed(added, running.name())) after.sources_.push_back(running);
  }
  for (v1::TrafficSource& source : added) {
    source.set_id(++last_id);
    after.sources_.push_back(std::move(source));
  }
  return after;
}

absl::StatusOr<Traffic> Traffic::WithStopped(const std::vector<std::string>& names) const {
  if (names.empty()) return Traffic();
  Traffic after = *this;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!HasSourceNamed(after.sources_, names[i])) {
      return ErrorAtField(absl::StatusCode::kNotFound, absl::StrCat("names[", i, "]"),
                          absl::StrCat("no source \"", names[i], "\" runs; ", NamesText()));
    }
    std::erase_if(after.sources_, [&](const auto& source) { return source.name() == names[i]; });
  }
  return after;
}

}  // namespace bfly::control
