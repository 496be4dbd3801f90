package front

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// definingDoor has definitions, one for each revision, and may be slow to list them.
type definingDoor struct {
	nowhere
	revision *atomic.Int64
	slow     *sync.Mutex // held: nothing is listed
	define   func(i int64) json.RawMessage
}

func (d definingDoor) Ask(_ context.Context, _ api.Caller, verb string, question, answer any) error {
	now := d.revision.Load()
	switch asked := question.(type) {
	case *api.WatchRequest:
		watched(now, asked, answer)
	case *api.ListRequest:
		d.slow.Lock()
		defer d.slow.Unlock()
		list := api.ListResponse{ResourceVersion: fmt.Sprintf("1.%d", now)}
		for i := range now {
			list.Items, list.Specs = append(list.Items, d.define(i)), append(list.Specs, "")
		}
		*answer.(*api.ListResponse) = list
	default:
		return fmt.Errorf("asked to %s", verb)
	}
	return nil
}

// While definitions are read slowly requests are answered by what was served before, and by what is defined once that is known. Before anything
// was served they wait.
func TestDefinitionsThatAreReadSlowlyHoldUpNobody(t *testing.T) {
	t.Parallel()
	door := definingDoor{revision: &atomic.Int64{}, slow: &sync.Mutex{}}
	door.define = func(i int64) json.RawMessage {
		u := definedAs(t, fmt.Sprint("kind", i), 1, 3, int(i)).Object
		u.SetResourceVersion(fmt.Sprintf("1.%d", i+1))
		text, err := u.MarshalJSON()
		require.NoError(t, err)
		return text
	}
	door.revision.Store(1)
	f, err := New(Options{Door: door, Version: "test", Now: elsewhen.Now, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(f.Close)

	door.slow.Lock()
	first := make(chan []string)
	go func() { first <- f.current(t.Context()).words() }()
	ended, end := context.WithCancel(t.Context())
	end()
	require.Empty(t, f.current(ended).words())
	door.slow.Unlock()
	require.Equal(t, []string{"kind0s"}, <-first)

	door.slow.Lock()
	door.revision.Store(2)
	require.Equal(t, []string{"kind0s"}, f.current(t.Context()).words())
	door.slow.Unlock()
	door.revision.Store(3)
	bustest.Eventually(t, func() error {
		if words := f.current(t.Context()).words(); len(words) < 3 {
			return fmt.Errorf("served are %v", words)
		}
		return nil
	})
	before := f.now.Load()
	require.Same(t, before, f.current(t.Context()))
}
