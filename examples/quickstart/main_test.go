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
	// map[bread:2 milk:1] after 2 operations
	// map[bread:4 milk:2] after 4 operations
}
