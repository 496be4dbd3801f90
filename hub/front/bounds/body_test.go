package bounds

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flotilla/hub/front/turns"
)

// request is one that somebody sends, with a turn of theirs.
func request(t *testing.T, all *turns.All, media, text string) *http.Request {
	t.Helper()
	turn, err := all.Writing.Enter("anna")
	require.NoError(t, err)
	t.Cleanup(turn.Leave)
	r := httptest.NewRequest(http.MethodPatch, "/", strings.NewReader(text))
	r.Header.Set("Content-Type", media)
	return r.WithContext(turns.With(r.Context(), turn))
}

// A patch that merges lists by keys is known however its type is written, and costs what it adds too.
func TestPatchesThatMergeLongLists(t *testing.T) {
	patch := func(items int) string { return `{"a":[` + strings.TrimSuffix(strings.Repeat("{},", items), ",") + `]}` }
	for media, strategic := range map[string]bool{
		"application/strategic-merge-patch+json": true, "application/strategic-merge-patch+json; a=1; a=2": true, "application/strategic-merge-patch+json ;charset=utf-8": true,
		"application/merge-patch+json": false, "application/json": false,
	} {
		for _, c := range []struct {
			items, longest int
			fits           bool
		}{{1000, 1000, true}, {100, 30_000, true}, {200, 30_000, false}, {3000, 1, false}, {1, 90_000, true}} {
			r, err := Sized(request(t, turns.NewAll(), media, patch(c.items)), MostBody, schema.GroupVersionKind{}, true)
			require.NoError(t, err)
			err = Mergeable(r.Context(), map[string]any{"a": make([]any, c.longest)})
			require.Equal(t, strategic && !c.fits, apierrors.IsRequestEntityTooLargeError(err), "%s: %d of %d: %v", media, c.items, c.longest, err)
			text, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			require.Equal(t, patch(c.items), string(text), "it is there to be read again")
		}
	}
}

// What was sent takes room before it is read, whether it says how long it is or not.
func TestBodiesTakeRoomBeforeTheyAreRead(t *testing.T) {
	all := turns.NewAll()
	for i := range 10 { // of 3 MiB, of 32
		r := request(t, all, "application/json", "{}")
		r.ContentLength = int64(-1 + i%2*(1+MostBody))
		_, err := Sized(r, MostBody, schema.GroupVersionKind{}, false)
		require.NoError(t, err)
	}
	r := request(t, all, "application/json", "{}")
	ctx, cancel := context.WithTimeout(r.Context(), time.Millisecond)
	defer cancel()
	_, err := Sized(r.WithContext(ctx), MostBody, schema.GroupVersionKind{}, false)
	require.NoError(t, err, "two bytes have room")
	r = request(t, all, "application/json", "{"+strings.Repeat(" ", MostBody-2)+"}")
	ctx, cancel = context.WithTimeout(r.Context(), time.Millisecond)
	defer cancel()
	_, err = Sized(r.WithContext(ctx), MostBody, schema.GroupVersionKind{}, false)
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	rest, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Len(t, rest, MostBody, "nothing of it was read")
	_, err = Sized(request(t, turns.NewAll(), "application/json", strings.Repeat(" ", MostBody+1)), MostBody, schema.GroupVersionKind{}, false)
	require.True(t, apierrors.IsRequestEntityTooLargeError(err), "%v", err)
}
