/* supervisor: the one process per job that outlives ranks and launchers. It holds the memory that the ranks share, passes
 * their handles on (ipc/broker.h), takes findings out of the ranks' rings, and writes the reports whatever happened.
 * It runs in a session of its own, with one poll() loop and no thread, and it never touches CUDA. */
#ifndef GSAN_SUPERVISOR_SUPERVISOR_H
#define GSAN_SUPERVISOR_SUPERVISOR_H

#include <stdint.h>

#define SUPERVISOR_EXIT_UNCHECKED 67 /* of a job that did not fail, found nothing, and was not checked */

/* What ends a job with that status: nothing; that no kernel was checked, or nothing of a rank; or any unchecked kernel. */
enum supervisor_unchecked { UNCHECKED_ALLOWED, UNCHECKED_KNOWN, UNCHECKED_REFUSED };

/* What becomes of races by the letter of PTX alone: listed below the others; and they count for the status; not listed. */
enum supervisor_formal { FORMAL_REPORT, FORMAL_FAIL, FORMAL_IGNORE };

struct report_job;
struct report_style;
struct suppressions;
struct supervisor_config {
	const char *report;      /* directory, exists */
	const char *ptxas;       /* gsan-ptxas, or NULL */
	const char *cache;       /* directory for the ranks' compile caches, or NULL: a temporary one */
	const char *socket;      /* its name, by which the job's processes are known */
	const char *nvml;        /* what to load to see how GPUs are linked */
	int emulated;            /* they are none of this machine */
	const struct report_job *job; /* as it starts; for its report */
	const struct report_style *style; /* of the text, for whoever prints it */
	uint32_t size;           /* ranks of the job */
	uint32_t seed;
	int host_order_modelled;
	int timeout_ms;          /* for the launchers to meet, and for the others once a rank failed */
	int64_t wait_ms;         /* for the others once a rank ended well */
	int exit_code;           /* of a job that found something and did not fail otherwise */
	enum supervisor_unchecked unchecked;
	enum supervisor_formal formal;
	const struct suppressions *suppressions;
	uint32_t details;        /* findings of a kind that are listed, at most */
	int rank;                /* of the launcher that starts the job, the first of its ranks */
	const char *terms;       /* what all launchers of the job must have been told alike: lines NAME\tVALUE, of options */
	const char *apart;       /* what to do that two jobs are not taken for one, as a sentence's end; "": they cannot be */
};

struct text;
/* Until the descriptor that it returns is closed, the folder is taken for all others. -EWOULDBLOCK: it is another job's, and that does not
 * end within `wait_ms`; another -errno: this file system cannot say. */
int supervisor_lock_folder(const char *folder, int wait_ms);
#define SUPERVISOR_FOLDER_WAIT_MS 5000 /* for a job whose launchers are gone already */
void supervisor_forget_report(const char *folder); /* which an earlier job left there, unless one that runs has the folder */
void supervisor_folder_taken(struct text *out, const char *folder); /* says that, and what to do */

/* Serves the job on `listener` until all launchers are gone or served. Returns 0 or -errno (nothing served). */
int supervisor_run(int listener, const struct supervisor_config *config);

#endif
