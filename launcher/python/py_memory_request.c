/* See py_memory_request.h. */
#include "py_memory_request.h"

#include "pysample/py_proc.h"
#include "wire/chan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void sp_py_memory_request_init(struct sp_py_memory_request *a, int socket)
{
	/* a descriptor of its own: that of the connection may be closed meanwhile */
	a->socket = socket < 0 ? -1 : fcntl(socket, F_DUPFD_CLOEXEC, 3);
	a->count = 0;
	pthread_mutex_init(&a->lock, NULL);
}

void sp_py_memory_request_done(struct sp_py_memory_request *a)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->answers[i].fd >= 0)
			close(a->answers[i].fd);
	if (a->socket >= 0)
		close(a->socket);
	pthread_mutex_destroy(&a->lock);
}

pid_t sp_py_memory_request(struct sp_py_memory_request *a, pid_t pid)
{
	uint32_t own = sp_pyproc_own_tid(pid, pid);
	struct sp_msg m = {.type = SP_MSG_MEMORY_WANTED, .num = {own}};
	uint8_t packet[64];
	int n = sp_msg_encode(&m, packet, sizeof(packet)), r;

	if (a->socket < 0 || !own || n < 0)
		return -EPERM;
	r = sp_chan_send_raw(a->socket, packet, (size_t)n, 1);
	return r < 0 ? r : (pid_t)own;
}

void sp_py_memory_request_give(struct sp_py_memory_request *a, pid_t pid, int error, int fd)
{
	pthread_mutex_lock(&a->lock);
	if (a->count < SP_PYASK_MAX)
		a->answers[a->count++] = (struct sp_py_memory_request_answer){pid, error, fd};
	else if (fd >= 0)
		close(fd);
	pthread_mutex_unlock(&a->lock);
}

size_t sp_py_memory_request_take(
	struct sp_py_memory_request *a, struct sp_py_memory_request_answer *ret)
{
	size_t n;

	pthread_mutex_lock(&a->lock);
	n = a->count;
	memcpy(ret, a->answers, n * sizeof(*ret));
	a->count = 0;
	pthread_mutex_unlock(&a->lock);
	return n;
}
