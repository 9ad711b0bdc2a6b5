/* Answers of Spark's and YARN's REST, asked for by the user's own curl: with his Kerberos ticket,
 * his proxy and his certificates. */
#ifndef SP_LAUNCHER_VIA_FETCH_H
#define SP_LAUNCHER_VIA_FETCH_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/options.h"

/* GETs @url into @ret, which is cleared first. Returns 0; -EINTR; -EIO with what curl said. */
int sp_via_fetch(const char *url, struct sp_buf *ret, struct sp_err *err);

/* The same. With --via ssh, where this host does not get an answer, the host that @url names is
 * asked for it by ssh, with the curl or wget that it has: networks often let ssh through and
 * nothing else.
 */
int sp_via_fetch_or_there(
	const struct sp_call *call, const char *url, struct sp_buf *ret, struct sp_err *err);

/* The words that ssh is run with for that; none (NULL at once) where @url holds anything that is no
 * plain address, or no name of a host. */
struct sp_via_words;
void sp_via_fetch_words(const struct sp_call *call, const char *url, struct sp_via_words *ret);

#endif
