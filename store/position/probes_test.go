package position_test

import (
	"testing"

	"github.com/refold-go/refold/store/position"
)

// The scripts say what must be, not what was measured in the system that the
// probes come from.
func TestC3(t *testing.T) {
	for _, c := range []struct {
		name      string
		direction position.Direction
		origin    position.Stored
		script    string
	}{
		{name: "P0_the_first_fact_is_visible", script: `
			G: U 0
			G: join w
			G: U 0
			G: open w = 1
			G: U 0
			G: finish w 1
			G: U 1
			R: admit w 0
			R: U 0
			R: hear w 1
			R: U 1
		`},
		{name: "P1_a_failed_body_is_complete", script: `
			G: admit w 7<
			G: join w
			G: open w = 8
			G: finish w 8
			G: P w=8
			G: T w=8
			G: U 8
			G: open w = 9
			G: finish w 9
			G: P w=9
		`},
		{name: "P2_a_dead_writer_is_fenced", script: `
			R: admit first 7 dead 7
			R: hear first 8
			R: hear first 9
			R: hear first 10
			R: U 10
			R: hear first 12
			R: hear first 13
			R: U 10
			R: token m10~1.13
			R: fence dead 11 = 8-11
			R: U 13
			R: token m13
			R: hear dead 11 ! epoch is over
		`},
		{name: "P3_a_stranger_is_refused", script: `
			R: admit first 3
			R: hear stranger 7 ! never admitted
			R: hear first 9
			R: U 9
			R: hear first 12
			R: U 12
		`},
		{name: "P4c_downward_own_position_does_not_regress", direction: position.Down, script: `
			R: admit first -9< second -2
			R: saw first -3 -4 -6 -7 -8 -9
			R: join first
			R: P first=-9 second=-2
			R: T first=-9
			R: U -4
		`},
		{name: "P4c_twin_upward", script: `
			R: admit first 9< second 2
			R: saw first 3 4 6 7 8 9
			R: join first
			R: P first=9 second=2
			R: T first=9
			R: U 4
		`},
		{name: "P5a_counter_behind_everything", script: `
			G: counter 3
			G: admit w 7<
			G: join w
			G: open w = 8
		`},
		{name: "P5b_stored_position_beyond_the_counter", script: `
			G: counter 7
			G: admit w 39<
			G: join w
			G: U 39
			G: open w = 40
		`},
		{name: "P6_an_origin_that_is_not_zero", origin: 1, script: `
			G: join w
			R: admit w 1
			G: open w = 2
			G: U 1
			G: T w=1
			R: U 1
			G: finish w 2
			G: U 2
		`},
		{name: "P7_restart_with_a_commit_in_doubt", script: `
			A: admit w 7<
			A: join w
			R: admit w 7
			A: open w = 8
			B: admit w 7
			B: join w ! alive
			B: U 7
			R: U 7
			B: fence w 8 = 8-8
			R: fence w 8 = 8-8
			B: join w
			R: admit w 8
			R: U 8
			B: U 8
			B: open w = 9
			B: finish w 9
			R: hear w 9
			R: U 9
		`},
		{name: "P7b_two_of_one_name", script: `
			A: join w
			A: open w = 1 2 3 4 5 6 7
			A: finish w 1 2 3 4 5 6 7
			A: open w = 8
			A: join w ! alive
			R: admit w 7
			R: U 7
			B: admit w 7
			B: join w ! has to be fenced first
			A: fence w 8 = 8-8
			A: open w = 9 ! epoch is over
			A: finish w 8 ! epoch is over
			R: U 7
		`},
		{name: "P8_none_asked_for", script: `
			G: join w
			G: open w =
			G: open w = 1
		`},
		{name: "P10_nothing_stored", script: `
			R: saw w 1 2 3 5
			R: U 3
		`},
		{name: "P10b_stored", script: `
			R: admit w 3
			R: saw w 1 2 3 5
			R: U 3
			R: hear w 5
			R: U 5
		`},
		{name: "P11_an_older_report_changes_nothing", script: `
			R: admit w 7
			R: hear w 3
			R: P w=7
			R: U 7
		`},
		{name: "P15_report_between_drawing_and_registering", script: `
			G: admit first 7< second 7
			G: join first
			G: open first = 8 while hear second 20; U 7; T first=7; token m7~2.20
			G: U 7
			G: T first=7
			G: finish first 8
			G: U 20
			G: T first=20
		`},
		{name: "P16_an_idle_writer_claims_what_it_hears", script: `
			B: admit a 7 b 7<
			B: join b
			B: hear a 10
			B: T b=10
			B: P b=7
			B: U 10
		`},
		{name: "X1_a_dies_holding_8", script: `
			R: admit a 7 b 7
			R: hear b 9
			R: hear b 13
			R: U 7
			R: token m7~2.13
			R: fence a 8 = 8-8
			R: U 13
			R: token m13
		`},
		{name: "X2_restart_of_a_reader_while_a_is_down", script: `
			R: admit b 13 a 7
			R: U 7
			R: token m7~1.13
			R: fence c 13 ! never admitted
			R: U 7
			R: fence a 8 = 8-8
			R: U 13
		`},
		{name: "X5_two_writers", script: `
			R: admit a 10 b 10
			R: hear a 12
			R: U 10
			R: hear a 13
			R: U 10
			R: hear b 11
			R: U 13
			R: hear b 16
			R: U 13
			R: hear a 15
			R: U 16
			R: hear a 14
			R: U 16
			R: hear a 17
			R: U 17
			R: hear b 19
			R: U 17
			R: hear a 18
			R: U 19
		`},
	} {
		t.Run(c.name, func(t *testing.T) { runScript(t, c.direction, c.origin, c.script) })
	}
}

// A thousand writes behind a dead writer are one run in memory.
func TestC3_P2_memory(t *testing.T) {
	tr := position.NewTracker(position.Options{Origin: 7})
	if err := tr.Admit(
		position.Standing{Writer: 1, Epoch: 1, Completed: 7},
		position.Standing{Writer: 2, Epoch: 1, Completed: 7},
	); err != nil {
		t.Fatal(err)
	}
	hear := func(n position.Number) {
		if err := tr.Hear(position.Standing{Writer: 1, Epoch: 1, Completed: n, Written: n}); err != nil {
			t.Fatal(err)
		}
	}
	for n := position.Number(8); n <= 1011; n++ {
		if n != 11 {
			hear(n)
		}
	}
	if s := tr.Stats(); s.Completed != 10 || s.Runs != 1 || s.Slowest != 2 || s.Holding != 2 {
		t.Errorf("stats are %+v", s)
	}
	for n := position.Number(1012); n <= 100_000; n += 2 { // each second one is a hole
		hear(n)
	}
	if s := tr.Stats(); s.Completed != 10 || s.Runs > 1024 {
		t.Errorf("stats are %+v", s)
	}
	if _, err := tr.Fence(2, 1, 11); err != nil || tr.Completed() != 100_000 {
		t.Errorf("after fencing completed is %d, %v", tr.Completed(), err)
	}
}
