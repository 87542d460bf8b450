package layout

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayImport says which packages of this module each one may import; x/... stands
// for x and all that is in it.
var mayImport = map[string][]string{
	"store":            {"store/position"},
	"store/storetest":  {"store", "store/position"},
	"store/memory":     {"store", "store/position"},
	"store/sqlite":     {"store", "store/position"},
	"store/position":   {},
	"bus":              {"internal/yield"},
	"worker":           {"internal/yield"},
	"dispatcher":       {"bus", "internal/yield", "store"},
	"materializer":     {"bus", "dispatcher", "internal/yield", "store", "worker"},
	"materializertest": {"materializer", "store", "store/memory"},
	"examples/...":     {"materializer", "store/..."},
	"internal/...":     {"..."},
}

// testsMayImport says what tests may import besides: the kits and the backends,
// and helpers that are nobody's business.
var testsMayImport = []string{"store/...", "materializertest", "internal/..."}

func TestImportDirections(t *testing.T) {
	for _, p := range packages(t) {
		allowed, ok := rule(p.name())
		if !ok {
			t.Errorf("%s has no rule: say in mayImport what it may import", p.name())
			continue
		}
		for _, name := range ours(p.Imports) {
			if !matches(name, allowed) {
				t.Errorf("%s must not import %s", p.name(), name)
			}
		}
		for _, name := range ours(p.TestImports, p.XTestImports) {
			if name != p.name() && !matches(name, allowed) && !matches(name, testsMayImport) {
				t.Errorf("the tests of %s must not import %s", p.name(), name)
			}
		}
	}
}

// rule returns that of the package itself, or else that of its folder.
func rule(name string) ([]string, bool) {
	if allowed, ok := mayImport[name]; ok {
		return allowed, true
	}
	for pattern, allowed := range mayImport {
		if folder, ok := strings.CutSuffix(pattern, "/..."); ok && under(name, folder) {
			return allowed, true
		}
	}
	return nil, false
}

func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if pattern == "..." {
			return true
		}
		if folder, ok := strings.CutSuffix(pattern, "/..."); ok {
			return under(name, folder)
		}
		return name == pattern
	})
}

// Who uses another store must not have to build SQLite.
func TestOnlyStoreSQLiteLinksSQLite(t *testing.T) {
	const driver = "github.com/mattn/go-sqlite3"
	for _, p := range packages(t) {
		if p.name() != "store/sqlite" && !p.outside() && slices.Contains(p.Deps, driver) {
			t.Errorf("%s links %s", p.name(), driver)
		}
	}
}

// What we compare ourselves with, and what drives a browser, is in modules of their
// own and reaches no user.
func TestOtherModulesAreNotReachable(t *testing.T) {
	for _, p := range packages(t) {
		if under(p.name(), "bench") || under(p.name(), "examples/rooms/browser") {
			t.Errorf("%s is in the main module", p.name())
		}
		for _, dep := range p.Deps {
			if strings.HasPrefix(dep, "k8s.io/") || under(dep, "github.com/chromedp") || under(dep, module+"/bench") {
				t.Errorf("%s links %s", p.name(), dep)
			}
		}
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]string{"k8s.io/": "bench", "chromedp": "examples/rooms/browser"} {
		if strings.Contains(string(mod), name) {
			t.Errorf("go.mod requires %s, which only %s needs", name, of)
		}
	}
}
