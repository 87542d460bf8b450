// Package sim has no code. Its tests run the whole engine, several processes of it
// over one store, in a world in which a seed decides everything: who goes on, which
// call of the store fails and how, who is killed and when, and how time passes.
// After every step a checker compares the store with a model of it. A seed that
// fails is shortened, printed and can be run again exactly.
//
// Environment:
//
//	SIM_SEEDS=20000     how many seeds on the memory store, 0 for none
//	SIM_SQLITE=1000     how many on SQLite
//	SIM_FIRST=1         the first of them
//	SIM_SEED=7          one seed, with its trace; SIM_BACKEND=sqlite for SQLite
//	SIM_CHOICES=3:1,…   a shortened schedule of that seed, as it was printed
//	SIM_MUTANTS=2000    look for each planted fault within so many seeds,
//	SIM_MUTANT=requeue  or only for those whose name has this in it
package sim
