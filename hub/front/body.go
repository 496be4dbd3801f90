package front

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
)

const (
	// mostBody is the most bytes that a request may have, as of an API server.
	mostBody = 3 << 20
	// mostValues is how many values a request may have, and mostDepth how deeply they may nest.
	mostValues, mostDepth = 100_000, 128
	// mostMerged is how often an item of a strategic merge patch is compared with one of a list at most.
	mostMerged = 4_000_000
	// valueBytes is about what a value takes once it is read, whatever its kind has there.
	valueBytes = 4 << 10
)

// counts are how many values something has that was sent, and how many of them are items of lists.
type counts struct {
	values, items int
	strategic     bool // a patch that merges lists by keys
}

// countsKey is where a context has the counts of what was sent.
type countsKey struct{}

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
		return nil, tooLarge("found more than %d bytes, expected at most so many", mostBody)
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	found, err := counted(media, text, of)
	if err != nil {
		return nil, err
	}
	found.strategic = types.PatchType(media) == types.StrategicMergePatchType
	ctx := context.WithValue(r.Context(), countsKey{}, found)
	if info.Verb == "create" || info.Verb == "update" || info.Verb == "patch" { // others send options alone
		if err := roomFor(ctx, int64(len(text)+found.values*valueBytes)); err != nil {
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
	sent, _ := ctx.Value(countsKey{}).(counts)
	longest := longestList(object)
	if !sent.strategic || sent.items*longest <= mostMerged {
		return nil
	}
	return tooLarge(
		"found a strategic merge patch with %d items of lists for an object with a list of %d, expected at most %d comparisons: send a JSON merge patch, or apply on the server's side",
		sent.items, longest, mostMerged)
}

// longestList is how many items the longest list in a value has.
func longestList(value any) (most int) {
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			most = max(most, longestList(inner))
		}
	case []any:
		most = len(v)
		for _, inner := range v {
			most = max(most, longestList(inner))
		}
	}
	return most
}

// cutOff says why what was sent could not be read.
func cutOff(err error) error {
	if long := new(http.MaxBytesError); errors.As(err, &long) {
		return tooLarge("found more than %d bytes, expected at most %d", long.Limit, mostBody)
	}
	return apierrors.NewBadRequest("reading the request: " + err.Error())
}

// counted counts the values of a text that is of a kind, or finds that they are too many, without decoding it.
func counted(media string, text []byte, of schema.GroupVersionKind) (c counts, err error) {
	switch {
	case media == runtime.ContentTypeProtobuf:
		err = c.protobuf(text, of)
	case json.Valid(text):
		err = c.json(text)
	default:
		err = c.yaml(text)
	}
	return c, err
}

// add counts one value more.
func (c *counts) add() error {
	if c.values++; c.values > mostValues {
		return tooLarge("found more than %d values, expected at most so many", mostValues)
	}
	return nil
}

func tooLarge(format string, args ...any) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(format, args...))
}

func tooDeep() error {
	return tooLarge("found values that nest more than %d levels deep, expected at most so many", mostDepth)
}

// json counts the values of a text in JSON that is valid.
func (c *counts) json(text []byte) error {
	var lists [mostDepth]bool
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			continue
		case '}', ']':
			depth--
			continue
		case '{', '[':
			if depth == mostDepth {
				return tooDeep()
			}
			lists[depth] = text[i] == '['
			depth++
		case ',':
		default:
			continue
		}
		if lists[depth-1] {
			c.items++
		}
		if err := c.add(); err != nil {
			return err
		}
	}
	return nil
}

// yaml counts all signs of a text that may each begin a value, as what of it is text cannot be told. Such a text waits for all room that
// one person has: parts of it may stand for others.
func (c *counts) yaml(text []byte) error {
	signs := 0
	for _, sign := range text {
		if bytes.IndexByte([]byte("\n,[{:-?*"), sign) >= 0 {
			signs++
		}
	}
	if c.values, c.items = mostValues, mostValues; signs > mostValues {
		return tooLarge("found %d signs in YAML that may each begin a value, expected at most %d: send it as JSON, where values are told from texts", signs, mostValues)
	}
	return nil
}
