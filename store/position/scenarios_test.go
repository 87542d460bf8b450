package position_test

import (
	"testing"

	"github.com/refold-go/refold/store/position"
)

// What the two processes of most scenarios have at the start: first wrote 1 to 3
// before it started, second 4 to 7 before it started, and each has heard of the
// other.
const firstAndSecond = `
	F: admit first 3<
	F: join first
	S: admit first 3 second 7<
	S: saw first 1 2 3
	S: saw second 4 5 6 7
	S: join second
	F: counter 7
	F: admit second 7
	F: P first=3 second=7
	S: P first=3 second=7
	F: T first=7 second=7
	S: T first=7 second=7
	F: U 7
	S: U 7
`

func TestC1(t *testing.T) {
	for _, c := range []struct {
		name      string
		direction position.Direction
		origin    position.Stored
		script    string
	}{
		{name: "C1_01_empty", origin: 1, script: `
			G: join master
			G: P master=1
		`},
		{name: "C1_02_single_instance", script: `
			G: admit master 7<
			G: join master
			G: P master=7
			G: T master=7
			G: open master = 8
			G: P master=7
			G: T master=7
			G: finish master 8
			G: P master=8
			G: T master=8
		`},
		{name: "C1_03_out_of_order_finish", script: `
			G: admit master 7<
			G: join master
			G: open master = 8
			G: open master = 9
			G: open master = 10
			G: open master = 11
			G: P master=7
			G: finish master 9
			G: P master=7
			G: finish master 8
			G: P master=9
			G: finish master 11
			G: P master=9
			G: finish master 10
			G: P master=11
		`},
		{name: "C1_04_get_next_txn", script: `
			G: admit master 7<
			G: join master
			G: open master = 8 while P master=7; T master=7
			G: P master=7
			G: T master=7
			G: finish master 8
			G: P master=8
			G: T master=8
		`},
		{name: "C1_05_restart_during_out_of_order", script: `
			G: admit master 7<
			G: join master
			G: open master = 8
			G: open master = 9
			G: finish master 9
			W: admit master 7
			W: P master=7
			W: T master=7
			G: finish master 8
			G: P master=9
			W: hear master 9
			W: P master=9
		`},
		{name: "C1_06_persisted_upto", script: `
			R: admit first 3 second 5
			R: P first=3 second=5
			R: U 3
			R: hear first 6
			R: U 6
			R: hear second 7
			R: U 7
			R: hear second 9
			R: U 7
			R: hear first 8
			R: U 9
			R: hear first 11
			R: hear second 15
			R: U 11
		`},
		{name: "C1_07_persisted_upto_get_next", script: `
			G: admit second 5 first 3<
			G: join first
			G: P first=5 second=5
			G: U 5
			G: open first = 6
			G: U 5
			G: finish first 6
			G: U 6
		`},
		{name: "C1_08_multi_instance", script: firstAndSecond + `
			F: open first = 8
			F: P first=3 second=7
			S: P first=3 second=7
			F: U 7
			S: U 7
			F: finish first 8
			F: P first=8 second=7
			S: P first=3 second=7
			S: open second = 9
			S: P first=3 second=7
			S: finish second 9
			S: P first=3 second=9
			S: hear first 8
			S: P first=8 second=9
		`},
		{name: "C1_09_multi_instance_empty_row", script: firstAndSecond + `
			T: admit first 3 second 7
			T: saw first 1 2 3
			T: saw second 4 5 6 7
			T: join third
			F: admit third 7
			S: admit third 7
			F: P first=3 second=7 third=7
			S: P first=3 second=7 third=7
			T: P first=3 second=7 third=7
			F: T first=7 second=7 third=7
			S: T first=7 second=7 third=7
			T: T first=7 second=7 third=7
			T: open third = 8
			T: P first=3 second=7 third=7
			T: U 7
			T: finish third 8
			T: P first=3 second=7 third=8
		`},
		{name: "C1_10_writer_config_change", script: `
			A: admit first 3 second 5
			A: U 3
			A: T first=3 second=5
			B: admit second 5 first 3<
			B: U 5
			B: T second=5
			C: admit first 3< second 5<
			C: join third
			C: U 5
			C: T third=5
			D: admit third 5 first 3< second 5<
			D: U 5
			C: open third = 6
			C: U 5
			C: finish third 6
			C: U 6
			E: admit third 6 second 5< first 6
			E: U 6
			E: T first=6 third=6
		`},
		{name: "C1_11_sequence_consistency", script: `
			G: admit master 3<
			G: counter 3
			G: saw master 26
			G: join master
			G: open master = 27
			G: finish master 27
			G: U 27
		`},
		{name: "C1_12_minimal_local", script: firstAndSecond + `
			F: P first=3
			S: P second=7
		`},
		{name: "C1_13_current_token_gap", script: firstAndSecond + `
			F: admit third 7
			S: admit third 7
			S: T first=7 second=7
			S: U 7
			F: open first = 8 9
			F: finish first 8 9
			S: hear first 9
			S: T first=9 second=9
			S: U 7
			F: open first = 10 11
			F: finish first 10 11
			S: open second = 12
			S: hear first 11
			S: T first=11 second=9
			S: U 7
			S: finish second 12
			S: T first=11 second=12
			S: U 7
		`},
		{name: "C1_14_backwards_single", direction: position.Down, script: `
			G: join master
			G: open master = -1
			G: finish master -1
			G: P master=-1
			G: T master=-1
			G: U -1
			G: open master = -2 -3 -4
			G: finish master -3 -2 -4
			G: P master=-4
			G: T master=-4
			G: U -4
			H: admit master -4<
			H: join master
			H: P master=-4
			H: T master=-4
			H: U -4
		`},
		{name: "C1_15_backwards_multiple", direction: position.Down, script: `
			F: join first
			S: admit first 0
			S: join second
			F: admit second 0
			F: open first = -1
			F: finish first -1
			S: hear first -1
			F: claim second -1
			F: P first=-1 second=-1
			F: U -1
			S: U -1
			S: T second=-1
			S: open second = -2
			S: finish second -2
			F: hear second -2
			F: P first=-1 second=-2
			S: P first=-1 second=-2
			F: U -2
			S: U -2
		`},
		{name: "C1_16_multi_table_load", script: `
			F: admit first 3< second 6<
			F: saw first 1 2 3
			F: saw second 4 5 6 7
			F: join first
			S: admit first 3 second 6<
			S: saw first 1 2 3
			S: saw second 4 5 6 7
			S: join second
			F: counter 7
			S: P first=3 second=7
			F: admit second 7
			F: P second=7
			F: T first=7 second=7
			S: T first=7 second=7
			F: U 7
			S: U 7
		`},
	} {
		t.Run(c.name, func(t *testing.T) { runScript(t, c.direction, c.origin, c.script) })
	}
}
