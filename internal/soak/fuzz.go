package main

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// target is a fuzz test, and the folder of its package from the root.
type target struct{ name, folder string }

// fuzz gives each target the same time, in an order of chance in case it is not
// enough for all.
func fuzz(s *state) (*job, error) {
	if s.round == 0 {
		var err error
		if s.targets, err = findTargets(os.DirFS(s.root)); err != nil {
			return nil, err
		}
		rand.New(rand.NewPCG(uint64(s.seed), 0)).Shuffle(len(s.targets), func(i, j int) {
			s.targets[i], s.targets[j] = s.targets[j], s.targets[i]
		})
	}
	const building = 3 * time.Second
	if len(s.targets) == 0 || s.round > 0 && s.left() < building {
		return nil, nil
	}
	each := s.left()/time.Duration(len(s.targets)) - building
	t := s.targets[0]
	s.targets = s.targets[1:]
	return test(1, nil, "-run=^$", "-fuzz=^"+t.name+"$", setting("-fuzztime", max(time.Second, each.Truncate(time.Second))), "./"+t.folder), nil
}

var fuzzTest = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(\w+ \*testing\.F\)`)

// findTargets reads the sources: to ask the go command, all tests would have to be
// compiled.
func findTargets(root fs.FS) (all []target, err error) {
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != ".":
			_, err := fs.Stat(root, name+"/go.mod")
			if err == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir // it is another module, or no package
			}
			return nil
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		for _, m := range fuzzTest.FindAllSubmatch(source, -1) {
			all = append(all, target{string(m[1]), filepath.ToSlash(filepath.Dir(name))})
		}
		return nil
	})
	return all, err
}
