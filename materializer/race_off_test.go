//go:build !race

package materializer_test

const raceDetector = false
