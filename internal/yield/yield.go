// Package yield is the one hook that the simulation has in production code.
//
// A goroutine of the engine calls [Start] as its first act, and [At] after
// everything that it has waited for, never while it holds a mutex. Between two of
// these it runs alone in a simulated world, so that a seed decides who goes on,
// and the same seed gives the same run. Without a world a call is a nil test.
package yield

import (
	"context"
	"math/rand/v2"
)

// World decides who goes on.
type World interface {
	// Name returns the context of a goroutine. Its name is that of its parent's
	// context, with this one behind; no two that live at once have the same.
	Name(ctx context.Context, name string, n int) context.Context
	// Yield returns when it is the turn of the goroutine whose context that is.
	Yield(ctx context.Context, point string)
	// Random returns a number below n.
	Random(n uint64) uint64
}

// world is nil but in a process that simulates.
var world World

// Enter sets the world of this process, before anything runs in it.
func Enter(w World) { world = w }

// Name names a goroutine which yields for the first time elsewhere.
func Name(ctx context.Context, name string, n int) context.Context {
	if world == nil {
		return ctx
	}
	return world.Name(ctx, name, n)
}

// Start names the goroutine that has begun, and yields.
func Start(ctx context.Context, name string, n int) context.Context {
	if world == nil {
		return ctx
	}
	ctx = world.Name(ctx, name, n)
	world.Yield(ctx, "start")
	return ctx
}

// At yields. The point says what the goroutine has waited for.
func At(ctx context.Context, point string) {
	if world != nil {
		world.Yield(ctx, point)
	}
}

// Random returns a number below n, which must not be 0.
func Random(n uint64) uint64 {
	if world == nil {
		return rand.Uint64N(n) // #nosec G404 -- it spreads delays, and is no secret
	}
	return world.Random(n)
}
