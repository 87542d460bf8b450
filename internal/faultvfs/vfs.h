//go:build cgo

#ifndef REFOLD_FAULTVFS_VFS_H
#define REFOLD_FAULTVFS_VFS_H

#include <stdint.h>

/* Kinds of calls; the Go side has the same numbers. */
enum {
	K_OPEN,
	K_READ,
	K_WRITE,
	K_TRUNCATE,
	K_SYNC,
	K_SIZE,
	K_LOCK,
	K_SHM_MAP,
	K_SHM_LOCK,
	K_DELETE,
	K_ACCESS,
	K_COUNT
};

/* What a call that fails does. */
enum { E_IO, E_FULL, E_TORN };

/* Kinds of events in a record. */
enum { V_CREATE, V_DELETE, V_WRITE, V_TRUNCATE, V_SYNC, V_FOLDER, V_MARK, V_UNSYNCED };

typedef struct {
	int32_t kind;
	int32_t file;    /* which file, in order of creation */
	int64_t offset;  /* of a write; the new size, of a truncate; of a mark its number */
	int64_t covers;  /* of a sync, or one that failed: how many events there were when it began */
	int64_t size;    /* of the data of a write, or of a name */
	int64_t at;      /* where that data is */
} event;

typedef struct disk disk;

int faultvfs_init(void);
disk *disk_attach(const char *folder);
int disk_detach(disk *);
void disk_arm(disk *, uint32_t kinds, int64_t at, int lasting, int effect);
int64_t disk_fired(disk *);
int64_t disk_counted(disk *);
int64_t disk_calls(disk *, int kind);
void disk_record(disk *, int on);
void disk_mark(disk *, int64_t number);
void disk_folder_synced(disk *);
int64_t disk_events(disk *, event **events, char **data);

int memory_init(void);
void memory_arm(int64_t at, int lasting);
int64_t memory_counted(void);
int64_t memory_fired(void);
int64_t memory_limit(int64_t more);

#endif
