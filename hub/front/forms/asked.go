package forms

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"flotilla/hub/front/extent"
)

const (
	// mostLaid is how many bytes an answer has at most that is laid out in lines, and mostValues how many values one in YAML: so much takes what one
	// answer may hold.
	mostLaid, mostValues = 1 << 20, 8 << 10
	// What is encoded takes so many times its bytes, as it grows, and so much for each value of YAML, and for each map that becomes a type.
	encoded, laidEncoded, perValue, perMap = 2, 4, 1536, 1024
)

// Form is how an answer is written. None is that of JSON without lines.
type Form struct {
	media  string
	pretty bool   // in lines
	whole  bool   // a list is encoded as one, and not object by object
	plain  func() // has the answer not be in lines
}

// key is where a context has the form of an answer.
type key struct{}

// Asked is a request whose context says in which form its answer is, as the handlers of Kubernetes find it. An answer that is not laid out is not in
// lines, whatever is asked for.
func Asked(r *http.Request, s runtime.NegotiatedSerializer, restrictions negotiation.EndpointRestrictions, laidOut bool) *http.Request {
	asked, info, err := negotiation.NegotiateOutputMediaType(r, s, restrictions)
	if err != nil {
		return r // the handler says so
	}
	f := &Form{media: asked.Accepted.MediaType, whole: asked.Convert != nil}
	if info.PrettySerializer != nil && info.Serializer == info.PrettySerializer {
		r = f.inLines(r, &asked)
		if !laidOut {
			f.unpretty()
		}
	}
	return r.WithContext(context.WithValue(r.Context(), key{}, f))
}

// inLines is a request that says in its query alone that its answer is in lines.
func (f *Form) inLines(r *http.Request, asked *negotiation.MediaTypeOptions) *http.Request {
	r = r.Clone(r.Context())
	accept := f.media
	if to := asked.Convert; to != nil {
		accept += fmt.Sprintf(";as=%s;g=%s;v=%s", to.Kind, to.Group, to.Version)
	}
	r.Header.Set("Accept", accept)
	query, at := r.URL.Query(), r.URL
	query.Set("pretty", "false")
	plain := query.Encode()
	query.Set("pretty", "true")
	at.RawQuery = query.Encode()
	f.pretty, f.plain = true, func() { at.RawQuery = plain }
	return r
}

func (f *Form) unpretty() {
	f.plain()
	f.pretty = false
}

// Of is the form of the answer to the request of a context.
func Of(ctx context.Context) *Form {
	if f, is := ctx.Value(key{}).(*Form); is {
		return f
	}
	return &Form{media: runtime.ContentTypeJSON}
}

// Usual says that an answer is JSON.
func (f *Form) Usual() bool { return f.media == runtime.ContentTypeJSON && !f.pretty }

// Takes is how much memory it takes at most to write objects in the form, beside theirs, of which one is the largest. They have to fit.
func (f *Form) Takes(all, largest extent.Extent) (sum int64) {
	sum = encoded * largest.Text
	if f.whole {
		sum = encoded * all.Text
	}
	switch {
	case f.media == runtime.ContentTypeYAML:
		return max(sum, laidEncoded*min(all.Laid, mostLaid)+perValue*min(all.Values, mostValues))
	case f.media == runtime.ContentTypeProtobuf:
		return sum + encoded*all.Text + perMap*largest.Maps
	case f.pretty:
		return max(sum, laidEncoded*min(all.Laid, mostLaid))
	}
	return sum
}

// Fit says that objects are not too large to be written in the form. Where they are for lines alone, they are written without.
func (f *Form) Fit(all extent.Extent) error {
	if f.pretty && all.Laid > mostLaid {
		f.unpretty()
	}
	if f.media != runtime.ContentTypeYAML || all.Laid <= mostLaid && all.Values <= mostValues {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: fmt.Sprintf("found an answer of %d bytes and %d values in YAML, expected at most %d and %d: ask for it as application/json, or for fewer objects",
			all.Laid, all.Values, mostLaid, mostValues),
	}}
}
