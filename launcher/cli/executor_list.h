/* --executors: 1,4-9. Executors' ids are numbers in every Spark. */
#ifndef SP_LAUNCHER_CLI_EXECUTOR_LIST_H
#define SP_LAUNCHER_CLI_EXECUTOR_LIST_H

#include <stdbool.h>

bool sp_executor_list_is(const char *text);

/* @list passed sp_executor_list_is; an @id that is no number is in none. */
bool sp_executor_list_has(const char *list, const char *id);

#endif
