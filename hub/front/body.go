package front

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"

	"flotilla/hub/front/bounds"
)

const (
	// mostBody is the most bytes that a request may have, as of an API server.
	mostBody = 3 << 20
	// mostMerged is how often an item of a strategic merge patch is compared with one of a list at most.
	mostMerged = 4_000_000
	// valueBytes is about what a value takes once it is read, whatever its kind has there.
	valueBytes = 4 << 10
)

// body is what is known of what was sent.
type body struct {
	bounds.Counts
	strategic bool // a patch that merges lists by keys
}

// bodyKey is where a context has what is known of what was sent.
type bodyKey struct{}

// sized reads what was sent, and waits for room for what it becomes once it is decoded. What would become too large is refused.
func sized(r *http.Request, info *genericrequest.RequestInfo, of schema.GroupVersionKind) (*http.Request, error) {
	if reading[info.Verb] {
		return r, nil
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, mostBody+1))
	if err != nil {
		return nil, cutOff(err)
	}
	if len(text) > mostBody {
		return nil, bounds.TooLarge("found more than %d bytes, expected at most so many", mostBody)
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	found, err := bounds.Count(media, text, of)
	if err != nil {
		return nil, err
	}
	ctx := context.WithValue(r.Context(), bodyKey{}, body{found, types.PatchType(media) == types.StrategicMergePatchType})
	if info.Verb == "create" || info.Verb == "update" || info.Verb == "patch" { // others send options alone
		if err := roomFor(ctx, int64(len(text)+found.Values*valueBytes)); err != nil {
			return nil, err
		}
	}
	r = r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(text))
	return r, nil
}

// mergeable refuses a strategic merge patch whose lists are too long for those of an object: each item of one is looked for among all of
// the other.
func mergeable(ctx context.Context, object map[string]any) error {
	patch, _ := ctx.Value(bodyKey{}).(body)
	longest := bounds.LongestList(object)
	if !patch.strategic || patch.Items*longest <= mostMerged {
		return nil
	}
	return bounds.TooLarge(
		"found a strategic merge patch with %d items of lists for an object with a list of %d, expected at most %d comparisons: send a JSON merge patch, or apply on the server's side",
		patch.Items, longest, mostMerged)
}

// cutOff says why what was sent could not be read.
func cutOff(err error) error {
	if long := new(http.MaxBytesError); errors.As(err, &long) {
		return bounds.TooLarge("found more than %d bytes, expected at most %d", long.Limit, mostBody)
	}
	return apierrors.NewBadRequest("reading the request: " + err.Error())
}
