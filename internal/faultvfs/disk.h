//go:build cgo

#ifndef REFOLD_FAULTVFS_DISK_H
#define REFOLD_FAULTVFS_DISK_H

#include <pthread.h>

#include "sqlite.h"
#include "vfs.h"

#define MAX_FILES 4096
#define MAX_NAME 256

/* A folder with its faults and its record. mu guards all that follows it. */
struct disk {
	disk *next;     /* guarded by the list's lock */
	char *folder;   /* with a slash at its end */
	size_t length;

	pthread_mutex_t mu;
	int open;           /* files that are open */
	uint32_t kinds;     /* the kinds that are counted, bit 1 << kind */
	int64_t at;         /* which of them fails; 0 means none */
	int lasting, effect;
	int64_t counted, fired;
	int64_t calls[K_COUNT];

	int recording;
	event *events;
	int64_t n, room;
	char *data;
	int64_t used, space;
	char names[MAX_FILES][MAX_NAME]; /* of each file; empty when it is deleted */
	int files;
};

disk *disk_of(const char *path);
int disk_fails(disk *, int kind);
const char *disk_base(disk *, const char *path);
int disk_known(disk *, const char *name);
void disk_event(disk *, int kind, int file, int64_t offset, int64_t covers, const void *data, int64_t size);

#endif
