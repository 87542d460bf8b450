package sim

import (
	"context"
	"fmt"

	"github.com/refold-go/refold/store"
)

// Claim implements [store.Claimer]: the claim is that of the world, because the
// system gives it back when a process dies.
func (h *handle) Claim(ctx context.Context) (store.Claim, error) { return h.claim(ctx, "claim", true) }

// Share implements [store.Leaser].
func (h *handle) Share(ctx context.Context) (store.Claim, error) { return h.claim(ctx, "share", false) }

func (h *handle) claim(ctx context.Context, call string, alone bool) (claim store.Claim, err error) {
	sh, w := h.sh, h.p.w
	err = h.write(ctx, call, func(bool) error {
		if h.p.dead.Load() || len(sh.working) > 0 && (alone || !w.opt.shared) {
			return store.ErrClaimed
		}
		first := len(sh.working) == 0
		switch {
		case first && sh.unclean && !sh.stopped:
			w.rare.Takeovers++
		case first && sh.stopped:
			w.rare.Handovers++
		}
		sh.holders++
		claim = store.Claim{
			Unclean: first && sh.unclean, End: sh.model.end, Holder: fmt.Sprintf("h%d", sh.holders),
			Release: h.giveUp("release", false), Abandon: h.giveUp("abandon", true),
		}
		sh.working, sh.unclean = append(sh.working, h.p), true
		w.note(h.p.name, "has a claim", fmt.Sprint(claim.Unclean))
		return nil
	})
	if err != nil {
		if !h.p.dead.Load() { // in doubt: Run gives up, and the lock is gone
			sh.leaves(h.p)
		}
		return store.Claim{}, err
	}
	return claim, nil
}

// giveUp gives the claim back. The last one that does takes the mark away.
func (h *handle) giveUp(call string, unclean bool) func() error {
	done := false
	return func() error {
		if done {
			return nil
		}
		done = true
		sh := h.sh
		h.p.w.park(place{h.p, "?"}, "before "+call, nil)
		if h.p.dead.Load() {
			return errDead
		}
		if sh.works(h.p) {
			sh.leaves(h.p)
			sh.stopped = true
			if len(sh.working) == 0 {
				sh.unclean = unclean
			}
		}
		return nil
	}
}
