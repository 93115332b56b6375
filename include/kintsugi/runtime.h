/*===- kintsugi/runtime.h - Running compiled models, in plain C -----------===*/
/*
 * The runtime's whole interface: load an artifact, make a context, run it. It needs no compiler.
 *
 *   KinModel *model;
 *   KinContext *context;
 *   KinError *error = NULL;
 *   if (kin_model_load("digits.kin", NULL, &model, &error) != KIN_OK ||
 *       kin_context_create(model, NULL, &context, &error) != KIN_OK)
 *     ... kin_error_message(error) ...
 *   kin_run(context, inputs, input_count, outputs, output_count, &error);
 *
 * Every handle is opaque and freed by its own function, which takes NULL too. All memory of tensors
 * is the caller's. Any thread may call anything: a model is shared freely, a context serves one run
 * at a time (others wait), so use a context for each thread that is to run at the same time as
 * others.
 *
 * An artifact contains machine code that runs with all rights of the process. Damage is found;
 * malice is not: load only artifacts that you trust.
 */
/*===----------------------------------------------------------------------===*/
#ifndef KINTSUGI_RUNTIME_H
#define KINTSUGI_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define KIN_API __attribute__((visibility("default")))
#else
#define KIN_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Who has to act when something fails. */
typedef enum KinStatus {
  KIN_OK = 0,
  KIN_FAILED_COMPARISON = 1,
  KIN_USAGE = 2,    /* an argument is wrong, or the run was cancelled */
  KIN_INPUT = 3,    /* the artifact, or the values of an input, are wrong */
  KIN_INTERNAL = 4, /* our own fault */
  KIN_MACHINE = 5   /* disk, memory, device */
} KinStatus;

/* The numbers of ONNX's TensorProto.DataType; those that are not named here keep theirs. Elements
   narrower than a byte are packed, the first in the lowest bits. */
typedef enum KinType {
  KIN_TYPE_ANY = 0,
  KIN_TYPE_F32 = 1,
  KIN_TYPE_U8 = 2,
  KIN_TYPE_I8 = 3,
  KIN_TYPE_U16 = 4,
  KIN_TYPE_I16 = 5,
  KIN_TYPE_I32 = 6,
  KIN_TYPE_I64 = 7,
  KIN_TYPE_BOOL = 9, /* a byte, 0 or 1 */
  KIN_TYPE_F16 = 10,
  KIN_TYPE_F64 = 11,
  KIN_TYPE_U32 = 12,
  KIN_TYPE_U64 = 13,
  KIN_TYPE_C64 = 14,
  KIN_TYPE_C128 = 15,
  KIN_TYPE_BF16 = 16
} KinType;

typedef struct KinError KinError;
typedef struct KinModel KinModel;
typedef struct KinContext KinContext;

/*===- Errors -------------------------------------------------------------===*/
/* Functions that can fail return a KinStatus and, where `error` is not NULL, set *error to an error
   to be freed, or to NULL where there is none. */

/* For libraries that report their own errors as these do; NULL where there is no memory. */
KIN_API KinError *kin_error_create(const char *message);

/* One line that says what is wrong and what to do; lives as long as the error. */
KIN_API const char *kin_error_message(const KinError *error);
KIN_API void kin_error_free(KinError *error);

/* "0.1.0" */
KIN_API const char *kin_runtime_version(void);

/*===- Models -------------------------------------------------------------===*/

typedef struct KinLoadOptions {
  size_t struct_bytes; /* sizeof(KinLoadOptions) */
  /* Not to read all constants at once to check their digest: a model of gigabytes then loads in no
   * time. */
  int skip_constants_check;
  const char *device; /* "cpu" (also NULL), "cuda" or "cuda:N" (an NVIDIA GPU, by number), or
                         "null", which computes nothing */
} KinLoadOptions;

/* `options` may be NULL. The file must not be changed while the model lives; replacing it is fine.
 */
KIN_API KinStatus kin_model_load(const char *path, const KinLoadOptions *options, KinModel **model,
                                 KinError **error);

/* The same for an artifact in memory, which is copied. */
KIN_API KinStatus kin_model_load_memory(const void *bytes, size_t count,
                                        const KinLoadOptions *options, KinModel **model,
                                        KinError **error);

/* Contexts of the model stay valid. */
KIN_API void kin_model_free(KinModel *model);

/* A dimension whose extent is the size of one of the model's open dimensions times `step`. A run's
   inputs say the size, from `low` to `high`. */
typedef struct KinOpenAxis {
  int32_t dimension; /* -1 for none */
  int64_t step, low, high;
  const char *name; /* that the model gives the open dimension; NULL for none */
} KinOpenAxis;

/* Describes an input or output. Lives as long as the model. */
typedef struct KinPort {
  const char *name;
  int32_t type; /* KinType */
  int32_t rank;
  const int64_t *dims; /* bounds where an output's extents depend on data */
  uint64_t bytes;      /* what its memory needs */
  int32_t dynamic;     /* whether an output's extents depend on data */
  int32_t may_alias;   /* the input whose memory, as a whole, an output certainly takes without a
                          copy more; -1 where that is not said */
  KinOpenAxis
      open[2]; /* `dims` and `bytes` have their greatest sizes; those that are there first */
} KinPort;

KIN_API size_t kin_model_input_count(const KinModel *model);
KIN_API size_t kin_model_output_count(const KinModel *model);

/* NULL past the end. */
KIN_API const KinPort *kin_model_input(const KinModel *model, size_t index);
KIN_API const KinPort *kin_model_output(const KinModel *model, size_t index);

/* The artifact's manifest as JSON: stages, buffers, plan. Lives as long as the model. */
KIN_API const char *kin_model_manifest(const KinModel *model);

/*===- Running ------------------------------------------------------------===*/

typedef struct KinContextOptions {
  size_t struct_bytes; /* sizeof(KinContextOptions) */
  uint32_t threads;    /* the calling one included; 0 for one on each usable core */
  int profile;         /* whether to time each stage, see kin_context_profile */
} KinContextOptions;

/* `options` may be NULL. */
KIN_API KinStatus kin_context_create(const KinModel *model, const KinContextOptions *options,
                                     KinContext **context, KinError **error);
KIN_API void kin_context_free(KinContext *context);

/* A dense, row-major tensor in the caller's memory, aligned to its elements: the host's, or, for a
   model that is loaded on a GPU, that GPU's (from cudaMalloc, torch, ...), where nothing crosses
   the bus. What else writes inputs there, or reads outputs, has to be done before the run: see
   kin_context_stream. */
typedef struct KinTensor {
  const char *name; /* NULL to go by position */
  int32_t type;     /* KinType; KIN_TYPE_ANY in outputs */
  int32_t rank;     /* in outputs, how many extents `dims` has room for */
  int64_t *dims;    /* in inputs they say the size of an open dimension; in outputs they receive
                       the extents, and may be NULL where none is dynamic */
  void *data;       /* inputs are only read */
  uint64_t bytes;   /* of `data`: what the extents of this run need, or more */
} KinTensor;

/* Runs the model on all its inputs and outputs. Outputs may overlap inputs, as a cache does that is
   written where it was read, and the results are those of inputs that nobody wrote to; where stages
   read an input after they write the output, the output takes memory of the context's first and a
   copy more. Outputs don't overlap each other. */
KIN_API KinStatus kin_run(KinContext *context, const KinTensor *inputs, size_t input_count,
                          const KinTensor *outputs, size_t output_count, KinError **error);

/* Tensors that runs of a context take again and again: what they are is looked at once, what is in
   them when a run begins. */
typedef struct KinBinding KinBinding;

/* How one run is done. */
typedef struct KinRunOptions {
  size_t struct_bytes; /* sizeof(KinRunOptions) */
  /* Whether the run is put on `stream`, a CUstream of the caller's on the context's GPU (NULL: the
     default stream), in place of the context's own. The run comes behind what is in the stream, and
     what is put there later comes behind the run, so inputs need not be ready yet. */
  int on_stream;
  void *stream;
  /* Whether to return when the GPU is asked for all of the run, and not when it is done. Tensors in
     the GPU's memory stay, and are not touched but by way of the stream, until it is; those of the
     host are the caller's again. A run whose outputs are the host's is waited for all the same.
     What is found wrong with the run later, an index out of its range, is the error of a later run
     of the context, which is not begun then. */
  int no_wait;
  /* Whether nothing is run, and runs that were not waited for are: what was wrong with one is the
     error. There are no tensors then. */
  int only_wait;
  /* NULL, or where a binding is. Where that is NULL it becomes the one of the run's tensors, unless
     they are refused; their memory, and the `dims` of outputs, then stay where they are as long as
     the binding lives. Otherwise the run takes what is bound, and there are no tensors. */
  KinBinding **binding;
} KinRunOptions;

/* The same with options, which may be NULL. */
KIN_API KinStatus kin_run_with(KinContext *context, const KinTensor *inputs, size_t input_count,
                               const KinTensor *outputs, size_t output_count,
                               const KinRunOptions *options, KinError **error);

/* Its context may be freed before or after it. */
KIN_API void kin_binding_free(KinBinding *binding);

/* The stream (a CUstream) on which a context of a GPU works, which lives as long as the context;
   NULL for other devices. A run has done its work when kin_run returns; whoever still writes an
   input asks this stream to wait for that before the run (cuStreamWaitEvent), or puts the run on
   its own stream (KinRunOptions). */
KIN_API void *kin_context_stream(const KinContext *context);

/* Whether memory is that of a context's GPU, as a run takes it to be; 0 for all other memory, which
   a run takes for the host's. */
KIN_API int kin_context_owns(const KinContext *context, const void *memory);

/* Ends the run under way, or the next one if there is none, with KIN_USAGE. */
KIN_API void kin_context_cancel(KinContext *context);

typedef struct KinStageTime {
  uint64_t launches;    /* over all runs of the context */
  uint64_t nanoseconds; /* of all launches together */
} KinStageTime;

/* Fills `times` for the first `capacity` stages of the manifest; returns how many stages there are.
   All zero unless the context profiles. Not during a run. */
KIN_API size_t kin_context_profile(const KinContext *context, KinStageTime *times, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* KINTSUGI_RUNTIME_H */
