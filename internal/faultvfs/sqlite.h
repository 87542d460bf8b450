//go:build cgo

/* What this package needs of SQLite's stable interface (sqlite.org/c3ref), so that
** no header has to be installed. The functions are weak: they are found in the
** SQLite that the driver links into the same program, and a link without it, as
** cgo makes one to look at symbols, does not fail. */

#ifndef REFOLD_FAULTVFS_SQLITE_H
#define REFOLD_FAULTVFS_SQLITE_H

#include <stdint.h>

enum {
	OK = 0,
	NOMEM = 7,
	IOERR = 10,
	FULL = 13,
	CANTOPEN = 14,

	IOERR_READ = IOERR | 1 << 8,
	IOERR_WRITE = IOERR | 3 << 8,
	IOERR_FSYNC = IOERR | 4 << 8,
	IOERR_TRUNCATE = IOERR | 6 << 8,
	IOERR_FSTAT = IOERR | 7 << 8,
	IOERR_DELETE = IOERR | 10 << 8,
	IOERR_DELETE_NOENT = IOERR | 23 << 8,
	IOERR_ACCESS = IOERR | 13 << 8,
	IOERR_LOCK = IOERR | 15 << 8,
	IOERR_SHMSIZE = IOERR | 19 << 8,
	IOERR_SHMLOCK = IOERR | 20 << 8,
	IOERR_SHMMAP = IOERR | 21 << 8,

	OPEN_CREATE = 0x4,
	OPEN_DELETEONCLOSE = 0x8,
	OPEN_MAIN_DB = 0x100,
	OPEN_MAIN_JOURNAL = 0x800,
	OPEN_SUPER_JOURNAL = 0x4000,
	OPEN_WAL = 0x80000,

	SHM_UNLOCK = 1,
	CONFIG_MALLOC = 4,
	CONFIG_GETMALLOC = 5,
	CONFIG_LOOKASIDE = 13,
};

typedef struct sq_file sq_file;
typedef struct sq_vfs sq_vfs;

typedef struct {
	int version;
	int (*close)(sq_file *);
	int (*read)(sq_file *, void *, int amount, int64_t offset);
	int (*write)(sq_file *, const void *, int amount, int64_t offset);
	int (*truncate)(sq_file *, int64_t size);
	int (*sync)(sq_file *, int flags);
	int (*file_size)(sq_file *, int64_t *size);
	int (*lock)(sq_file *, int level);
	int (*unlock)(sq_file *, int level);
	int (*check_reserved)(sq_file *, int *out);
	int (*control)(sq_file *, int op, void *arg);
	int (*sector_size)(sq_file *);
	int (*characteristics)(sq_file *);
	/* version 2 */
	int (*shm_map)(sq_file *, int page, int size, int extend, void volatile **out);
	int (*shm_lock)(sq_file *, int offset, int n, int flags);
	void (*shm_barrier)(sq_file *);
	int (*shm_unmap)(sq_file *, int remove);
} sq_methods;

struct sq_file {
	const sq_methods *methods;
};

struct sq_vfs {
	int version;
	int file_size;
	int max_path;
	sq_vfs *next;
	const char *name;
	void *data;
	int (*open)(sq_vfs *, const char *name, sq_file *, int flags, int *out);
	int (*remove)(sq_vfs *, const char *name, int sync_folder);
	int (*access)(sq_vfs *, const char *name, int flags, int *out);
	int (*full_path)(sq_vfs *, const char *name, int size, char *out);
	void *(*dl_open)(sq_vfs *, const char *name);
	void (*dl_error)(sq_vfs *, int size, char *out);
	void (*(*dl_symbol)(sq_vfs *, void *, const char *name))(void);
	void (*dl_close)(sq_vfs *, void *);
	int (*randomness)(sq_vfs *, int size, char *out);
	int (*sleep)(sq_vfs *, int micros);
	int (*time)(sq_vfs *, double *out);
	int (*last_error)(sq_vfs *, int size, char *out);
	/* version 2 */
	int (*time64)(sq_vfs *, int64_t *out);
};

typedef struct {
	void *(*malloc)(int);
	void (*free)(void *);
	void *(*realloc)(void *, int);
	int (*size)(void *);
	int (*round_up)(int);
	int (*init)(void *);
	void (*shutdown)(void *);
	void *data;
} sq_memory;

#define WEAK __attribute__((weak))
WEAK sq_vfs *sqlite3_vfs_find(const char *name);
WEAK int sqlite3_vfs_register(sq_vfs *, int make_default);
WEAK int sqlite3_initialize(void);
WEAK int sqlite3_shutdown(void);
WEAK int sqlite3_config(int, ...);
WEAK int64_t sqlite3_memory_used(void);
WEAK int64_t sqlite3_hard_heap_limit64(int64_t);

#endif
