package materializertest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/refold-go/refold/materializer"
	"github.com/refold-go/refold/materializertest"
)

// A task is an operation of several kinds, of which one is a pointer, on a state
// that is a pointer too.
type (
	taskEvent   interface{ taskEvent() }
	taskOpened  struct{ Title string }
	taskTagged  struct{ Tags map[string]int }
	taskClosed  struct{}
	taskRenamed struct{ Title *string }
	task        struct {
		Title string
		Tags  map[string]int
	}
)

func (taskOpened) taskEvent()   {}
func (taskTagged) taskEvent()   {}
func (taskClosed) taskEvent()   {}
func (*taskRenamed) taskEvent() {}

func tasks() materializer.Spec[*task, taskEvent] {
	return materializer.Spec[*task, taskEvent]{
		Name: "tasks", Version: 1,
		Operations: materializer.Kinds(map[string]taskEvent{
			"opened": taskOpened{}, "tagged": taskTagged{}, "closed": taskClosed{}, "renamed": &taskRenamed{},
		}),
		Fold: func(s *task, op materializer.Operation[taskEvent]) (*task, error) {
			switch e := op.Body.(type) {
			case taskOpened:
				s = &task{Title: e.Title, Tags: map[string]int{}}
			case *taskRenamed:
				s.Title = *e.Title
			case taskTagged:
				maps.Copy(s.Tags, e.Tags)
			case taskClosed:
				return nil, materializer.Deleted
			}
			return s, nil
		},
	}
}

func taskSample() map[string][]taskEvent {
	return map[string][]taskEvent{
		"a": {taskOpened{"one"}, taskTagged{map[string]int{"x": 1, "y": 2, "z": 3}}, &taskRenamed{new("two")}},
		"b": {taskOpened{"one"}, taskClosed{}, taskOpened{"again"}, taskTagged{map[string]int{"x": 1}}},
		"c": {taskOpened{"one"}, taskClosed{}},
	}
}

func TestKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		materializertest.CheckFold(t, tasks(), taskSample(), nil)
		materializertest.CheckCrashes(t, tasks(), taskSample(), &materializertest.CrashOptions[taskEvent]{Most: 10})
	})
}

// The state that the first operation gives is the same piece of memory for all.
func TestStateOfAll(t *testing.T) {
	s := tasks()
	fold, first := s.Fold, &task{Tags: map[string]int{}}
	s.Fold = func(s *task, op materializer.Operation[taskEvent]) (*task, error) {
		if _, ok := op.Body.(taskOpened); ok {
			return first, nil
		}
		return fold(s, op)
	}
	wantFailure(t, []string{"collection tasks: document a at seq 1, materializertest_test.taskOpened{Title:one}: ", "another one when folded again", `"Tags":{"x":1,`},
		func(t materializertest.TB) { materializertest.CheckFold(t, s, withoutEnds(), nil) })
}

// withoutEnds is a sample in which nothing is deleted.
func withoutEnds() map[string][]taskEvent {
	sample := taskSample()
	for id, ops := range sample {
		sample[id] = slices.DeleteFunc(ops, func(e taskEvent) bool { return e == taskEvent(taskClosed{}) })
	}
	return sample
}

// textViews are views in a form of their own, for which nil is a panic.
type textViews struct{}

func (textViews) Encode(s *task) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.Title)
	for _, tag := range slices.Sorted(maps.Keys(s.Tags)) {
		fmt.Fprintf(&b, "%s %d\n", tag, s.Tags[tag])
	}
	return []byte(b.String()), nil
}

func (textViews) Decode(view []byte) (*task, error) {
	lines := strings.Split(strings.TrimSuffix(string(view), "\n"), "\n")
	s := &task{Title: lines[0], Tags: map[string]int{}}
	for _, line := range lines[1:] {
		var tag string
		var n int
		if _, err := fmt.Sscan(line, &tag, &n); err != nil {
			return nil, err
		}
		s.Tags[tag] = n
	}
	return s, nil
}

func TestCodecOfOnesOwn(t *testing.T) {
	s := tasks()
	s.Views = textViews{}
	materializertest.CheckFold(t, s, taskSample(), nil)
}

// An operation codec for which no operation is a panic.
type strict struct {
	materializer.OperationCodec[taskEvent]
}

func (c strict) Encode(e taskEvent) (string, []byte, error) {
	e.taskEvent()
	kind, _, err := c.OperationCodec.Encode(e)
	body, _ := json.Marshal(e)
	return kind, body, err
}

func TestOperationCodecOfOnesOwn(t *testing.T) {
	s := tasks()
	s.Operations = strict{s.Operations}
	materializertest.CheckFold(t, s, taskSample(), nil)
}
