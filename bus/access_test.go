package bus_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"
)

func TestARoomGetsTheRecordsThatTheTableNames(t *testing.T) {
	state := bustest.Start(t).Lead(t).State
	roller := state.As(subjects.Roller)
	require.Same(t, bus.Writes[api.Release](roller, subjects.Releases).Table, bus.Reads[api.Release](roller, subjects.Releases))
	require.NotNil(t, bus.Reads[api.Schedule](roller, subjects.Schedules))
	for want, ask := range map[string]func(){
		"roller writes records schedule., and the table": func() { bus.Writes[api.Schedule](roller, subjects.Schedules) },
		"roller reads records user., and the table":      func() { bus.Reads[api.User](roller, subjects.Users) },
		"which are api.Release":                          func() { bus.Writes[api.Schedule](roller, subjects.Releases) },
		"of which the table":                             func() { bus.Reads[api.Release](roller, subjects.Family{}) },
	} {
		func() {
			defer func() { require.ErrorContains(t, recover().(error), want) }()
			ask()
		}()
	}
}
