#include "lifeguard/safety/solve/paper_basis.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <cmath>
#include <cstdlib>
#include <vector>

// CSDP's header declares C functions for C++ by itself, and names a type and a function alike.
#include <csdp/declarations.h>

// CSDP's own version of this function reads settings from a file "param.csdp" in the working
// directory and prints its progress. The library calls it by name, so that programs can replace it:
// here the documented defaults, a few iterations more, and silence.
extern "C" void initparams(struct paramstruc* params, int* printlevel) {
  params->axtol = 1e-9;
  params->atytol = 1e-9;
  params->objtol = 1e-8;
  params->pinftol = 1e8;
  params->dinftol = 1e8;
  params->maxiter = 150;
  params->minstepfrac = 0.90;
  params->maxstepfrac = 0.97;
  params->minstepp = 1e-8;
  params->minstepd = 1e-8;
  params->usexzgap = 1;
  params->tweakgap = 0;
  params->affine = 0;
  params->perturbobj = 1;
  params->fastmode = 0;
  *printlevel = 0;
}

namespace {

// CSDP has no place for user data: one for each thread.
thread_local const lifeguard::Deadline* present_deadline = nullptr;

}  // namespace

// CSDP asks this function after each iteration whether to stop. Its own version takes over the
// process's signal handlers.
extern "C" int user_exit(int /*n*/, int /*k*/, struct blockmatrix /*c*/, double* /*a*/,
                         double /*dual_objective*/, double /*primal_objective*/,
                         double /*constant_offset*/, struct constraintmatrix* /*constraints*/,
                         struct blockmatrix /*x*/, double* /*y*/, struct blockmatrix /*z*/,
                         struct paramstruc /*params*/) {
  return present_deadline != nullptr && present_deadline->passed() ? 1 : 0;
}

namespace lifeguard {

namespace {

struct Entry {
  int row, column;  // from 1, row ≤ column
  double value;
};

// CSDP frees everything it is given with free(), and counts array entries from 1.
template <class T>
T* allocate(int count) {
  return static_cast<T*>(std::calloc(static_cast<std::size_t>(count) + 1, sizeof(T)));
}

void add_block(constraintmatrix& constraint, int number, int block, int size,
               const std::vector<Entry>& entries) {
  auto* data = allocate<sparseblock>(0);
  const int count = static_cast<int>(entries.size());
  data->blocknum = block;
  data->blocksize = size;
  data->constraintnum = number;
  data->numentries = count;
  data->entries = allocate<double>(count);
  data->iindices = allocate<int>(count);
  data->jindices = allocate<int>(count);
  for (int i = 0; i < count; ++i) {
    const Entry& entry = entries[static_cast<std::size_t>(i)];
    data->iindices[i + 1] = entry.row;
    data->jindices[i + 1] = entry.column;
    data->entries[i + 1] = entry.value;
  }
  data->issparse = 1;
  data->next = constraint.blocks;
  constraint.blocks = data;
}

std::vector<Entry> identity(int size, double value) {
  std::vector<Entry> entries;
  for (int i = 1; i <= size; ++i) entries.push_back({i, i, value});
  return entries;
}

// The semi-definite program in CSDP's form, max ⟨C, Z⟩ with ⟨A_i, Z⟩ = a_i, Z ⪰ 0, over three
// blocks: X − pI, qI − X and [tr X, w; w, 1].
bool solve_program(const Eigen::MatrixXd& coefficients, const Eigen::MatrixXd& last_basis,
                   double target_length, double p, double q, Eigen::MatrixXd& x) {
  const int k = static_cast<int>(last_basis.cols());
  std::vector<Eigen::Index> tasks;
  for (Eigen::Index t = 0; t < coefficients.cols(); ++t) {
    // For s = 0 the equation says 0 = 0. As many equations as X has entries fix it completely, and
    // more would only be dependent.
    if (coefficients.col(t).norm() > 1e-9 && static_cast<int>(tasks.size()) < k * (k + 1) / 2) {
      tasks.push_back(t);
    }
  }
  const int pairs = k * (k + 1) / 2;
  const int count = pairs + 2 + static_cast<int>(tasks.size());
  auto* constraints = allocate<constraintmatrix>(count);
  auto* rhs = allocate<double>(count);
  int next = 1;
  for (int j = 1; j <= k; ++j) {  // (X − pI) + (qI − X) = (q − p) I
    for (int i = 1; i <= j; ++i, ++next) {
      add_block(constraints[next], next, 2, k, {{i, j, 1.0}});
      add_block(constraints[next], next, 1, k, {{i, j, 1.0}});
      rhs[next] = i == j ? q - p : 0.0;
    }
  }
  add_block(constraints[next], next, 3, 2, {{1, 1, 1.0}});  // tr X
  add_block(constraints[next], next, 1, k, identity(k, -1.0));
  rhs[next++] = p * k;
  add_block(constraints[next], next, 3, 2, {{2, 2, 1.0}});
  rhs[next++] = 1;
  for (const Eigen::Index t : tasks) {
    const Eigen::VectorXd s = coefficients.col(t).normalized();
    std::vector<Entry> entries;
    for (int j = 1; j <= k; ++j) {
      for (int i = 1; i <= j; ++i) entries.push_back({i, j, s[i - 1] * s[j - 1]});
    }
    add_block(constraints[next], next, 1, k, entries);
    rhs[next++] = (last_basis * s).squaredNorm() - p;
  }

  blockmatrix c;
  c.nblocks = 3;
  c.blocks = allocate<blockrec>(3);
  for (int b = 1; b <= 3; ++b) {
    const int size = b == 3 ? 2 : k;
    c.blocks[b].blockcategory = MATRIX;
    c.blocks[b].blocksize = size;
    c.blocks[b].data.mat = allocate<double>(size * size);
  }
  // max 2‖L̃‖ w − tr X, where w stands twice in the symmetric block.
  c.blocks[3].data.mat[0] = -1;
  c.blocks[3].data.mat[1] = target_length;
  c.blocks[3].data.mat[2] = target_length;

  const int size = 2 * k + 2;
  blockmatrix primal, dual;
  double* y = nullptr;
  double primal_objective = 0, dual_objective = 0;
  initsoln(size, count, c, rhs, constraints, &primal, &y, &dual);
  const int code = easy_sdp(size, count, c, rhs, constraints, 0.0, &primal, &y, &dual,
                            &primal_objective, &dual_objective);
  x = Eigen::Map<const Eigen::MatrixXd>(primal.blocks[1].data.mat, k, k);
  x = (0.5 * (x + x.transpose())).eval() + p * Eigen::MatrixXd::Identity(k, k);
  free_prob(size, count, c, rhs, constraints, primal, y, dual);
  return (code == 0 || code == 3) && x.allFinite();  // 3: solved to reduced accuracy
}

}  // namespace

PaperBasisStatus paper_basis(const Eigen::MatrixXd& coefficients,
                             const Eigen::MatrixXd& target_basis, const Eigen::MatrixXd& last_basis,
                             double p, double q, Eigen::MatrixXd& basis, const Deadline& deadline) {
  if (deadline.passed()) return PaperBasisStatus::solver_failed;
  Eigen::MatrixXd x;
  present_deadline = &deadline;
  const bool solved = solve_program(coefficients, last_basis, target_basis.norm(), p, q, x);
  present_deadline = nullptr;
  if (!solved) return PaperBasisStatus::solver_failed;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(x);
  const Eigen::VectorXd roots = eigen.eigenvalues().cwiseMax(p).cwiseMin(q).cwiseSqrt();
  const Eigen::MatrixXd root =
      eigen.eigenvectors() * roots.asDiagonal() * eigen.eigenvectors().transpose();
  const Eigen::JacobiSVD<Eigen::MatrixXd> polar(target_basis * root,
                                                Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Eigen::MatrixXd candidate = polar.matrixU() * polar.matrixV().transpose() * root;
  if (!candidate.allFinite()) return PaperBasisStatus::solver_failed;
  basis = candidate;
  return PaperBasisStatus::solved;
}

}  // namespace lifeguard
