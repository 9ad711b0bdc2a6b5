/* The types a sparkprof recording declares, each once: the metadata event and the encoding of every
 * event come from the table in types.c. To add an event: an id here, its fields there and their
 * names in event_fields.def. */
#ifndef SP_JFR_TYPES_H
#define SP_JFR_TYPES_H

#include "base/thread_state.h"

#include <stddef.h>
#include <stdint.h>

/* Type ids as they are in the file. 0 and 1 are the format's own (metadata, checkpoint). */
enum sp_jfr_type_id {
	SP_JFR_METADATA = 0,
	SP_JFR_CHECKPOINT = 1,

	SP_JFR_BOOLEAN = 4,
	SP_JFR_CHAR,
	SP_JFR_FLOAT,
	SP_JFR_DOUBLE,
	SP_JFR_BYTE,
	SP_JFR_SHORT,
	SP_JFR_INT,
	SP_JFR_LONG,

	SP_JFR_STRING = 20,
	SP_JFR_CLASS,
	SP_JFR_THREAD,
	SP_JFR_CLASS_LOADER,
	SP_JFR_THREAD_GROUP,
	SP_JFR_FRAME_TYPE,
	SP_JFR_THREAD_STATE,
	SP_JFR_STACK_TRACE,
	SP_JFR_STACK_FRAME,
	SP_JFR_METHOD,
	SP_JFR_PACKAGE,
	SP_JFR_SYMBOL,
	SP_JFR_GC_NAME,
	SP_JFR_GC_CAUSE,
	SP_JFR_GC_WHEN,
	SP_JFR_VIRTUAL_SPACE,

	SP_JFR_LABEL = 48,
	SP_JFR_CATEGORY,
	SP_JFR_TIMESTAMP,
	SP_JFR_TIMESPAN,
	SP_JFR_DATA_AMOUNT,
	SP_JFR_MEMORY_ADDRESS,
	SP_JFR_UNSIGNED,
	SP_JFR_PERCENTAGE,
	SP_JFR_CONTENT_TYPE, /* annotates the annotations that say what a number means */

	/* 70 to 79 stay free: where a chunk's head lies inside another chunk's pad, its magic reads
	 * as an event of type 'L' (file.c). */
	SP_JFR_EVENT_FIRST = 80,
	SP_JFR_EXECUTION_SAMPLE = SP_JFR_EVENT_FIRST,
	SP_JFR_WALL_SAMPLE,
	SP_JFR_SPAN,
	SP_JFR_WINDOW,
	SP_JFR_ACTIVE_RECORDING,
	SP_JFR_ACTIVE_SETTING,
	SP_JFR_OS_INFORMATION,
	SP_JFR_CPU_INFORMATION,
	SP_JFR_JVM_INFORMATION,
	SP_JFR_SYSTEM_PROPERTY,
	SP_JFR_NATIVE_LIBRARY,
	SP_JFR_GC_CONFIGURATION,
	SP_JFR_CLASS_LOADING,
	SP_JFR_THREAD_START,
	SP_JFR_THREAD_END,
	SP_JFR_CPU_LOAD,
	SP_JFR_RSS,
	SP_JFR_HEAP_SUMMARY,
	SP_JFR_GC,
	SP_JFR_MODULE,
	SP_JFR_COUNTS,
	SP_JFR_LOST,
	SP_JFR_TASK,
	SP_JFR_STAGE,
	SP_JFR_APPLICATION,
	SP_JFR_ALLOC,
	SP_JFR_ALLOC_OUTSIDE,
	SP_JFR_LIVE,
	SP_JFR_MONITOR_ENTER,
	SP_JFR_THREAD_PARK,
	SP_JFR_MALLOC,
	SP_JFR_FREE,
	SP_JFR_IDLE_PARK,
	SP_JFR_LIVE_AGE,
	SP_JFR_CALL_COUNT,
	SP_JFR_METHOD_TRACE,
	SP_JFR_PYTHON_PROCESS,
	SP_JFR_MEMORY_GROUP,
	SP_JFR_PYTHON_SOCKET,
	SP_JFR_LIVE_SO_FAR,
	SP_JFR_CPU_THROTTLING,
	SP_JFR_CLASS_SOURCE,
	SP_JFR_NATIVE_LOCK,
	SP_JFR_NATIVE_LOCK_KIND,
	SP_JFR_SQL_PLAN,
	SP_JFR_TASK_MEASURES,
	SP_JFR_PROCESS_SAMPLE,
	SP_JFR_TYPE_IDS
};

/* What a number means; becomes an annotation of the field. */
enum sp_jfr_unit {
	SP_JFR_PLAIN,
	SP_JFR_TICKS,	   /* a moment, CLOCK_MONOTONIC nanoseconds */
	SP_JFR_TICKS_SPAN, /* a duration in the same */
	SP_JFR_EPOCH_MS,   /* a moment, milliseconds since 1970 */
	SP_JFR_MS_SPAN,
	SP_JFR_BYTES,
	SP_JFR_ADDRESS,
	SP_JFR_PERCENT, /* 0 to 1 */
	SP_JFR_COUNT,	/* unsigned */
};

#define SP_JFR_POOL  1 /* the field holds an id of the constant pool of its type */
#define SP_JFR_ARRAY 2

struct sp_jfr_field {
	const char *name;
	uint8_t type; /* enum sp_jfr_type_id */
	uint8_t flags, unit;
	const char *label;
};

enum sp_jfr_kind {
	SP_JFR_KIND_PLAIN,
	SP_JFR_KIND_SIMPLE,
	SP_JFR_KIND_ANNOTATION,
	SP_JFR_KIND_EVENT
};

struct sp_jfr_type {
	const char *name, *label;
	const char *category[3];	   /* outermost first; events only */
	const struct sp_jfr_field *fields; /* ended by a field without a name */
	uint8_t kind;			   /* enum sp_jfr_kind */
};

/* Frame types under the numbers async-profiler gives them, which its converter relies on. */
enum sp_jfr_frame_id {
	SP_JFR_FRAME_INTERPRETED,
	SP_JFR_FRAME_JIT,
	SP_JFR_FRAME_INLINED,
	SP_JFR_FRAME_NATIVE,
	SP_JFR_FRAME_CPP,
	SP_JFR_FRAME_KERNEL,
	SP_JFR_FRAME_C1,
	SP_JFR_FRAMES
};

enum sp_gc_when { SP_GC_BEFORE = 1, SP_GC_AFTER };

extern const char *const sp_jfr_state_names[SP_STATES];
extern const char *const sp_jfr_frame_names[SP_JFR_FRAMES];

/* The declaration of a type, or NULL where @id is not declared. */
const struct sp_jfr_type *sp_jfr_type(unsigned id);

#endif
