//===- scatter_nd.h - What ScatterND's attributes say -----------------------===//
#ifndef KINTSUGI_CALLS_SCATTER_ND_H
#define KINTSUGI_CALLS_SCATTER_ND_H

#include "base/json.h"
#include "base/status.h"

namespace kintsugi::calls {

enum class ScatterReduction { None, Add, Mul, Max, Min };

Expected<ScatterReduction> readScatterReduction(const Json &attributes);

} // namespace kintsugi::calls

#endif // KINTSUGI_CALLS_SCATTER_ND_H
