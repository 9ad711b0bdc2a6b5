/* Programs as they are sent to other hosts: this one, and for hosts of another machine the launcher
 * of that machine where it lies beside this one, as sparkprof-aarch64. */
#ifndef SP_LAUNCHER_VIA_VIA_IMAGE_H
#define SP_LAUNCHER_VIA_VIA_IMAGE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { SP_VIA_MACHINES = 2 };

struct sp_via_image {
	const char *machine; /* borrowed: what uname -sm says where it runs, "Linux x86_64" */
	uint8_t *data;	     /* owned; NULL: not read */
	size_t len;
	uint64_t hash;
};

struct sp_via_images {
	char machine[80]; /* of this host */
	struct sp_via_image ours, others[SP_VIA_MACHINES];
};

/* "Linux x86_64": of this host, as uname -sm says it there. Returns 0 or -errno. */
int sp_via_image_machine(char *ret, size_t size);

/* Reads this program. @ret stays where it is until _done. Returns 0, or -errno with a sentence. */
int sp_via_images_read(struct sp_via_images *ret, struct sp_err *err);
void sp_via_images_done(struct sp_via_images *images);

/* The program for a host that says that it is a @machine. Of that text, which is a stranger's, no
 * name of a file is made. A file beside ours is taken if it is ours or root's, nobody else may
 * write it, and it is a launcher of that machine and of this version. Returns NULL where there is
 * none; then @err says why. */
const struct sp_via_image *sp_via_images_find(
	struct sp_via_images *images, const char *machine, struct sp_err *err);

#endif
