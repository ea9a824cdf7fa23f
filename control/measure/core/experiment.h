// SPDX-License-Identifier: Apache-2.0
// What `bfly measure` asks of every kind of experiment. A kind is a class with these functions and
// a line in kinds.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/measure/core/claim.h"
#include "control/measure/core/measurement.h"
#include "control/measure/core/report.h"
#include "control/plot/figure.h"
#include "google/protobuf/message.h"

namespace bfly::control {

class Experiment {
 public:
  virtual ~Experiment() = default;

  // The file as a message, with defaults filled in: the effective configuration.
  virtual const google::protobuf::Message& message() const = 0;
  virtual google::protobuf::Message* mutable_message() = 0;
  virtual std::string name() const = 0;
  virtual std::string title() const = 0;  // the experiment's name if the file gives no title
  // The claims that the file names; empty: all.
  virtual std::vector<std::string> named_claims() const = 0;

  // Fills in defaults that depend on other keys. Those of the schema are filled in.
  virtual void FillDefaultsOfKind() {}
  // Returns all points, in the order in which they run. InvalidArgument names the key of an
  // impossible value.
  virtual absl::StatusOr<std::vector<Point>> Sweep() const = 0;
  virtual std::vector<uint64_t> SeedsAt(const Point& point) const = 0;
  size_t TrialsOf(const std::vector<Point>& points) const {
    size_t trials = 0;
    for (const Point& point : points) trials += SeedsAt(point).size();
    return trials;
  }
  // InvalidArgument: the points ask for more time or memory than a run may take.
  virtual absl::Status CheckEffort(const std::vector<Point>& points) const = 0;
  virtual const std::vector<Claim>& Claims() const = 0;

  // Starts what the trials need, such as workers; the destructor ends it. Returns what the user
  // should know before the first trial, or an empty string.
  virtual absl::StatusOr<std::string> Start() { return std::string(); }
  // Runs one trial, on any thread, also beside other trials. CANCELLED: `interrupted` returned true
  // during a long trial.
  virtual absl::StatusOr<Trial> Run(const Point& point, uint64_t seed,
                                    const std::function<bool()>& interrupted) const = 0;
  // How many trials keep `cpus` CPUs busy; 1 if they must not run beside each other.
  virtual int TrialsAtOnce(int cpus) const { return cpus; }
  // Whether the network has no stationary state at the point.
  virtual bool IsSaturated(const Measurement& measurement) const = 0;
  // Sets the verdicts of the whole run, once every point has its own.
  virtual void Conclude(Report& report) const = 0;

  // Adds what only this kind of experiment writes to results.json, after the claims.
  virtual void AddResults(const Report& report, nlohmann::ordered_json& results) const = 0;
  // The other files of the result folder, as (name, text).
  virtual std::vector<std::pair<std::string, std::string>> Files(const Report& report) const = 0;
  // The text that the terminal shows at the end.
  virtual std::string Summary(const Report& report) const = 0;
  // The plots that a results.json describes. DataLoss: `results` are of another experiment.
  virtual absl::StatusOr<std::vector<Figure>> Figures(
      const nlohmann::ordered_json& results) const = 0;
};

// An experiment whose file is the message M, with the keys that every kind has.
template <typename M>
class ExperimentOf : public Experiment {
 public:
  const M& message() const override { return file_; }
  M* mutable_message() override { return &file_; }
  std::string name() const override { return file_.name(); }
  std::string title() const override { return file_.title().empty() ? name() : file_.title(); }
  std::vector<std::string> named_claims() const override {
    return {file_.claims().begin(), file_.claims().end()};
  }
  std::vector<uint64_t> SeedsAt(const Point&) const override {
    return {file_.seeds().begin(), file_.seeds().end()};
  }
  absl::Status CheckEffort(const std::vector<Point>&) const override { return absl::OkStatus(); }
  bool IsSaturated(const Measurement&) const override { return false; }
  void Conclude(Report&) const override {}

 private:
  M file_;
};

}  // namespace bfly::control
