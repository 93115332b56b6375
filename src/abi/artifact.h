/*===- artifact.h - The bytes of an artifact ------------------------------===*/
/*
 * One file: a header, sections, and a table of the sections. All numbers are little-endian.
 * Constants come first so that they can be streamed to disk while they are computed; the table
 * comes last.
 *
 * An artifact holds the model in one or more variants, each for machines of another kind: for each
 * a manifest, and a section of the constants that no variant before it has. The table lists
 * variants best first; one is picked when the artifact is loaded. Sections of constants follow each
 * other without a gap but for the padding to a page, and are one space of bytes, of which a variant
 * sees its own section and those before.
 *
 *   header (KinArtifactHeader, 64 bytes) | padding to a page | sections ... | table of
 * KinArtifactSection
 *
 * Every section starts at a multiple of KIN_ARTIFACT_PAGE and its bytes hash to its digest. The
 * table and the header's fields before it hash to the header's digest, so one digest names the
 * whole file.
 *
 * A model with an open dimension may have variants for parts of its sizes beside the one for all of
 * them, which lists them: their names are that one's with "/" and the greatest size behind. They
 * come first, so that it sees all of their constants.
 *
 * A digest finds damage, not malice: whoever can write the file can write its digests. A reader
 * stays inside the bytes it was given whatever they are, but running an artifact runs the code in
 * it, with all rights of the process: run only those you trust.
 */
/*===----------------------------------------------------------------------===*/
#ifndef KINTSUGI_ABI_ARTIFACT_H
#define KINTSUGI_ABI_ARTIFACT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KIN_ARTIFACT_MAGIC "KINTSUGI" /* 8 characters, no terminator in the file */
#define KIN_ARTIFACT_VERSION 3
#define KIN_ARTIFACT_PAGE 4096
#define KIN_ARTIFACT_MAX_SECTIONS 256

typedef struct KinArtifactHeader {
  char magic[8];
  uint32_t version;
  uint32_t section_count;
  uint64_t table_offset; /* section_count KinArtifactSections that end the file */
  uint64_t file_bytes;
  uint8_t digest[32]; /* BLAKE3 of the 32 bytes above, then of the table */
} KinArtifactHeader;

typedef enum KinSectionKind {
  KIN_SECTION_MANIFEST = 1,  /* JSON; one for each variant, by its name; at least one */
  KIN_SECTION_CONSTANTS = 2, /* raw bytes that buffers of the manifest of that name lie in */
  KIN_SECTION_CODE = 3,      /* a code object; its name is in the manifest's list of code objects */
  KIN_SECTION_PROVENANCE = 4, /* JSON; at most one */
} KinSectionKind;

typedef struct KinArtifactSection {
  uint32_t kind;     /* KinSectionKind; readers skip kinds they do not know */
  uint32_t reserved; /* 0 */
  uint64_t offset;   /* from the start of the file */
  uint64_t bytes;
  uint8_t digest[32]; /* BLAKE3 of the section's bytes */
  char name[40];      /* UTF-8, ended by a zero byte; unique among sections of its kind */
} KinArtifactSection;

#ifdef __cplusplus
}
#endif

#endif /* KINTSUGI_ABI_ARTIFACT_H */
