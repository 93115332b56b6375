//===- write_artifact.cpp - Writes the artifact that the C example runs ---===//

#include "fixture.h"

#include <cstdio>

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  auto writer = kintsugi::runtime::ArtifactWriter::toFile(argv[1]);
  auto parts = kintsugi::runtime::affineParts();
  if (!writer.ok())
    return 1;
  for (const auto &constant : parts.constants)
    if (!writer->addConstant(constant).ok())
      return 1;
  return writer->addCode("baseline", parts.code).ok() && writer->finish(parts.manifest).ok() ? 0
                                                                                             : 1;
}
