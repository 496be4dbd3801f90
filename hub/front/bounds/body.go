package bounds

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/hub/front/turns"
)

const (
	// MostBody is the most bytes that a request may have, as of an API server.
	MostBody = 3 << 20
	// mostMerged is how often an item of a strategic merge patch is compared with one of a list at most.
	mostMerged = 4_000_000
	// valueBytes is about what a value takes once it is read, whatever its kind has there.
	valueBytes = 4 << 10
)

// body is what is known of what was sent.
type body struct {
	Counts
	strategic bool // a patch that merges lists by keys
}

// bodyKey is where a context has what is known of what was sent.
type bodyKey struct{}

// Sized reads what was sent, so many bytes at most, and, where it is decoded as of a kind, waits for room for what it becomes. What would
// become too large is refused.
func Sized(r *http.Request, most int64, of schema.GroupVersionKind, decoded bool) (*http.Request, error) {
	length := r.ContentLength
	if length < 0 {
		length = most
	}
	if length > most {
		return nil, tooLong(most)
	}
	ctx := r.Context()
	if err := turns.Hold(ctx, turns.Sent, length); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	if err != nil {
		return nil, cutOff(err)
	}
	if int64(len(text)) > most {
		return nil, tooLong(most)
	}
	found, err := Count(text, of)
	if err != nil {
		return nil, err
	}
	if decoded {
		if err := turns.Hold(ctx, turns.Decoded, int64(len(text)+found.Values*valueBytes)); err != nil {
			return nil, err
		}
	}
	if decoded && found.Rough {
		if err := shallow(text); err != nil {
			return nil, err
		}
	}
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";") // as handlers of patches do
	media = strings.TrimSpace(media)
	r = r.WithContext(context.WithValue(ctx, bodyKey{}, body{found, types.PatchType(media) == types.StrategicMergePatchType}))
	r.Body = io.NopCloser(bytes.NewReader(text))
	return r, nil
}

// Mergeable refuses a strategic merge patch whose lists are too long for those of an object: each item of one is looked for among all of
// the other, to which those are added that are not found.
func Mergeable(ctx context.Context, object map[string]any) error {
	patch, _ := ctx.Value(bodyKey{}).(body)
	longest := LongestList(object)
	if !patch.strategic || patch.Items*(longest+patch.Items) <= mostMerged {
		return nil
	}
	return TooLarge(
		"found a strategic merge patch with %d items of lists for an object with a list of %d, expected at most %d comparisons: send a JSON merge patch, or apply on the server's side",
		patch.Items, longest, mostMerged)
}

func tooLong(most int64) error {
	return TooLarge("found more than %d bytes, expected at most so many", most)
}

// cutOff says why what was sent could not be read.
func cutOff(err error) error {
	if long := new(http.MaxBytesError); errors.As(err, &long) {
		return TooLarge("found more than %d bytes, expected at most %d", long.Limit, MostBody)
	}
	return apierrors.NewBadRequest("reading the request: " + err.Error())
}
