/* Which executors and drivers of an application are meant: by the target words, and of those by
 * --executors, --driver, --slowest and --fraction. */
#ifndef SP_LAUNCHER_VIA_CHOOSE_H
#define SP_LAUNCHER_VIA_CHOOSE_H

#include "base/err.h"
#include "cli/options.h"
#include "discover/jvm.h"

/* Texts are borrowed. */
struct sp_via_member {
	const char *app, *id; /* application; executor */
	enum sp_jvm_role role;
	bool meant;
};

/* Does @word (APPID or its beginning, the same with /ID, driver, executor, executors, executor:ID)
 * mean it? */
bool sp_via_word_means(const char *word, const struct sp_via_member *m);

/* Refuses a word that begins the ids of several applications among @list. Returns 0, or -EINVAL
 * with a sentence. */
int sp_via_check_word(
	const char *word, const struct sp_via_member *list, size_t n, struct sp_err *err);

/* Takes those from @meant that the options of @call leave out, and adds drivers where --driver=on
 * wants them. Of --slowest the driver is asked. Returns 0, or -errno with a sentence. */
int sp_via_choose(
	const struct sp_call *call, struct sp_via_member *list, size_t n, struct sp_err *err);

#endif
