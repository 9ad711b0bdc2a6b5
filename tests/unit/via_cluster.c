/* Who runs where, as Spark, YARN and a standalone master answer. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "via/child.h"
#include "via/cluster.h"
#include "via/fetch.h"
#include "via/standalone.h"

static void check_hosts(
	size_t (*read)(const char *, size_t, struct sp_buf *), const char *json, const char *hosts)
{
	struct sp_buf b = {0};

	read(json, strlen(json), &b);
	cr_assert_str_eq(sp_buf_str(&b), hosts, "%s", json);
	sp_buf_done(&b);
	for (size_t n = 0; n < strlen(json); n++) { /* cut anywhere: no more than these */
		read(json, n, &b);
		sp_buf_done(&b);
	}
}

Test(via_cluster, hosts_in_answers)
{
	check_hosts(sp_via_cluster_read_executors,
		"[{\"id\": \"driver\", \"hostPort\": \"d.x:4000\"}, {\"id\": \"1\", \"hostPort\": "
		"\"[::1]:5\"}, {\"id\": \"2\", \"hostPort\": \"n2\"}]",
		"d.x,[::1],n2");
	check_hosts(sp_via_cluster_read_containers,
		"{\"containers\": {\"container\": [{\"assignedNodeId\": \"n1:8041\"}, "
		"{\"assignedNodeId\": \"n2:8041\"}]}}",
		"n1,n2");
	check_hosts(sp_via_cluster_read_containers,
		"{\"container\": [{\"assignedNodeId\": \"n1:8041\", \"containerState\": "
		"\"RUNNING\"}, "
		"{\"assignedNodeId\": \"n2:8041\", \"containerState\": \"COMPLETE\"}]}",
		"n1");
	check_hosts(sp_via_cluster_read_containers,
		"{\"containers\": {\"container\": {\"assignedNodeId\": \"n1:8041\"}}}", "n1");
	check_hosts(sp_via_cluster_read_nodes,
		"{\"nodes\": {\"node\": [{\"nodeHostName\": \"n1\"}]}}", "n1");
	check_hosts(sp_via_cluster_read_nodes, "{\"nodes\": null}", "");
}

Test(via_cluster, hostile_hosts_in_answers_are_left_out)
{
	check_hosts(sp_via_cluster_read_executors,
		"[{\"hostPort\": \"-oProxyCommand=id:1\"}, {\"hostPort\": \"a b:1\"}, "
		"{\"hostPort\": "
		"\"$(id):1\"}, {\"hostPort\": \"n1,n2;x\"}, {\"hostPort\": \"\\u001b[31m:1\"}, "
		"{\"hostPort\": \":1\"}, {\"hostPort\": 7}, {\"hostPort\": \"@/etc/passwd\"}]",
		"");
}

Test(via_cluster, resource_managers_of_a_configuration)
{
	static const struct {
		const char *xml, *managers;
	} cases[] = {
		{"<property><name>yarn.resourcemanager.hostname</name><value>rm</value></property>",
			"http://rm:8088\n"},
		{"<property><name>yarn.resourcemanager.hostname</name><value>rm</value></property>"
		 "<property>\n<name>yarn.resourcemanager.webapp.address</name>\n<value> rm2:99 "
		 "</value>"
		 "</property>",
			"http://rm2:99\n"},
		{"<property><name>yarn.resourcemanager.ha.rm-ids</name><value>a,b</value></"
		 "property>"
		 "<property><name>yarn.resourcemanager.hostname.a</name><value>x</value></property>"
		 "<property><name>yarn.resourcemanager.hostname.b</name><value>y</value></property>"
		 "<property><name>yarn.http.policy</name><value>HTTPS_ONLY</value></property>",
			"https://x:8090\nhttps://y:8090\n"},
		{"<property><name>yarn.resourcemanager.hostname</name><value>${x}</value></"
		 "property>",
			""},
		{"<property><name>yarn.resourcemanager.hostname</name></property>", ""},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sp_buf b = {0};

		sp_via_cluster_managers(cases[i].xml, &b);
		cr_assert_str_eq(sp_buf_str(&b), cases[i].managers, "%s", cases[i].xml);
		sp_buf_done(&b);
	}
}

Test(via_cluster, workers_of_a_standalone_master)
{
	static const char json[] =
		"{\"url\": \"spark://m:7077\", \"workers\": ["
		"{\"host\": \"n1\", \"state\": \"ALIVE\", \"webuiaddress\": \"http://n1:8081\"},"
		"{\"host\": \"n2\", \"state\": \"DEAD\", \"webuiaddress\": \"http://n2:8081\"},"
		"{\"host\": \"n3\", \"state\": \"ALIVE\", \"webuiaddress\": \"/proxy/worker-3\"},"
		"{\"host\": \"-oProxyCommand=x\", \"state\": \"ALIVE\"},"
		"{\"host\": \"a b\", \"state\": \"ALIVE\"},"
		"{\"host\": \"n4\", \"state\": \"ALIVE\", \"webuiaddress\": "
		"\"file:///etc/passwd\"},"
		"{\"host\": \"n5\", \"state\": \"ALIVE\", \"webuiaddress\": "
		"\"http://u@n5:8081\"},"
		"{\"host\": \"n6\", \"state\": \"ALIVE\", \"webuiaddress\": "
		"\"https://n6:8081/x?y\"}, 7]}";
	static const char *const hosts[] = {"n1", "n3", "n4", "n5", "n6"};
	struct sp_via_worker w;
	size_t at = 0;

	for (size_t i = 0; i < SP_COUNT(hosts); i++) {
		cr_assert(sp_via_standalone_worker(json, sizeof(json) - 1, &at, &w));
		cr_expect_str_eq(w.host, hosts[i]);
		cr_expect_str_eq(w.ui, i ? "" : "http://n1:8081");
	}
	cr_assert_not(sp_via_standalone_worker(json, sizeof(json) - 1, &at, &w));
	for (size_t n = 0; n < sizeof(json); n++)
		for (at = 0; sp_via_standalone_worker(json, n, &at, &w);)
			;
}

Test(via_cluster, executors_of_a_standalone_worker)
{
	static const char json[] =
		"{\"executors\": [{\"id\": 0, \"appid\": \"app-2-0001\"}], "
		"\"finishedexecutors\": [{\"id\": 0, \"appid\": \"app-1-0000\"}]}";

	cr_expect(sp_via_standalone_runs(json, sizeof(json) - 1, "app-2-0001", 10));
	cr_expect(sp_via_standalone_runs(json, sizeof(json) - 1, "app-2/7", 5));
	cr_expect_not(sp_via_standalone_runs(json, sizeof(json) - 1, "app-1", 5));
	cr_expect_not(sp_via_standalone_runs("", 0, "app-1", 5));
	cr_expect_not(sp_via_standalone_runs("[]", 2, "app-1", 5));
}

/* What is given to a shell there is a plain address, and what is given to ssh a host. */
Test(via_cluster, an_address_is_asked_for_from_its_host)
{
	static const struct {
		const char *url, *host;
	} cases[] = {
		{"http://driver:4040/api/v1/applications", "driver"},
		{"https://[::1]:4040/x", "[::1]"},
		{"http://d.example.org/proxy/application_1_2/", "d.example.org"},
		{"http://driver:4040/$(id)", NULL},
		{"http://driver:4040/'x", NULL},
		{"http://driver:4040/a b", NULL},
		{"http://user@driver:4040/", NULL},
		{"http://-oProxyCommand=x:1/", NULL},
		{"http://localhost:4040/", NULL},
		{"http:///x", NULL},
		{"x", NULL},
	};
	static struct sp_call call; /* large */

	call.via = SP_VIA_SSH;
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_WORDS struct sp_via_words words = {0};

		sp_via_fetch_words(&call, cases[i].url, &words);
		if (cases[i].host)
			cr_expect_str_eq(words.list[words.n - 2], cases[i].host);
		else
			cr_expect_eq(words.n, 0, "%s", cases[i].url);
	}
}
