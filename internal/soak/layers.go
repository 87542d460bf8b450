package main

import (
	"fmt"
	"time"
)

// layers are in an order in which those whose jobs can be of any size come last.
var layers = []layer{
	{name: "models", share: 2, next: models, rules: modelRules},
	{name: "faults", share: 2, next: faults, rules: faultRules},
	{name: "crash", share: 1, next: crash, rules: crashRules},
	{name: "race", share: 1, next: race, unit: "tests with the race detector"},
	{name: "fuzz", share: 1, next: fuzz, rules: fuzzRules, unit: "targets"},
	{name: "sim", share: 3, next: sim, rules: simRules},
}

// test returns a job that runs tests of packages.
func test(size int, env []string, args ...string) *job {
	return &job{env: env, args: append([]string{"go", "test", "-json", "-count=1", "-timeout=30m"}, args...), size: size}
}

func setting(name string, value any) string { return fmt.Sprint(name, "=", value) }

// models checks them once. They are the same each time, and cannot stop halfway.
func models(s *state) (*job, error) {
	const least = 3 * time.Minute
	if s.round > 0 {
		return nil, nil
	}
	if left := time.Until(s.end); left < least {
		s.skipped = fmt.Sprintf("it needs %v, there are %v", least, left.Round(time.Second))
		return nil, nil
	}
	args := []string{"docs/model/check"}
	if s.left() > 20*time.Minute {
		args = append(args, "-long")
	}
	return &job{args: args, plain: true, size: 1}, nil
}

// faults runs the short way of the tests again and again, each time from other
// points, or the long one if there is time for it.
func faults(s *state) (*job, error) {
	if s.round > 0 && s.left() < s.took {
		return nil, nil
	}
	env := []string{setting("REFOLD_SEED", s.seed+int64(s.round))}
	if s.size == 2 || s.round == 0 && s.left() > 15*time.Minute {
		return test(2, append(env, "REFOLD_FAULTS=all"), "./internal/faults"), nil
	}
	return test(1, env, "./internal/faults"), nil
}

// crash kills processes. When they are killed is chance.
func crash(s *state) (*job, error) {
	n := s.grow(20)
	if n == 0 {
		return nil, nil
	}
	length := max(2*time.Second, (time.Duration(n) * 100 * time.Millisecond).Truncate(time.Second))
	return test(n, []string{setting("REFOLD_KILLS", n), setting("REFOLD_KILL_FOR", length)}, "./internal/crash"), nil
}

// race runs what hammers one package, in another order each time.
func race(s *state) (*job, error) {
	n := s.grow(1)
	if n == 0 {
		return nil, nil
	}
	j := test(n, nil, "-race", setting("-shuffle", s.seed+int64(s.round)), "-run=^TestStress|^TestNoWakeUpIsLost$|^TestW3_|^TestCloseRaces$",
		"./bus", "./dispatcher", "./worker", "./materializer", "./store/position")
	j.args[3] = setting("-count", n)
	return j, nil
}

// sim runs seeds that follow each other.
func sim(s *state) (*job, error) {
	n := s.grow(100)
	if n == 0 {
		return nil, nil
	}
	return test(n, []string{setting("SIM_FIRST", s.seed*1_000_000+int64(s.total)), setting("SIM_SEEDS", n), setting("SIM_SQLITE", n/20)},
		"-run=^TestSeeds$", "./internal/sim"), nil
}
