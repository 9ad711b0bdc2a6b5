/* See plan_graph.h. */
#include "plan_graph.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_reader.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	NODES = 2048,
	EDGES = 4096,
	NUMBERS = 256,
	DEEPEST = 200,
	TEXT_MOST = 30000 /* what an event of a recording holds */
};

struct node {
	int64_t id;
	uint32_t number; /* of the generated class it is fused into; 0: none */
	struct sp_json_reader name;
};

struct edge {
	uint16_t from, to; /* of nodes[]; rows go that way */
};

struct graph {
	struct node nodes[NODES];
	struct edge edges[EDGES];
	unsigned node_count, edge_count;
};

static void read_nodes(struct graph *g, struct sp_json_reader list)
{
	struct sp_json_reader x;
	size_t at = 0;

	while (g->node_count < NODES && (x = sp_json_reader_next(list, &at)).p) {
		int64_t n = sp_json_reader_int(sp_json_reader_get(x, "wholeStageCodegenId"), 0);

		g->nodes[g->node_count++] =
			(struct node){.id = sp_json_reader_int(sp_json_reader_get(x, "nodeId"), -1),
				.number = n > 0 && n < NUMBERS ? (uint32_t)n : 0,
				.name = sp_json_reader_get(x, "nodeName")};
	}
}

static unsigned find(const struct graph *g, struct sp_json_reader id)
{
	int64_t n = sp_json_reader_int(id, -2);
	unsigned i = 0;

	while (i < g->node_count && g->nodes[i].id != n)
		i++;
	return i;
}

/* Only those within one generated class. */
static void read_edges(struct graph *g, struct sp_json_reader list)
{
	struct sp_json_reader x;
	size_t at = 0;

	while (g->edge_count < EDGES && (x = sp_json_reader_next(list, &at)).p) {
		unsigned from = find(g, sp_json_reader_get(x, "fromId"));
		unsigned to = find(g, sp_json_reader_get(x, "toId"));

		if (from < g->node_count && to < g->node_count && from != to &&
			g->nodes[from].number && g->nodes[from].number == g->nodes[to].number)
			g->edges[g->edge_count++] = (struct edge){(uint16_t)from, (uint16_t)to};
	}
}

static bool is_first(const struct graph *g, unsigned node)
{
	for (unsigned i = 0; i < g->edge_count; i++)
		if (g->edges[i].from == node)
			return false;
	return true;
}

static void add_fused(const struct graph *g, unsigned node, unsigned depth, struct sp_buf *out)
{
	SP_AUTO_FREE char *name = sp_json_reader_text(g->nodes[node].name);

	if (depth == DEEPEST || out->len > TEXT_MOST)
		return;
	/* "Scan parquet default.sales" */
	if (name)
		sp_buf_addf(out, "%s%.*s", out->len ? " ← " : "", (int)strcspn(name, " \n"), name);
	for (unsigned i = 0; i < g->edge_count; i++)
		if (g->edges[i].to == node)
			add_fused(g, g->edges[i].from, depth + 1, out);
}

/* What is fused into the generated class of that number; *ret_twice: into several, differently. */
static void name_number(const struct graph *g, uint32_t number, struct sp_buf *out, bool *ret_twice)
{
	*ret_twice = false;
	for (unsigned i = g->node_count; i-- > 0;) {
		SP_AUTO_BUF struct sp_buf one = {0};

		if (g->nodes[i].number != number || !is_first(g, i))
			continue;
		add_fused(g, i, 0, &one);
		if (!out->len)
			sp_buf_adds(out, sp_buf_str(&one));
		else
			*ret_twice |= strcmp(sp_buf_str(out), sp_buf_str(&one)) != 0;
	}
}

char *sp_plan_graph_pipelines(const char *json, size_t len, bool *ret_running)
{
	struct sp_json_reader all = sp_json_reader_value(json, json + len);
	SP_AUTO_FREE char *status = sp_json_reader_text(sp_json_reader_get(all, "status"));
	SP_AUTO_FREE struct graph *g = calloc(1, sizeof(*g));
	SP_AUTO_BUF struct sp_buf b = {0};

	*ret_running = status && strcmp(status, "RUNNING") == 0;
	if (!g)
		return NULL;
	read_nodes(g, sp_json_reader_get(all, "nodes"));
	read_edges(g, sp_json_reader_get(all, "edges"));
	for (uint32_t n = 1; n < NUMBERS; n++) {
		SP_AUTO_BUF struct sp_buf fused = {0};
		bool twice;

		name_number(g, n, &fused, &twice);
		if (fused.len && b.len + fused.len < TEXT_MOST)
			sp_buf_addf(&b, "%u %s\n", n, twice ? "" : sp_buf_str(&fused));
	}
	return b.len && !b.failed ? strdup(sp_buf_str(&b)) : NULL;
}
