/*===- compile.c - Compiles a model and runs it, in plain C ---------------===*/
/*
 * usage: compile MODEL.onnx ARTIFACT
 * Compiles the model, loads the artifact, runs it once on zeros, and prints the inputs' shapes and
 * the first element of each output that is f32.
 */
/*===----------------------------------------------------------------------===*/
#include "kintsugi/compiler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_PORTS = 16 };

static int fail(KinStatus status, KinError *error) {
  fprintf(stderr, "compile: %s\n", kin_error_message(error));
  kin_error_free(error);
  return (int)status;
}

static void print_shape(const KinPort *port) {
  printf("%s [", port->name);
  for (int32_t i = 0; i < port->rank; ++i)
    printf("%s%" PRId64, i ? ", " : "", port->dims[i]);
  printf("]");
}

/* Zeros for a port; 64 is more than any element's alignment. */
static KinTensor zeros(const KinPort *port) {
  size_t bytes = (size_t)port->bytes;
  KinTensor tensor = {port->name, port->type, port->rank, (int64_t *)port->dims, NULL, bytes};
  tensor.data = calloc(1, bytes ? bytes : 1);
  return tensor;
}

int main(int argc, char **argv) {
  KinCompilerOptions options = {sizeof(options), "{\"plan\": \"greedy\"}", NULL, NULL};
  KinTensor inputs[MAX_PORTS], outputs[MAX_PORTS];
  KinModel *model = NULL;
  KinContext *context = NULL;
  KinError *error = NULL;
  KinStatus status;
  size_t in, out;

  if (argc != 3) {
    fprintf(stderr, "usage: compile MODEL.onnx ARTIFACT\n");
    return KIN_USAGE;
  }
  status = kin_compile(argv[1], argv[2], &options, NULL, &error);
  if (status == KIN_OK)
    status = kin_model_load(argv[2], NULL, &model, &error);
  if (status == KIN_OK)
    status = kin_context_create(model, NULL, &context, &error);
  if (status != KIN_OK)
    return fail(status, error);

  in = kin_model_input_count(model);
  out = kin_model_output_count(model);
  if (in > MAX_PORTS || out > MAX_PORTS) {
    fprintf(stderr, "compile: the model has too many inputs or outputs for this example\n");
    return KIN_USAGE;
  }
  for (size_t i = 0; i < in; ++i) {
    inputs[i] = zeros(kin_model_input(model, i));
    print_shape(kin_model_input(model, i));
    printf("\n");
  }
  for (size_t i = 0; i < out; ++i) {
    outputs[i] = zeros(kin_model_output(model, i));
    outputs[i].dims = NULL; /* The model's are known. */
  }
  status = kin_run(context, inputs, in, outputs, out, &error);
  if (status != KIN_OK)
    return fail(status, error);
  for (size_t i = 0; i < out; ++i) {
    print_shape(kin_model_output(model, i));
    if (outputs[i].type == KIN_TYPE_F32 && outputs[i].bytes)
      printf(": %g", *(float *)outputs[i].data);
    printf("\n");
    free(outputs[i].data);
  }
  for (size_t i = 0; i < in; ++i)
    free(inputs[i].data);
  kin_context_free(context);
  kin_model_free(model);
  return 0;
}
