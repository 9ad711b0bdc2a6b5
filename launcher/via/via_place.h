/* Where a copy of this program is to run, a host or a pod, and the way there: the words of the
 * user's own ssh or kubectl. */
#ifndef SP_LAUNCHER_VIA_VIA_PLACE_H
#define SP_LAUNCHER_VIA_VIA_PLACE_H

#include "child.h"
#include "cli/options.h"
#include "discover/jvm.h"
#include "via_image.h"

/* Texts are borrowed. */
struct sp_via_place {
	const char *name;      /* of the host or pod, checked by sp_via_is_host, sp_via_is_pod */
	const char *container; /* of a pod; NULL: --container, or kubectl's own choice */
	/* what Spark's labels say of a pod; "" and SP_ROLE_OTHER: nothing is known */
	const char *app, *id;
	enum sp_jvm_role role;
};

/* No word for ssh's or kubectl's own options, and nothing that such a name has not. */
bool sp_via_is_host(const char *name);
bool sp_via_is_pod(const char *name);

/* The words that are run to begin at @place; the far side calls its lines @marker and reads the
 * program @image, of which machine and length are used. */
void sp_via_place_words(const struct sp_via_place *place, const struct sp_call *call,
	const char *marker, const struct sp_via_image *image, struct sp_via_words *ret);

/* ssh with what the user says of it, up to the host, which is checked by sp_via_is_host. */
void sp_via_ssh_words(const char *host, const struct sp_call *call, struct sp_via_words *ret);

/* kubectl with what chooses the cluster and the namespace. */
void sp_via_kubectl_words(const struct sp_call *call, struct sp_via_words *ret);

/* What to try where kubectl ended with the line @said: a sentence in @ret, for @place, NULL where
 * it was about none. *ret_alone: it says all, kubectl's words are not needed. Returns whether there
 * is advice. */
bool sp_via_kubectl_advice(const struct sp_call *call, const struct sp_via_place *place,
	const char *said, struct sp_buf *ret, bool *ret_alone);

#endif
