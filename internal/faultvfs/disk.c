//go:build cgo

/* The state of a folder: which call fails, and what was recorded. */

#include <stdlib.h>
#include <string.h>

#include "disk.h"

static pthread_mutex_t list_mu = PTHREAD_MUTEX_INITIALIZER;
static disk *list;

disk *disk_attach(const char *folder) {
	disk *d = calloc(1, sizeof *d);
	if (!d) return 0;
	d->length = strlen(folder) + 1;
	d->folder = malloc(d->length + 1);
	if (!d->folder) {
		free(d);
		return 0;
	}
	memcpy(d->folder, folder, d->length - 1);
	d->folder[d->length - 1] = '/';
	d->folder[d->length] = 0;
	pthread_mutex_init(&d->mu, 0);
	pthread_mutex_lock(&list_mu);
	d->next = list;
	list = d;
	pthread_mutex_unlock(&list_mu);
	return d;
}

/* Returns how many files are open still; only if there are none the disk is gone. */
int disk_detach(disk *d) {
	pthread_mutex_lock(&d->mu);
	int open = d->open;
	pthread_mutex_unlock(&d->mu);
	if (open) return open;
	pthread_mutex_lock(&list_mu);
	for (disk **p = &list; *p; p = &(*p)->next) {
		if (*p == d) {
			*p = d->next;
			break;
		}
	}
	pthread_mutex_unlock(&list_mu);
	pthread_mutex_destroy(&d->mu);
	free(d->events);
	free(d->data);
	free(d->folder);
	free(d);
	return 0;
}

/* The disk that a path is on, or 0. */
disk *disk_of(const char *path) {
	if (!path) return 0;
	pthread_mutex_lock(&list_mu);
	disk *d = list;
	while (d && strncmp(path, d->folder, d->length) != 0) d = d->next;
	pthread_mutex_unlock(&list_mu);
	return d;
}

const char *disk_base(disk *d, const char *path) { return path + d->length; }

void disk_arm(disk *d, uint32_t kinds, int64_t at, int lasting, int effect) {
	pthread_mutex_lock(&d->mu);
	d->kinds = kinds;
	d->at = at;
	d->lasting = lasting;
	d->effect = effect;
	d->counted = d->fired = 0;
	pthread_mutex_unlock(&d->mu);
}

/* Counts a call. It returns -1 if the call is to be made, or how it is to fail. */
int disk_fails(disk *d, int kind) {
	int how = -1;
	pthread_mutex_lock(&d->mu);
	d->calls[kind]++;
	if (d->kinds >> kind & 1) {
		int64_t n = ++d->counted;
		if (d->at && (n == d->at || (d->lasting && n > d->at))) {
			d->fired++;
			how = d->effect;
		}
	}
	pthread_mutex_unlock(&d->mu);
	return how;
}

int64_t disk_fired(disk *d) {
	pthread_mutex_lock(&d->mu);
	int64_t n = d->fired;
	pthread_mutex_unlock(&d->mu);
	return n;
}

int64_t disk_counted(disk *d) {
	pthread_mutex_lock(&d->mu);
	int64_t n = d->counted;
	pthread_mutex_unlock(&d->mu);
	return n;
}

int64_t disk_calls(disk *d, int kind) {
	pthread_mutex_lock(&d->mu);
	int64_t n = d->calls[kind];
	pthread_mutex_unlock(&d->mu);
	return n;
}

void disk_record(disk *d, int on) {
	pthread_mutex_lock(&d->mu);
	d->recording = on;
	pthread_mutex_unlock(&d->mu);
}

/* Makes room for more of what is counted in n, of these sizes. */
static void *grow(void *old, int64_t need, int64_t *room, size_t size) {
	if (need <= *room) return old;
	int64_t more = *room ? *room : 1024;
	while (more < need) more *= 2;
	void *p = realloc(old, more * size);
	if (!p) abort(); /* a test that has no memory left proves nothing */
	*room = more;
	return p;
}

/* Adds an event; the lock is held. */
void disk_event(disk *d, int kind, int file, int64_t offset, int64_t covers, const void *data, int64_t size) {
	if (!d->recording) return;
	d->events = grow(d->events, d->n + 1, &d->room, sizeof(event));
	d->data = grow(d->data, d->used + size, &d->space, 1);
	if (size) memcpy(d->data + d->used, data, size);
	d->events[d->n++] = (event){kind, file, offset, covers, size, d->used};
	d->used += size;
}

/* The number of the file that has a name now, or -1; the lock is held. */
int disk_known(disk *d, const char *name) {
	for (int i = d->files - 1; i >= 0; i--)
		if (strcmp(d->names[i], name) == 0) return i;
	return -1;
}

void disk_mark(disk *d, int64_t number) {
	pthread_mutex_lock(&d->mu);
	disk_event(d, V_MARK, -1, number, 0, 0, 0);
	pthread_mutex_unlock(&d->mu);
}

void disk_folder_synced(disk *d) {
	pthread_mutex_lock(&d->mu);
	disk_event(d, V_FOLDER, -1, 0, d->n, 0, 0);
	pthread_mutex_unlock(&d->mu);
}

int64_t disk_events(disk *d, event **events, char **data) {
	pthread_mutex_lock(&d->mu);
	*events = d->events;
	*data = d->data;
	int64_t n = d->n;
	pthread_mutex_unlock(&d->mu);
	return n;
}
