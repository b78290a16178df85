#pragma once

#include <Eigen/Core>
#include <vector>

#include "lifeguard/core/stop.hpp"

namespace lifeguard {

/// A semi-definite program as CSDP takes it: max ⟨C, X⟩ with ⟨A_i, X⟩ = a_i and X ⪰ 0 of blocks,
/// and its dual, min aᵀy with Z = Σ y_i A_i − C ⪰ 0. Indices count from 0.
struct CsdpProblem {
  struct Block {
    int size = 0;
    bool diagonal = false;
    /// C here: size × size, or the diagonal alone.
    Eigen::MatrixXd objective;
  };
  struct Entry {
    int row, column;  // row ≤ column
    double value;
  };
  /// A_i in one block; the blocks of a constraint stand in ascending order.
  struct ConstraintBlock {
    int block;
    std::vector<Entry> entries;
  };

  std::vector<Block> blocks;
  std::vector<std::vector<ConstraintBlock>> constraints;
  Eigen::VectorXd values;  // a
};

/// What CSDP answers. Nothing here is proven: whoever uses it verifies what it needs.
struct CsdpSolution {
  /// CSDP's code: 0 solved, 1 no X, 2 no y, 3 solved to reduced accuracy, 4 and more gave up.
  int code = 0;
  std::vector<Eigen::MatrixXd> primal;  // the blocks of X, as in CsdpProblem::Block::objective
  Eigen::VectorXd y;
};

CsdpSolution solve_with_csdp(const CsdpProblem& problem, const Deadline& deadline);

/// CSDP's code for programs on which it neither ends nor asks whether to: on some degenerate ones
/// it tries the same factorisation again for ever.
inline constexpr int kCsdpDidNotReturn = 100;
/// The same in a child process that may take so many seconds of processor time. For programs that
/// nobody has seen before; the fork takes longer than a small program.
CsdpSolution solve_with_csdp_apart(const CsdpProblem& problem, const Deadline& deadline,
                                   int seconds);

}  // namespace lifeguard
