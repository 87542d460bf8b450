package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/refold-go/refold/store"
)

// serveChecks are those of what is served of a derived collection, and of what was.
var serveChecks = []check{
	{"a switch serves the new views, and keeps the old ones up to date", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.runTags("tags")
		f.derive(tags(2))
		f.fill("tags@2")
		for _, r := range f.runnable("tags@2<notes") {
			f.contribute(r.Key, "t=new", "u=new")
		}
		f.reduce(versioned("tags@2", "t"), "of version 2")
		f.reduce(versioned("tags@2", "u"), "of version 2")
		late := f.view(tag("t"), "late")
		if other := f.load(versioned("tags@2", "t")); other.Applied != late.Loaded || other.Epoch == late.Epoch {
			f.Errorf("the document is %+v, in the other generation its epoch is %d", other, late.Epoch)
		}
		at := lastChange(f)
		var switched []string
		f.Cleanup(f.b.Listen(store.Listener{Switched: func(name string) { switched = append(switched, name) }}))
		o, err := f.b.Switch(background, "tags@2", store.SwitchTerms{Keep: time.Hour})
		if err != nil || o != (store.Obstacle{}) {
			f.Fatalf("Switch: %+v, %v", o, err)
		}
		f.mustBeTags("1 kept", "2 serving")
		if fmt.Sprint(switched) != "[tags]" || f.servedVersion("tags") != 2 {
			f.Errorf("heard of %q, version %d is served", switched, f.servedVersion("tags"))
		}
		f.mustView(tag("t"), 1, "of version 2")
		f.mustCommit(store.Stale, late)
		f.mustHave(tag("u"), "0:a=new")
		if all := collect(f.T, f.b.Changes(background, "tags", at, store.WithViews)); len(all) != 2 {
			f.Errorf("%d documents changed by the switch, want 2", len(all))
		}
		heard := f.heard()
		f.write(key("a"), "y")
		if got := heard(); got != "notes/a tags@1<notes/a tags@2<notes/a" {
			f.Errorf("announced is %q", got)
		}
		f.runTags("tags@1")
		if got := heard(); got != "tags@1/t" {
			f.Errorf("announced is %q", got)
		}
		f.runTags("tags")
		f.mustView(versioned("tags@1", "t"), 2, "0:a=y")
		if err := f.b.Rollback(background, "tags"); err != nil {
			f.Fatalf("Rollback: %v", err)
		}
		f.mustBeTags("1 serving", "2 set aside")
		f.mustView(tag("t"), 2, "0:a=y")
		f.write(key("a"), "z")
		f.runTags("tags")
		f.switchTo("tags@2", true, store.Behind)
		f.runTags("tags@2")
		f.switchTo("tags@2", true, store.Unhindered)
		f.mustView(tag("t"), 3, "0:a=z")
	}},
	{"what is filled again lacks what the view lacked that was served before", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.runTags("tags")
		lacked := f.append(key("b"), "y").Operations[0].Position // is not folded by version 1
		mustRegister(f, "notes", 2)
		f.fill("notes@2")
		f.foldAll("notes@2")
		f.append(key("c"), "z")
		f.switchTo("notes@2", false, store.Unhindered)
		f.fill("tags@1")
		for _, id := range []string{"a", "b"} {
			if d := f.load(store.Key{Collection: "tags<notes", ID: id}); !d.Dirty() || d.Since.Position != lacked {
				f.Errorf("%s is dirty since %d, want %d", d.Key, d.Since.Position, lacked)
			}
		}
	}},
	{"an empty generation is not kept", func(f *fixture) {
		mustRegister(f, "notes", 1)
		f.write(key("a"), "x")
		f.derive(tags(1))
		f.fill("tags@1")
		f.runTags("tags@1")
		f.switchTo("tags@1", false, store.Unhindered)
		f.mustBeTags("1 serving")
		if err := f.b.Rollback(background, "tags"); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("Rollback: %v", err)
		}
		f.sweep()
		if all := f.generations("tags"); len(all) != 1 || all[0].Version != 1 {
			f.Errorf("the generations are %+v", all)
		}
		f.mustView(tag("t"), 1, "0:a=x")
	}},
	{"P42_WhatASwitchDropsIsToldNoMore", func(f *fixture) {
		tagged(f)
		for version := 2; version <= 3; version++ {
			f.derive(tags(version))
			f.switchTo(fmt.Sprint("tags@", version), false, store.Unhindered)
		}
		f.mustBeTags("2 kept", "3 serving")
		heard := f.heard()
		f.write(key("a"), "x")
		if got := heard(); got != "notes/a tags@2<notes/a tags@3<notes/a" {
			f.Errorf("announced is %q", got)
		}
		f.sweep()
		mustScan(f, "tags@1<notes", "")
	}},
	{"what was cancelled can be begun again", func(f *fixture) {
		mustRegister(f, "notes", 1)
		f.write(key("a"), "x")
		f.derive(tags(1))
		f.fill("tags@1")
		late := f.slice(mapped("tags@1<notes", "a"), store.Effects{Pairs: pairs("t=1")})
		f.retire("tags@1")
		f.mustBeTags("0 serving")
		f.mustCommit(store.Stale, late)
		mustScan(f, "tags@1<notes", "")
		f.write(key("b"), "x")
		f.derive(tags(1))
		f.mustBeTags("0 serving", "1 building")
		f.fill("tags@1")
		f.mustCommit(store.Stale, late)
		f.sweep()
		mustScan(f, "tags@1<notes", "", "a", "b")
		f.runTags("tags@1")
		f.switchTo("tags@1", false, store.Unhindered)
		f.mustHave(tag("t"), "0:a=x 0:b=x")
	}},
	{"a hold keeps what is served from being run, mappings too", func(f *fixture) {
		tagged(f)
		f.write(key("a"), "x")
		f.contribute(mapped("tags<notes", "a"), "t=1")
		f.write(key("b"), "x")
		f.derive(tags(2))
		f.fill("tags@2")
		mine := f.hold("tags", time.Time{}, time.Minute)
		for _, name := range []string{"tags", "tags@1", "tags<notes", "tags@1<notes"} {
			f.mustRunOf(name)
		}
		f.mustRunOf("tags@2<notes", "a", "b")
		f.contribute(mapped("tags@2<notes", "a"), "t=1")
		f.mustRunOf("tags@2", "t")
		f.hold("tags", mine, 0)
		f.mustRunOf("tags<notes", "b")
	}},
}
