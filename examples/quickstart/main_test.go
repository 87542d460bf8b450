package main

import (
	"log"
	"os"
)

func Example() {
	folder, err := os.MkdirTemp("", "quickstart")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	if err := os.Chdir(folder); err != nil {
		log.Fatal(err)
	}
	main()
	main() // the list is still there
	// Output:
	// [bread milk] after 2 operations
	// stopped: <nil> <nil>
	// [bread milk bread milk] after 4 operations
	// stopped: <nil> <nil>
}
