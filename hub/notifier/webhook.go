package notifier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"flotilla/configs"
	"flotilla/hub/outside"
)

// sender delivers one event. Its errors hold no secrets.
type sender interface {
	send(ctx context.Context, e configs.EventView) error
	// close lets go of what is kept between two events.
	close()
}

// errRefused marks an error that another try of the same event will not mend.
var errRefused = errors.New("refused")

// answered is an error of a receiver that was there and did not take an event, which may be for what the event says.
type answered struct{ error }

func (a answered) Unwrap() error { return a.error }

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
	client    *outside.Client
}

func (w *webhook) send(ctx context.Context, e configs.EventView) error {
	body, err := w.template.Render(e)
	if err != nil {
		return fmt.Errorf("%w: the template: %w", errRefused, err)
	}
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	headers := maps.Clone(w.headers)
	headers["Flotilla-Event"] = e.ID
	answer, err := w.client.Post(ctx, &outside.Post{URL: w.url, ContentType: "application/json", Headers: headers, Body: body, Most: answerShown})
	switch {
	case err != nil:
		return fmt.Errorf("posting to %s: %w", w.host, err)
	case answer.OK():
		return nil
	}
	wrong := fmt.Errorf("%s answers %s: %q", w.host, answer.Status, answer.Body)
	if slices.Contains(judged, answer.Code) {
		return fmt.Errorf("%w: %w", errRefused, wrong)
	}
	return answered{wrong}
}

func (w *webhook) close() { w.client.Close() }
