package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

func TestARoomGetsTheRecordsThatTheTableNames(t *testing.T) {
	state := bustest.Start(t).Lead(t).State
	roller := state.As(subjects.Roller)
	require.Same(t, store.Writes[api.Release](roller, subjects.Releases).Table, store.Reads[api.Release](roller, subjects.Releases))
	require.NotNil(t, store.Reads[api.Schedule](roller, subjects.Schedules))
	for want, ask := range map[string]func(){
		"roller writes records schedule., and the table": func() { store.Writes[api.Schedule](roller, subjects.Schedules) },
		"roller reads records user., and the table":      func() { store.Reads[api.User](roller, subjects.Users) },
		"which are api.Release":                          func() { store.Writes[api.Schedule](roller, subjects.Releases) },
		"of which the table":                             func() { store.Reads[api.Release](roller, subjects.Family{}) },
	} {
		func() {
			defer func() { require.ErrorContains(t, recover().(error), want) }()
			ask()
		}()
	}
}
