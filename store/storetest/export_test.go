package storetest

import "time"

// SetModelTime sets after how long the models begin no further run.
func SetModelTime(d time.Duration) { modelTime = d }
