package main

import "regexp"

// What the tests print with -v is their last word on what they did. A test of this
// package holds these rules against such lines.

var modelRules = []rule{
	{line: regexp.MustCompile(`^\| (?:inflight|lease) \|.* \| (?:holds|lives) \| \d`), counts: "models hold"},
	{line: regexp.MustCompile(`^\| (?:inflight|lease) \|.* \| (?:fails|stuck): [^|]+ \| \d`), counts: "mutants of models found"},
}

var simRules = []rule{
	{test: "TestSeeds", line: regexp.MustCompile(`: (\d+) seeds on (?P<kind>\w+) in [^,]+, (\d+) steps`), names: []string{"seeds on {kind}", "", "steps"}},
	{test: "TestSeeds", line: regexp.MustCompile(`^ +(\d+)  (?P<kind>processes killed|power cuts|requeue taken|stale write refused|retry after in doubt|crash between store and announcement)$`), names: []string{"× {kind}"}},
}

var crashRules = []rule{
	{line: regexp.MustCompile(`: (\d+) kills, (\d+) acknowledged`), names: []string{"kills", "acknowledged operations"}},
	{line: regexp.MustCompile(`: (\d+) kills in [^:]+: \d+ operations, (\d+) acknowledged, (\d+) changes followed`), names: []string{"kills", "acknowledged operations", "changes followed"}},
	{line: regexp.MustCompile(`: \d+ operations in (\d+) lives`), names: []string{"kills between slices"}},
}

var faultRules = []rule{
	{test: "TestFaultAtEachCall", line: regexp.MustCompile(`: (?P<kind>[\w-]+): (\d+) faults`), names: []string{"", "calls failed {kind}"}},
	{test: "TestFaultAtEachAllocation", line: regexp.MustCompile(`: (?P<kind>[\w-]+): (\d+) faults`), names: []string{"", "allocations failed {kind}"}},
	{test: "TestMaterializerOverFaultAtEachCall", line: regexp.MustCompile(`: (\d+) faults`), names: []string{"calls under a materializer failed {kind}"}},
	{test: "TestPowerCutImages", line: regexp.MustCompile(`: seed \d+: \d+ events, (\d+) images, .* (\d+) without something acknowledged`), names: []string{"images at {kind}", "images at {kind} without something acknowledged"}},
	{test: "TestPowerCutAfterAFailedSync", line: regexp.MustCompile(`: (\d+) syncs failed, (\d+) images`), names: []string{"syncs failed", "images after that"}},
	{test: "TestDamageIsNotSilent", line: regexp.MustCompile(`: (\d+) bits, (\d+) pages`), names: []string{"bits flipped", "pages spoilt in 4 ways"}},
	{test: "TestPowerCuts", line: regexp.MustCompile(`: (\d+) cuts, (\d+) acknowledged`), names: []string{"cuts of ext4", "acknowledged operations"}},
}

var fuzzRules = []rule{
	{line: regexp.MustCompile(`^fuzz: elapsed: \S+, execs: (\d+) `), names: []string{"executions"}, last: true},
}
