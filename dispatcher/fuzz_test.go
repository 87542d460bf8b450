package dispatcher

import "testing"

// FuzzTable reads a run of the table from bytes: the first two are its limit and
// how many workers there are, then come three for each step.
func FuzzTable(f *testing.F) {
	const signal, signalAll, take, done, delay, wake, reread, beginRead, endRead = 0, 1, 2, 3, 4, 5, 6, 7, 8
	f.Add([]byte{8, 1, signal, 0, 0, take, 0, 0, signal, 0, 0, done, 0, 0, take, 0, 0, done, 0, 0})       // round again
	f.Add([]byte{8, 1, signal, 0, 0, take, 0, 0, done, 0, 2, signal, 0, 0, wake, 7, 0, take, 0, 0})       // delayed
	f.Add([]byte{8, 1, signal, 0, 0, take, 0, 0, signal, 0, 0, done, 0, 3, signal, 0, 0, take, 0, 0})     // parked and resumed
	f.Add([]byte{1, 1, signalAll, 0, 9, take, 0, 0, done, 0, 0, beginRead, 0, 0, signal, 1, 0})           // full
	f.Add([]byte{1, 2, delay, 0, 1, delay, 1, 2, signal, 3, 0, wake, 7, 0, wake, 7, 0, beginRead, 0, 0})  // too many delayed
	f.Add([]byte{4, 3, signalAll, 0, 4, take, 3, 0, done, 0, 0, done, 0, 1, done, 1, 2, take, 3, 0})      // given back twice
	f.Add([]byte{3, 2, reread, 0, 0, beginRead, 0, 0, beginRead, 0, 0, signalAll, 2, 15, reread, 0, 0})   // read again
	f.Add([]byte{8, 3, signalAll, 0, 12, take, 3, 0, take, 3, 0, signalAll, 0, 12, done, 0, 12, wake, 7}) // many

	f.Add([]byte{8, 1, signal, 0, 0, take, 0, 0, done, 0, 3, signal, 0, 0, wake, 7, 0, take, 0, 0}) // cooling, and a signal
	f.Add([]byte{8, 1, signal, 0, 0, take, 0, 0, done, 0, 3, wake, 7, 0, wake, 7, 0, signal, 0, 0}) // cooling, and none

	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) < 2 {
			return
		}
		p := newPair(1+int(in[0]%8), 1+int(in[1]%4))
		for in = in[2:]; len(in) >= 3; in = in[3:] {
			x, y := int(in[1]), int(in[2])
			switch in[0] % 9 {
			case signal:
				p.signal(t, x)
			case signalAll:
				p.signalAll(x, y%16)
			case take:
				p.take(t, x)
			case done:
				p.done(t, x, 1+y>>6, y, y>>2)
			case delay:
				p.delay(x, y)
			case wake:
				p.wake(t, x)
			case reread:
				p.reread()
			case beginRead:
				p.beginRead(t)
			case endRead:
				p.endRead()
			}
			p.compare(t)
		}
	})
}
