/* Sentences for people: to whoever asked for the recording, or to stderr where nobody did. */
#ifndef SP_AGENT_HOST_SAY_H
#define SP_AGENT_HOST_SAY_H

/* How the agent speaks to whoever asked: one plain sentence, no newline (a fallback and its remedy,
 * a warning). Called from the control thread or the collector. */
typedef void sp_say_fn(void *ctx, const char *sentence);

/* One line on stderr: there is nobody else to tell. Any thread. */
void sp_say_stderr(const char *sentence);

#endif
