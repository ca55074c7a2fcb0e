/* One piece of work on several threads. */
#ifndef SL_THREADS_H
#define SL_THREADS_H

/* Call `work(data)` on so many threads, the caller's among them, and wait for all. Where a thread
 * cannot be had, the others do its part. */
void sl_run_threads(int count, void (*work)(void *data), void *data);

#endif
