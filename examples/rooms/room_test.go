package main

import (
	"fmt"
	"testing"
)

func TestFoldKeepsTheLatest(t *testing.T) {
	var r Room
	for i := range int64(latest + 7) {
		var err error
		r, err = fold(r, operation{Document: "lobby", Seq: i + 1, Meta: []byte("42"), Body: Said{"Ada", fmt.Sprint(i)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if r.Messages != latest+7 || len(r.Latest) != latest || r.Latest[0].Seq != 8 || r.Latest[latest-1].Seq != latest+7 {
		t.Errorf("%+v", r)
	}
	if m := r.Latest[0]; m.Writer != 42 || m.Room != "lobby" || m.Text != "7" {
		t.Errorf("%+v", m)
	}
	if m := message(operation{Meta: []byte("x")}); m.Writer != 0 {
		t.Errorf("writer %d of a meta that is none", m.Writer)
	}
}
