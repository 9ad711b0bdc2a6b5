/* Sentences for people: to the launcher that asked for the recording, else to stderr. */
#ifndef SP_AGENT_HOST_SAY_H
#define SP_AGENT_HOST_SAY_H

/* How the agent reports: one plain sentence, no newline (a fallback and its remedy,
 * a warning). Called from the control thread or the collector. */
typedef void sp_say_fn(void *ctx, const char *sentence);

/* One line on stderr: there is no other receiver. Any thread. */
void sp_say_stderr(const char *sentence);

#endif
