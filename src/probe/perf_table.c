/* See perf_table.h. */
#include "probe/perf_table.h"
#include "base/cleanup.h"

#include <linux/perf_event.h>
#include <string.h>

#define SW(name, id)                                                            \
	{                                                                       \
		name, SP_PROBE_SOFTWARE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id \
	}
#define HW(name, id)                                                            \
	{                                                                       \
		name, SP_PROBE_HARDWARE, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id \
	}
#define CA(name, id, op, res)                                                         \
	{                                                                             \
		name, SP_PROBE_CACHE, PERF_TYPE_HW_CACHE,                             \
			PERF_COUNT_HW_CACHE_##id | PERF_COUNT_HW_CACHE_OP_##op << 8 | \
				PERF_COUNT_HW_CACHE_RESULT_##res << 16                \
	}

static const struct sp_perf_event table[] = {
	SW("cpu-clock", CPU_CLOCK),
	SW("task-clock", TASK_CLOCK),
	SW("page-faults", PAGE_FAULTS),
	SW("minor-faults", PAGE_FAULTS_MIN),
	SW("major-faults", PAGE_FAULTS_MAJ),
	SW("context-switches", CONTEXT_SWITCHES),
	SW("cpu-migrations", CPU_MIGRATIONS),
	SW("alignment-faults", ALIGNMENT_FAULTS),
	SW("emulation-faults", EMULATION_FAULTS),
	HW("cycles", CPU_CYCLES),
	HW("instructions", INSTRUCTIONS),
	HW("cache-references", CACHE_REFERENCES),
	HW("cache-misses", CACHE_MISSES),
	HW("branch-instructions", BRANCH_INSTRUCTIONS),
	HW("branch-misses", BRANCH_MISSES),
	HW("bus-cycles", BUS_CYCLES),
	HW("ref-cycles", REF_CPU_CYCLES),
	HW("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HW("stalled-cycles-backend", STALLED_CYCLES_BACKEND),
	CA("L1-dcache-loads", L1D, READ, ACCESS),
	CA("L1-dcache-load-misses", L1D, READ, MISS),
	CA("L1-dcache-stores", L1D, WRITE, ACCESS),
	CA("L1-icache-load-misses", L1I, READ, MISS),
	CA("LLC-loads", LL, READ, ACCESS),
	CA("LLC-load-misses", LL, READ, MISS),
	CA("LLC-stores", LL, WRITE, ACCESS),
	CA("LLC-store-misses", LL, WRITE, MISS),
	CA("dTLB-loads", DTLB, READ, ACCESS),
	CA("dTLB-load-misses", DTLB, READ, MISS),
	CA("dTLB-store-misses", DTLB, WRITE, MISS),
	CA("iTLB-loads", ITLB, READ, ACCESS),
	CA("iTLB-load-misses", ITLB, READ, MISS),
	CA("branch-loads", BPU, READ, ACCESS),
	CA("branch-load-misses", BPU, READ, MISS),
};

const struct sp_perf_event *sp_perf_table(size_t *ret_n)
{
	*ret_n = SP_COUNT(table);
	return table;
}

const struct sp_perf_event *sp_perf_table_find(const char *name)
{
	for (size_t i = 0; i < SP_COUNT(table); i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}
