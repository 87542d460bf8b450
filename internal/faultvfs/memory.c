//go:build cgo

/* SQLite's allocator with a counter in front of it. */

#include "sqlite.h"
#include "vfs.h"

static sq_memory below;
static int64_t counted, fired, at;
static int lasting;

static int fails(void) {
	int64_t n = __atomic_add_fetch(&counted, 1, __ATOMIC_SEQ_CST);
	int64_t which = __atomic_load_n(&at, __ATOMIC_SEQ_CST);
	if (!which || !(n == which || (n > which && __atomic_load_n(&lasting, __ATOMIC_SEQ_CST)))) return 0;
	__atomic_add_fetch(&fired, 1, __ATOMIC_SEQ_CST);
	return 1;
}

static void *m_malloc(int size) { return fails() ? 0 : below.malloc(size); }
static void *m_realloc(void *old, int size) { return fails() ? 0 : below.realloc(old, size); }
static void m_free(void *p) { below.free(p); }
static int m_size(void *p) { return below.size(p); }
static int m_round_up(int size) { return below.round_up(size); }
static int m_init(void *data) { return below.init(below.data); }
static void m_shutdown(void *data) { below.shutdown(below.data); }

/* Must run before the first connection of the process is opened. */
int memory_init(void) {
	sq_memory above = {m_malloc, m_free, m_realloc, m_size, m_round_up, m_init, m_shutdown, 0};
	int rc = sqlite3_initialize(); /* the default allocator is chosen then */
	if (rc == OK) rc = sqlite3_shutdown();
	if (rc == OK) rc = sqlite3_config(CONFIG_GETMALLOC, &below);
	if (rc == OK) rc = sqlite3_config(CONFIG_MALLOC, &above);
	if (rc == OK) rc = sqlite3_initialize();
	return rc;
}

void memory_arm(int64_t which, int lasts) {
	__atomic_store_n(&at, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&counted, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&fired, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&lasting, lasts, __ATOMIC_SEQ_CST);
	__atomic_store_n(&at, which, __ATOMIC_SEQ_CST);
}

int64_t memory_counted(void) { return __atomic_load_n(&counted, __ATOMIC_SEQ_CST); }
int64_t memory_fired(void) { return __atomic_load_n(&fired, __ATOMIC_SEQ_CST); }

/* Limits what SQLite holds to what it holds now and so much more; negative takes
** the limit away. Returns the limit. */
int64_t memory_limit(int64_t more) {
	int64_t limit = more < 0 ? 0 : sqlite3_memory_used() + more;
	sqlite3_hard_heap_limit64(limit);
	return limit;
}
