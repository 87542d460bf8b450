package layout

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

const (
	module = "github.com/refold-go/refold"
	root   = "../.."
)

// pkg is what the go command knows of a package.
type pkg struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	Doc          string
	Deps         []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// name is the path inside of the module.
func (p pkg) name() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// outside reports whether users never import the package.
func (p pkg) outside() bool { return under(p.name(), "examples") || under(p.name(), "internal") }

// packages are all of this module.
func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := list()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var list = sync.OnceValues(func() ([]pkg, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Doc,Deps,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = errors.New(string(exit.Stderr))
		}
		return nil, err
	}
	var all []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		switch err := d.Decode(&p); {
		case err == io.EOF:
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, p)
	}
})

// under reports whether path is the folder or in it.
func under(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// ours returns those of the imports that are in this module, by their names in it.
func ours(imports ...[]string) []string {
	var names []string
	for _, list := range imports {
		for _, path := range list {
			if name, ok := strings.CutPrefix(path, module+"/"); ok {
				names = append(names, name)
			}
		}
	}
	return names
}
