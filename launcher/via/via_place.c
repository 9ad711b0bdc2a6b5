/* Places and the way there: see via_place.h. */
#include "via_place.h"

#include "base/cleanup.h"
#include "far.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the shell there runs. The login shell that takes it from ssh may be any, csh and fish too:
 * it is one line in single quotes, without quotes, backslashes and exclamation marks of its
 * own. A startup file may print what it likes: only lines that begin with the marker count. Nothing
 * is sent before "send", so that head cannot read further than the program; where packets are
 * dropped meanwhile it would wait for hours, so it has ten minutes (timeout, where it is known in
 * this form). A place may forbid
 * execution: the next one is tried. In a pod that may write nowhere else there are the directories
 * that Spark has for itself. In a directory without a sticky bit, as an emptyDir is, anybody may
 * put another file in the place of ours: it is written and run by descriptors, 7 and 8, once they
 * are seen to be of a file of our own. Root by sudo has no descriptors of ours, so it runs nothing
 * from such a directory; whether it may is asked first, before anything is there. */
#define SCRIPT                                                                                     \
	"m=%s; u=$(uname -sm); [ \"$u\" = \"%s\" ] || { echo \"$m machine $u\"; exit 3; }; umask " \
	"077; f=; w=; timeout 9 true 2>/dev/null && w=\"timeout 600\"; %s"                         \
	"for d in /tmp /var/tmp /dev/shm \"$HOME\" \"${SPARK_LOCAL_DIRS%%%%,*}\"; do "             \
	"[ -n \"$d\" ] || continue; t=\"$d/.$m\"; %s"                                              \
	"(set -C; : >\"$t\") 2>/dev/null || continue; "                                            \
	"exec 7>>\"$t\" 9<\"$t\"; [ -O /proc/self/fd/7 ] && [ -O /proc/self/fd/9 ] || exit 6; "    \
	"if [ -z \"$f\" ]; then echo \"$m send\"; $w head -c %zu >&7; "                            \
	"[ $(wc -c </proc/self/fd/9) -eq %zu ] || { rm -f \"$t\"; echo \"$m cut\"; exit 4; }; "    \
	"else cat <&8 >&7; rm -f \"$f\"; fi; f=\"$t\"; chmod 700 /proc/self/fd/7; "                \
	"exec 7>&- 8</proc/self/fd/9 9<&-; "                                                       \
	"/proc/self/fd/8 version >/dev/null 2>&1 && exec %s " SP_FAR_WORD " $m \"$f\"; "           \
	"done; [ -z \"$f\" ] || rm -f \"$f\"; echo \"$m nowhere\"; exit 5"

static bool has_only(const char *s, const char *others)
{
	if (*s == '-' || !*s)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr(others, *s))
			return false;
	return true;
}

/* Also user@host and [::1]. */
bool sp_via_is_host(const char *name)
{
	return has_only(name, "-._:@[]%/");
}

bool sp_via_is_pod(const char *name)
{
	return has_only(name, "-.");
}

/* Owned by the caller. */
static char *make_script(
	const struct sp_call *call, const char *marker, const struct sp_via_image *image)
{
	size_t size = image->len;
	char *text;

	if (asprintf(&text, SCRIPT, marker, image->machine,
		    call->sudo ? "sudo -n true || { echo \"$m sudo\"; exit 6; }; " : "",
		    call->sudo ? "[ -k \"$d\" ] || [ -O \"$d\" ] || continue; " : "", size, size,
		    call->sudo ? "sudo -n \"$f\"" : "/proc/self/fd/8") < 0)
		return NULL;
	return text;
}

void sp_via_ssh_words(const char *host, const struct sp_call *call, struct sp_via_words *ret)
{
	const char *const last[] = {"-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o",
		"ServerAliveInterval=5", "-o", "ServerAliveCountMax=3", "--", host};

	sp_via_words_add(ret, "ssh");
	sp_via_words_add(ret, "-T");
	for (size_t i = 0; i < call->ssh_options.n; i++) {
		sp_via_words_add(ret, "-o");
		sp_via_words_add(ret, call->ssh_options.text[i]);
	}
	if (call->ssh_user) {
		sp_via_words_add(ret, "-l");
		sp_via_words_add(ret, call->ssh_user);
	}
	for (size_t i = 0; i < SP_COUNT(last); i++)
		sp_via_words_add(ret, last[i]);
}

static void add_ssh(const struct sp_via_place *place, const struct sp_call *call,
	const char *script, struct sp_via_words *ret)
{
	char *quoted = NULL;

	sp_via_ssh_words(place->name, call, ret);
	if (asprintf(&quoted, "exec sh -c '%s'", script) < 0)
		quoted = NULL;
	sp_via_words_add(ret, quoted);
	free(quoted);
}

void sp_via_kubectl_words(const struct sp_call *call, struct sp_via_words *ret)
{
	sp_via_words_add(ret, "kubectl");
	sp_via_words_option(ret, "context", call->kube_context);
	sp_via_words_option(ret, "namespace", call->kube_namespace);
}

static const char *container_of(const struct sp_via_place *place, const struct sp_call *call)
{
	return call->container ? call->container : place->container;
}

static void add_kubectl(const struct sp_via_place *place, const struct sp_call *call,
	const char *script, struct sp_via_words *ret)
{
	sp_via_kubectl_words(call, ret);
	sp_via_words_add(ret, "exec");
	sp_via_words_add(ret, "-i");
	sp_via_words_option(ret, "container", container_of(place, call));
	sp_via_words_add(ret, place->name);
	sp_via_words_add(ret, "--");
	sp_via_words_add(ret, "sh");
	sp_via_words_add(ret, "-c");
	sp_via_words_add(ret, script);
}

void sp_via_place_words(const struct sp_via_place *place, const struct sp_call *call,
	const char *marker, const struct sp_via_image *image, struct sp_via_words *ret)
{
	char *script = make_script(call, marker, image);

	if (call->via == SP_VIA_KUBECTL)
		add_kubectl(place, call, script, ret);
	else if (script)
		add_ssh(place, call, script, ret);
	if (!script)
		sp_via_words_add(ret, NULL);
	free(script);
}

/* What kubectl's words mean, the first that fits. */
static const struct {
	const char *words[2];
	const char *advice;
} known[] = {
	{{"pods/exec", ""}, "your user needs the permission 'create pods/exec' in that namespace "
			    "(a Role and its RoleBinding); --context chooses another user"},
	{{"forbidden", ""},
		"your user needs the permissions 'get pods' and 'list pods' in that namespace (a "
		"Role and its RoleBinding); --context chooses another user"},
	{{"context", "does not exist"}, "'kubectl config get-contexts' lists them"},
	{{"namespaces", "not found"}, "'kubectl get namespaces' lists them"},
	{{"pods \"", "not found"}, "the pod is gone; 'kubectl get pods -l spark-role' lists those "
				   "that are there"},
	{{"container", "not found"}, "the container has ended or has not begun yet; 'kubectl get "
				     "pods -l spark-role' says which"},
	{{"container", "not valid"}, "--container names another one"},
	{{"completed pod", ""}, "the pod has ended"},
	{{"Unauthorized", ""}, "log in to the cluster again, or choose another by --context"},
	{{"must be logged in", ""}, "log in to the cluster again, or choose another by --context"},
	{{"onnect", ""}, "is that the right cluster? 'kubectl config current-context' says which "
			 "it is, --context chooses another"},
	{{"kubectl cannot be run", ""}, "install kubectl, or put it on PATH"},
};

/* An image without a shell: a container beside it has one. */
static void advise_debug(
	const struct sp_call *call, const struct sp_via_place *place, struct sp_buf *ret)
{
	const char *container = container_of(place, call);

	sp_buf_addf(ret,
		"its image has no shell. Add a debug container: kubectl%s%s%s%s debug %s "
		"--image=busybox --target=%s --container=sparkprof --profile=general -- sleep "
		"3600; then repeat the command with --container sparkprof",
		call->kube_context ? " --context=" : "",
		call->kube_context ? call->kube_context : "", call->kube_namespace ? " -n " : "",
		call->kube_namespace ? call->kube_namespace : "", place->name,
		container ? container : "CONTAINER");
}

static bool has_no_shell(const char *said)
{
	return strstr(said, "\"sh\"") && (strstr(said, "executable file not found") ||
						 strstr(said, "no such file or directory"));
}

bool sp_via_kubectl_advice(const struct sp_call *call, const struct sp_via_place *place,
	const char *said, struct sp_buf *ret, bool *ret_alone)
{
	*ret_alone = place && has_no_shell(said);
	if (*ret_alone) {
		advise_debug(call, place, ret);
		return true;
	}
	for (size_t i = 0; i < SP_COUNT(known); i++) {
		if (!strstr(said, known[i].words[0]) || !strstr(said, known[i].words[1]))
			continue;
		sp_buf_adds(ret, known[i].advice);
		return true;
	}
	return false;
}
