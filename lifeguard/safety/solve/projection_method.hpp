#pragma once

namespace lifeguard {

class SafeSearch;

/// One way to project (ProjectionMode). It begins at the search's last point and leaves the answer,
/// with its status, as the search's present one.
class ProjectionMethod {
 public:
  virtual ~ProjectionMethod() = default;
  virtual void project(SafeSearch& search) = 0;
};

}  // namespace lifeguard
