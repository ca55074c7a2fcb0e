#include "threads.h"

#include <pthread.h>

enum { MOST = 256 };

typedef struct {
    void (*work)(void *data);
    void *data;
} job;

static void *start(void *given) {
    const job *mine = given;
    mine->work(mine->data);
    return 0;
}

void sl_run_threads(int count, void (*work)(void *data), void *data) {
    pthread_t threads[MOST];
    job shared = {work, data};
    int started = 0;
    for (; started < count - 1 && started < MOST; started++)
        if (pthread_create(&threads[started], 0, start, &shared)) break;
    work(data);
    while (started > 0) pthread_join(threads[--started], 0);
}
