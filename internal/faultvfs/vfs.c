//go:build cgo

/* The VFS: every call is passed on, unless the disk of its file lets it fail.
** What changes a file is recorded when it has been done. */

#include <string.h>

#include "disk.h"

static sq_vfs vfs;
static sq_vfs *base;

/* An open file. That of the base follows it in memory. */
typedef struct {
	sq_file head;
	disk *disk;    /* 0 if the file is none of ours */
	int file;      /* its number in the record; -1 if it is not recorded */
	int fresh;     /* its folder is synced with it the next time, as the base does it */
} file;

#define OURS(f) ((file *)(f))
#define THEIRS(f) ((sq_file *)((file *)(f) + 1))
#define PASS(f, call, ...) (THEIRS(f)->methods->call(THEIRS(f), ##__VA_ARGS__))
#define FAILS(f, kind) (OURS(f)->disk ? disk_fails(OURS(f)->disk, kind) : -1)

static int f_close(sq_file *f) {
	int rc = PASS(f, close);
	if (OURS(f)->disk) {
		pthread_mutex_lock(&OURS(f)->disk->mu);
		OURS(f)->disk->open--;
		pthread_mutex_unlock(&OURS(f)->disk->mu);
	}
	return rc;
}

static int f_read(sq_file *f, void *to, int amount, int64_t offset) {
	if (FAILS(f, K_READ) >= 0) return IOERR_READ;
	return PASS(f, read, to, amount, offset);
}

/* Writes and records as one, so that the record has the order of the writes. */
static int write_and_record(sq_file *f, const void *from, int amount, int64_t offset) {
	disk *d = OURS(f)->disk;
	if (!d) return PASS(f, write, from, amount, offset);
	pthread_mutex_lock(&d->mu);
	int rc = PASS(f, write, from, amount, offset);
	if (rc == OK && OURS(f)->file >= 0) disk_event(d, V_WRITE, OURS(f)->file, offset, 0, from, amount);
	pthread_mutex_unlock(&d->mu);
	return rc;
}

static int f_write(sq_file *f, const void *from, int amount, int64_t offset) {
	switch (FAILS(f, K_WRITE)) {
	case E_IO: return IOERR_WRITE;
	case E_FULL: return FULL;
	case E_TORN:
		write_and_record(f, from, amount / 2, offset);
		return IOERR_WRITE;
	}
	return write_and_record(f, from, amount, offset);
}

static int f_truncate(sq_file *f, int64_t size) {
	if (FAILS(f, K_TRUNCATE) >= 0) return IOERR_TRUNCATE;
	disk *d = OURS(f)->disk;
	if (!d) return PASS(f, truncate, size);
	pthread_mutex_lock(&d->mu);
	int rc = PASS(f, truncate, size);
	if (rc == OK && OURS(f)->file >= 0) disk_event(d, V_TRUNCATE, OURS(f)->file, size, 0, 0, 0);
	pthread_mutex_unlock(&d->mu);
	return rc;
}

/* A sync is not passed on: the power of tests is cut in the record, and syncs
** would be most of their time. */
static int f_sync(sq_file *f, int flags) {
	disk *d = OURS(f)->disk;
	if (!d) return PASS(f, sync, flags);
	pthread_mutex_lock(&d->mu);
	int64_t covers = d->n;
	pthread_mutex_unlock(&d->mu);
	int fails = FAILS(f, K_SYNC) >= 0;
	if (OURS(f)->file < 0) return fails ? IOERR_FSYNC : OK;
	pthread_mutex_lock(&d->mu);
	if (fails) {
		disk_event(d, V_UNSYNCED, OURS(f)->file, 0, covers, 0, 0);
		pthread_mutex_unlock(&d->mu);
		return IOERR_FSYNC;
	}
	disk_event(d, V_SYNC, OURS(f)->file, 0, covers, 0, 0);
	if (OURS(f)->fresh) disk_event(d, V_FOLDER, -1, 0, covers, 0, 0);
	OURS(f)->fresh = 0;
	pthread_mutex_unlock(&d->mu);
	return OK;
}

static int f_size(sq_file *f, int64_t *size) {
	if (FAILS(f, K_SIZE) >= 0) return IOERR_FSTAT;
	return PASS(f, file_size, size);
}

static int f_lock(sq_file *f, int level) {
	if (FAILS(f, K_LOCK) >= 0) return IOERR_LOCK;
	return PASS(f, lock, level);
}

static int f_unlock(sq_file *f, int level) { return PASS(f, unlock, level); }
static int f_check_reserved(sq_file *f, int *out) { return PASS(f, check_reserved, out); }
static int f_control(sq_file *f, int op, void *arg) { return PASS(f, control, op, arg); }
static int f_sector_size(sq_file *f) { return PASS(f, sector_size); }
static int f_characteristics(sq_file *f) { return PASS(f, characteristics); }

static int f_shm_map(sq_file *f, int page, int size, int extend, void volatile **out) {
	switch (FAILS(f, K_SHM_MAP)) {
	case -1: return PASS(f, shm_map, page, size, extend, out);
	case E_FULL: *out = 0; return IOERR_SHMSIZE;
	}
	*out = 0;
	return IOERR_SHMMAP;
}

static int f_shm_lock(sq_file *f, int offset, int n, int flags) {
	if (!(flags & SHM_UNLOCK) && FAILS(f, K_SHM_LOCK) >= 0) return IOERR_SHMLOCK;
	return PASS(f, shm_lock, offset, n, flags);
}

static void f_shm_barrier(sq_file *f) { PASS(f, shm_barrier); }
static int f_shm_unmap(sq_file *f, int remove) { return PASS(f, shm_unmap, remove); }

/* Version 2: without mapped reading, so that all reads are calls. */
static const sq_methods methods = {
	2, f_close, f_read, f_write, f_truncate, f_sync, f_size, f_lock, f_unlock, f_check_reserved, f_control,
	f_sector_size, f_characteristics, f_shm_map, f_shm_lock, f_shm_barrier, f_shm_unmap,
};
static const sq_methods methods_without_shm = {
	1, f_close, f_read, f_write, f_truncate, f_sync, f_size, f_lock, f_unlock, f_check_reserved, f_control,
	f_sector_size, f_characteristics, 0, 0, 0, 0,
};

/* Gives an opened file its number in the record, and records it if it is new. */
static void name_file(file *f, const char *path, int flags) {
	disk *d = f->disk;
	const char *name = disk_base(d, path);
	if (!d->recording || !(flags & (OPEN_MAIN_DB | OPEN_MAIN_JOURNAL | OPEN_WAL)) || strlen(name) >= MAX_NAME) return;
	f->file = disk_known(d, name);
	if (f->file >= 0 || d->files == MAX_FILES) return;
	f->file = d->files++;
	strcpy(d->names[f->file], name);
	disk_event(d, V_CREATE, f->file, 0, 0, name, strlen(name));
	f->fresh = !(flags & OPEN_MAIN_DB);
}

static int v_open(sq_vfs *v, const char *path, sq_file *out, int flags, int *given) {
	file *f = OURS(out);
	memset(f, 0, sizeof *f);
	f->file = -1;
	disk *d = disk_of(path);
	if (d && disk_fails(d, K_OPEN) >= 0) return CANTOPEN;
	if (d) pthread_mutex_lock(&d->mu);
	int rc = base->open(base, path, THEIRS(out), flags, given);
	if (THEIRS(out)->methods) f->head.methods = THEIRS(out)->methods->version >= 2 ? &methods : &methods_without_shm;
	if (d && f->head.methods) {
		f->disk = d;
		d->open++;
		if (rc == OK) name_file(f, path, flags);
	}
	if (d) pthread_mutex_unlock(&d->mu);
	return rc;
}

static int v_remove(sq_vfs *v, const char *path, int sync_folder) {
	disk *d = disk_of(path);
	if (!d) return base->remove(base, path, sync_folder);
	if (disk_fails(d, K_DELETE) >= 0) return IOERR_DELETE;
	pthread_mutex_lock(&d->mu);
	int rc = base->remove(base, path, 0);
	int known = disk_known(d, disk_base(d, path));
	if (rc == OK && known >= 0) {
		disk_event(d, V_DELETE, known, 0, 0, 0, 0);
		d->names[known][0] = 0;
		if (sync_folder) disk_event(d, V_FOLDER, -1, 0, d->n, 0, 0);
	}
	pthread_mutex_unlock(&d->mu);
	return rc;
}

static int v_access(sq_vfs *v, const char *path, int flags, int *out) {
	disk *d = disk_of(path);
	if (d && disk_fails(d, K_ACCESS) >= 0) return IOERR_ACCESS;
	return base->access(base, path, flags, out);
}

static int v_full_path(sq_vfs *v, const char *path, int size, char *out) { return base->full_path(base, path, size, out); }
static void *v_dl_open(sq_vfs *v, const char *path) { return base->dl_open(base, path); }
static void v_dl_error(sq_vfs *v, int size, char *out) { base->dl_error(base, size, out); }
static void (*v_dl_symbol(sq_vfs *v, void *lib, const char *name))(void) { return base->dl_symbol(base, lib, name); }
static void v_dl_close(sq_vfs *v, void *lib) { base->dl_close(base, lib); }
static int v_randomness(sq_vfs *v, int size, char *out) { return base->randomness(base, size, out); }
static int v_sleep(sq_vfs *v, int micros) { return base->sleep(base, micros); }
static int v_time(sq_vfs *v, double *out) { return base->time(base, out); }
static int v_last_error(sq_vfs *v, int size, char *out) { return base->last_error(base, size, out); }
static int v_time64(sq_vfs *v, int64_t *out) { return base->time64(base, out); }

/* Puts the VFS above the one that is the default, and makes it the default. */
int faultvfs_init(void) {
	base = sqlite3_vfs_find(0);
	if (!base || base->version < 2) return -1;
	vfs = (sq_vfs){
		2, sizeof(file) + base->file_size, base->max_path, 0, "refold-faults", 0,
		v_open, v_remove, v_access, v_full_path, v_dl_open, v_dl_error, v_dl_symbol, v_dl_close,
		v_randomness, v_sleep, v_time, v_last_error, v_time64,
	};
	return sqlite3_vfs_register(&vfs, 1);
}
