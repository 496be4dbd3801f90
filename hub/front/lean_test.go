package front

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"flotilla/core/api"
	"flotilla/hub/front/shelf"
	"flotilla/hub/front/turns"
	"flotilla/tests/elsewhen"
)

// fieldsDoor has one object of many small fields of each kind, which takes many times its text.
type fieldsDoor struct{ nowhere }

func (fieldsDoor) Ask(_ context.Context, _ api.Caller, verb string, question, answer any) error {
	if verb == api.VerbWatch {
		answer.(*api.WatchResponse).Mark = "1"
		answer.(*api.WatchResponse).Changed = question.(*api.WatchRequest).After == ""
		return nil
	}
	asked := question.(*api.ListRequest)
	fields := strings.TrimSuffix(strings.Repeat(`{"a":1},`, 5000), ",")
	text := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"a","namespace":"shop","uid":"u","resourceVersion":"1.1"},"x":[%s]}`, asked.APIVersion, asked.Kind, fields)
	*answer.(*api.ListResponse) = api.ListResponse{ResourceVersion: "1.1", Items: []json.RawMessage{json.RawMessage(text)}, Specs: []string{"1.1"}, Marks: []string{"m"}}
	return nil
}

// Of a hub that keeps texts nothing is decoded for a list or a watch before there is room for what it becomes, though there is room for the text.
func TestThereIsRoomForWhatTextsBecome(t *testing.T) {
	t.Parallel()
	const part, left = 32 << 20, 400 << 10
	most := shelf.Usual
	most.Kept = 400 << 10
	f, err := New(Options{Door: fieldsDoor{}, Version: "test", Now: elsewhen.Now, Log: zerolog.Nop(), Bounds: most})
	require.NoError(t, err)
	t.Cleanup(f.Close)
	of := f.now.Load().ways[f.builtIn[0]].storage
	asks := func(hold int64) (events int, listed error) {
		t.Helper()
		var held []*turns.Turn
		for range 2 { // one holds no more than half of a part
			turn, err := f.turns.Reading.Enter("eve")
			require.NoError(t, err)
			require.NoError(t, turn.Hold(t.Context(), turns.Answered, min(hold, part/2)))
			hold = max(hold-part/2, 0)
			held = append(held, turn)
		}
		reading, err := f.turns.Reading.Enter("eve")
		require.NoError(t, err)
		watching, err := f.turns.Watching.Enter("eve")
		require.NoError(t, err)
		defer watching.Leave()
		ctx, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		_, listed = of.List(turns.With(ctx, reading), &metainternalversion.ListOptions{})
		reading.Leave()
		ctx, end = context.WithTimeout(t.Context(), time.Second)
		defer end()
		w, err := of.Watch(turns.With(ctx, watching), &metainternalversion.ListOptions{})
		require.NoError(t, err)
		for range w.ResultChan() {
			events++
		}
		for _, turn := range held {
			turn.Leave()
		}
		return events, listed
	}
	events, listed := asks(part - left)
	require.True(t, apierrors.IsTooManyRequests(listed), listed)
	require.Zero(t, events)
	events, listed = asks(0)
	require.NoError(t, listed)
	require.Equal(t, 1, events)
}
