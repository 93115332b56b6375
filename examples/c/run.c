/*===- run.c - Runs an artifact on inputs of ones, from plain C -----------===*/
/* run MODEL.kin: prints each output's name, shape and first elements. Link with -lkintsugi_runtime.
 */

#include <kintsugi/runtime.h>

#include <stdio.h>
#include <stdlib.h>

/* A tensor for the port, its memory zeroed. */
static KinTensor tensor_for(const KinPort *port) {
  KinTensor tensor;
  tensor.name = port->name;
  tensor.type = port->type;
  tensor.rank = port->rank;
  tensor.dims = malloc(sizeof(int64_t) * (size_t)(port->rank + 1));
  for (int32_t i = 0; i < port->rank; ++i)
    tensor.dims[i] = port->dims[i];
  tensor.data = calloc(1, port->bytes + 1);
  tensor.bytes = port->bytes;
  return tensor;
}

static void fill_with_ones(KinTensor *tensor) {
  if (tensor->type == KIN_TYPE_F32)
    for (uint64_t i = 0; i < tensor->bytes / sizeof(float); ++i)
      ((float *)tensor->data)[i] = 1;
  else if (tensor->type == KIN_TYPE_I64)
    for (uint64_t i = 0; i < tensor->bytes / sizeof(int64_t); ++i)
      ((int64_t *)tensor->data)[i] = 1;
}

static void print_tensor(const KinTensor *tensor) {
  int64_t count = 1;
  printf("%s [", tensor->name);
  for (int32_t i = 0; i < tensor->rank; ++i) {
    printf(i ? ", %lld" : "%lld", (long long)tensor->dims[i]);
    count *= tensor->dims[i];
  }
  printf("]:");
  for (int64_t i = 0; i < count && i < 5; ++i) {
    if (tensor->type == KIN_TYPE_F32)
      printf(" %g", ((float *)tensor->data)[i]);
    else if (tensor->type == KIN_TYPE_I64)
      printf(" %lld", (long long)((int64_t *)tensor->data)[i]);
  }
  printf("\n");
}

static int fail(KinStatus status, KinError *error) {
  fprintf(stderr, "run: %s\n", kin_error_message(error));
  kin_error_free(error);
  return status;
}

int main(int argc, char **argv) {
  KinError *error = NULL;
  KinModel *model = NULL;
  KinContext *context = NULL;
  KinStatus status;
  if (argc != 2) {
    fprintf(stderr, "usage: run MODEL.kin\n");
    return KIN_USAGE;
  }
  if ((status = kin_model_load(argv[1], NULL, &model, &error)) != KIN_OK)
    return fail(status, error);
  if ((status = kin_context_create(model, NULL, &context, &error)) != KIN_OK)
    return fail(status, error);

  size_t input_count = kin_model_input_count(model), output_count = kin_model_output_count(model);
  KinTensor *inputs = malloc(sizeof(KinTensor) * (input_count + 1));
  KinTensor *outputs = malloc(sizeof(KinTensor) * (output_count + 1));
  for (size_t i = 0; i < input_count; ++i) {
    inputs[i] = tensor_for(kin_model_input(model, i));
    fill_with_ones(&inputs[i]);
  }
  for (size_t i = 0; i < output_count; ++i)
    outputs[i] = tensor_for(kin_model_output(model, i));

  status = kin_run(context, inputs, input_count, outputs, output_count, &error);
  if (status != KIN_OK)
    return fail(status, error);
  for (size_t i = 0; i < output_count; ++i)
    print_tensor(&outputs[i]);

  for (size_t i = 0; i < input_count; ++i) {
    free(inputs[i].data);
    free(inputs[i].dims);
  }
  for (size_t i = 0; i < output_count; ++i) {
    free(outputs[i].data);
    free(outputs[i].dims);
  }
  free(inputs);
  free(outputs);
  kin_context_free(context);
  kin_model_free(model);
  return 0;
}
