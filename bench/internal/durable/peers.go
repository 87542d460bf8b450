package durable

import (
	"database/sql"
	"time"

	"github.com/jackc/pgx/v5"
)

const everySQLite = "go-sqlite3, WAL, BEGIN IMMEDIATE, 5 s busy timeout; "

// peersAtFull sync each commit, as Refold's appends do.
var peersAtFull = []contender{
	peer[*sql.Tx]{
		name: "goqite", size: sizes{enqueue: 2000, process: 3000, job: 0.05},
		settings: everySQLite + "FULL, one connection as its README says, 64 MB of cache and a checkpoint every 10,000 pages as Refold; 16 jobs at once, polling every µs",
		open:     openGoqite("FULL", true, time.Microsecond),
	},
	peer[*sql.Tx]{
		name: "backlite", size: sizes{enqueue: 2000, process: 500, job: 0.01},
		settings: everySQLite + "FULL, one connection, 64 MB of cache and a checkpoint every 10,000 pages as Refold; 16 workers; its waits of 100 ms cannot be set",
		open:     openBacklite(sqliteSettings{synchronous: "FULL", connections: 1, wide: true}),
	},
	peer[*sql.Tx]{
		name: "River SQLite", size: sizes{enqueue: 1000, process: 2000, job: 0.03},
		settings: everySQLite + "FULL, one connection as its driver's documentation says, 64 MB of cache and a checkpoint every 10,000 pages as Refold; 16 workers, fetch cooldown 1 ms (the least), poll 20 ms",
		open:     openRiverSQLite("FULL", true, riverTuned),
	},
	peer[pgx.Tx]{
		name: "River PostgreSQL", size: sizes{enqueue: 1500, process: 5000, job: 0.05},
		settings: "pgx, the server as it is (it should have synchronous_commit on), its CPU is not counted; up to 80 connections; 16 workers, fetch cooldown 1 ms (the least), poll 20 ms",
		open:     openRiverPostgres(riverTuned), skip: withoutPostgres,
	},
}

// peersAtNormal have their driver's default durability and are tuned otherwise.
var peersAtNormal = []contender{
	peer[*sql.Tx]{
		name: "goqite, NORMAL", size: sizes{enqueue: 5000, process: 3000, job: 0.05},
		settings: "as goqite, with NORMAL: a power cut may lose what was acknowledged",
		open:     openGoqite("NORMAL", true, time.Microsecond),
	},
	peer[*sql.Tx]{
		name: "backlite, NORMAL", size: sizes{enqueue: 5000, process: 500, job: 0.01},
		settings: "as backlite, with NORMAL",
		open:     openBacklite(sqliteSettings{synchronous: "NORMAL", connections: 1, wide: true}),
	},
	peer[*sql.Tx]{
		name: "River SQLite, NORMAL", size: sizes{enqueue: 1000, process: 2000, job: 0.03},
		settings: "as River SQLite, with NORMAL",
		open:     openRiverSQLite("NORMAL", true, riverTuned),
	},
}

// peersAtDefault have nothing set but the number of workers, the journal and how
// transactions begin.
var peersAtDefault = []contender{
	peer[*sql.Tx]{
		name: "goqite, defaults", size: sizes{process: 300, job: 0.01},
		settings: everySQLite + "NORMAL, one connection; 16 jobs at once, polling every 100 ms",
		open:     openGoqite("NORMAL", false, 0),
	},
	peer[*sql.Tx]{
		name: "backlite, defaults", size: sizes{process: 300, job: 0.01},
		settings: everySQLite + "NORMAL, any number of connections as in its README; 16 workers",
		open:     openBacklite(sqliteSettings{synchronous: "NORMAL"}),
	},
	peer[*sql.Tx]{
		name: "River SQLite, defaults", size: sizes{process: 300, job: 0.005},
		settings: everySQLite + "NORMAL, one connection; 16 workers, fetch cooldown 100 ms, poll 1 s",
		open:     openRiverSQLite("NORMAL", false, riverDefault),
	},
	peer[pgx.Tx]{
		name: "River PostgreSQL, defaults", size: sizes{process: 300, job: 0.005},
		settings: "as River PostgreSQL, fetch cooldown 100 ms, poll 1 s",
		open:     openRiverPostgres(riverDefault), skip: withoutPostgres,
	},
}
