package position_test

import (
	"context"
	"fmt"

	"github.com/refold-go/refold/store/position"
)

// Two writers of one process. The second is ahead of the first, which is slow:
// the token says so, and a reader that carries it gets each fact once.
func Example() {
	ctx := context.Background()
	tracker := position.NewTracker(position.Options{})
	first, _ := tracker.Join(1, 1)
	second, _ := tracker.Join(2, 1)

	slow, _ := first.Reserve(ctx)
	quick, _ := second.Reserve(ctx)
	_ = second.Finish(quick) // its fact is committed
	seen := tracker.Token()
	fmt.Println(seen, seen.Includes(slow), seen.Includes(quick))

	_ = first.Finish(slow)
	now := tracker.Token()
	since := position.Between(seen, now)
	fmt.Println(now, since.Contains(slow), since.Contains(quick))
	// Output:
	// m0~2.2 false true
	// m2 true false
}

// A reader in another process waits until it can read what a writer wrote.
func ExampleTracker_Wait() {
	ctx := context.Background()
	writing, reading := position.NewTracker(position.Options{}), position.NewTracker(position.Options{})
	writer, _ := writing.Join(1, 1)
	_ = reading.Admit(writer.Standing())

	p, _ := writer.Reserve(ctx)
	_ = writer.Finish(p)
	carried := writing.Token().With(p).String()

	go func() { _ = reading.Hear(writer.Standing()) }() // the news arrive
	token, _ := position.ParseToken(carried)
	fmt.Println(reading.Wait(ctx, token), reading.Completed())
	// Output: <nil> 1
}

// A stream of invalidations of a cache needs no store: the tracker counts itself,
// and what is stored in the cache is good if its token has all that came since.
func ExampleMember_Do() {
	ctx := context.Background()
	tracker := position.NewTracker(position.Options{})
	process, _ := tracker.Join(1, 1)

	cachedAt := tracker.Token()
	var invalidated position.Position
	_ = process.Do(ctx, func(_ context.Context, p position.Position) error {
		invalidated = p
		return nil
	})
	fmt.Println(cachedAt.Includes(invalidated), tracker.Token().Includes(invalidated))
	// Output: false true
}

// History is stored under numbers that go down. Inside, and in tokens, later is
// greater all the same.
func ExampleDirection() {
	ctx := context.Background()
	tracker := position.NewTracker(position.Options{Direction: position.Down})
	writer, _ := tracker.Join(1, 1)
	before := tracker.Token()
	ps, _ := writer.ReserveMany(ctx, 3)
	_ = writer.Finish(ps...)
	for _, p := range ps {
		fmt.Println(position.Down.Stored(p.Number))
	}
	low, high := position.Between(before, tracker.Token()).Bounds(position.Down)
	fmt.Printf("between %s and %s: id BETWEEN %d AND %d\n", before, tracker.Token(), low, high)
	// Output:
	// -1
	// -2
	// -3
	// between m0 and m3: id BETWEEN -3 AND -1
}

// A writer died with a position open. Once its epoch is raised in the database,
// nothing of it can be committed any more, and nobody waits for it.
func ExampleTracker_Fence() {
	tracker := position.NewTracker(position.Options{})
	_ = tracker.Admit(
		position.Standing{Writer: 1, Epoch: 4, Completed: 7},
		position.Standing{Writer: 2, Epoch: 1, Completed: 7},
	)
	_ = tracker.Hear(position.Standing{Writer: 2, Epoch: 1, Completed: 13, Written: 13})
	fmt.Println(tracker.Token())

	holes, _ := tracker.Fence(1, 4, 8)
	fmt.Println(tracker.Token(), holes)
	fmt.Println(tracker.Hear(position.Standing{Writer: 1, Epoch: 4, Completed: 8}))
	// Output:
	// m7~2.13
	// m13 [{1 8 8}]
	// position: the writer's epoch is over: writer 1 in epoch 4, it is fenced in epoch 4
}

// What leaves a store has its incarnation in front.
func ExampleStoreToken() {
	token := position.TokenAt(42).In(0xc0ffee)
	fmt.Println(token)
	_, err := token.Cut(0xbeef)
	fmt.Println(err)
	// Output:
	// 0000000000c0ffee:m42
	// position: token is of another store: it is of 0000000000c0ffee, this store is 000000000000beef
}

func ExampleParseToken() {
	for _, text := range []string{"m5~2.9~1.6", "m5~", "m5~1.5"} {
		fmt.Println(position.ParseToken(text))
	}
	// Output:
	// m5~1.6~2.9 <nil>
	// m5 <nil>
	// m0 position: not a token: byte 5 of "m5~1.5": 5 is not above the minimum 5
}
