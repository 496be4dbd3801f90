package notifier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"flotilla/configs"
	"flotilla/core/api"
)

// sender delivers one event. Its errors hold no secrets.
type sender interface {
	send(ctx context.Context, e configs.EventView) error
	// close lets go of what is kept between two events.
	close()
}

// errRefused marks an error that another try of the same event will not mend.
var errRefused = errors.New("refused")

// judged are the statuses by which a receiver judges the event itself.
var judged = []int{
	http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
}

// answerShown is how much of an answer is read, to show why it is no success.
const answerShown = 200

type webhook struct {
	url, host string
	headers   map[string]string
	template  *configs.Webhook
	timeout   time.Duration
	client    http.Client
}

// newClient is a client that follows no redirection: what is in the headers is for the host of the URL alone.
func newClient() http.Client {
	return http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (w *webhook) send(ctx context.Context, e configs.EventView) error {
	body, err := w.template.Render(e)
	if err != nil {
		return fmt.Errorf("%w: the template: %w", errRefused, err)
	}
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: making a request for %s", errRefused, w.host)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "flotilla-hub/"+api.Version)
	request.Header.Set("Flotilla-Event", e.ID)
	for name, value := range w.headers {
		request.Header.Set(name, value)
	}
	response, err := w.client.Do(request)
	if err != nil {
		if outer := (*url.Error)(nil); errors.As(err, &outer) { // it holds the URL, which may be a secret
			err = outer.Err
		}
		return fmt.Errorf("posting to %s: %w", w.host, err)
	}
	defer func() { _ = response.Body.Close() }()
	return w.answered(response)
}

// answered says what an answer means.
func (w *webhook) answered(response *http.Response) error {
	said, err := io.ReadAll(io.LimitReader(response.Body, answerShown))
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return nil
	}
	if err != nil {
		said = nil
	}
	wrong := fmt.Errorf("%s answers %s: %q", w.host, response.Status, said)
	if slices.Contains(judged, response.StatusCode) {
		return fmt.Errorf("%w: %w", errRefused, wrong)
	}
	return wrong
}

func (w *webhook) close() { w.client.CloseIdleConnections() }
