package page

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"flotilla/core/api"
	"flotilla/core/deed"
	"flotilla/core/overview"
	"flotilla/core/phrase"
)

// activityScreen says what waits for whoever looks, and who did what.
var activityScreen = &screen{Name: "Activity", Home: "/activity", Key: "a", patterns: []string{"/activity"}, draw: drawActivity, personal: true}

const (
	// shownEvents is how many events stand on the page, mostEvents how many a table has at most.
	shownEvents, mostEvents = 100, 5000
	// shownTodo is how many things that wait stand on the page.
	shownTodo = 100
)

// happened are events, the newest first.
type happened struct {
	Events []api.Audit
	Older  uint64
	// Command shows the same.
	Command string
}

// happened reads events.
func (v *visit) happened(ask *api.EventsRequest) (*happened, error) {
	var answer api.EventsResponse
	if err := v.ask(api.VerbEvents, ask, &answer); err != nil {
		return nil, err
	}
	slices.Reverse(answer.Events)
	return &happened{answer.Events, answer.Older, deed.Events(ask)}, nil
}

func drawActivity(v *visit) (*drawing, error) {
	gates, err := v.gates()
	if err != nil {
		return nil, err
	}
	ask, err := v.events(shownEvents)
	if err != nil {
		return nil, err
	}
	seen, err := v.happened(ask)
	if err != nil {
		return nil, err
	}
	todo := deed.TodoOf(v.fleet.Fleet, gates)
	shown := min(len(todo), shownTodo)
	return &drawing{
		Title: "Activity",
		Parts: []part{{"todo", "todo", map[string]any{"All": todo[:shown], "More": len(todo) - shown}}, {"events", "events", seen}},
		Table: eventTable,
	}, nil
}

func (v *visit) gates() ([]api.Gate, error) {
	listed, err := v.list(api.KindGate, false)
	gates := make([]api.Gate, len(listed))
	for i := range listed {
		if err := json.Unmarshal(listed[i], &gates[i]); err != nil {
			return nil, fmt.Errorf("reading a gate: %w", err)
		}
	}
	return gates, err
}

// events is what the URL asks of the audit.
func (v *visit) events(most int) (*api.EventsRequest, error) {
	ask := &api.EventsRequest{Object: v.query("object"), Member: v.query("member"), By: v.query("by"), Limit: most}
	if v.query("mine") != "" {
		ask.By = v.person.Name
	}
	var err error
	if before := v.query("before"); before != "" {
		if ask.Before, err = strconv.ParseUint(before, 10, 64); err != nil {
			return nil, &api.Failure{Code: api.CodeInvalid, Message: "found before=" + phrase.Quoted(before) + ", expected the number of the link to older events"}
		}
	}
	return ask, nil
}

// eventTable holds the same events, and older ones, up to mostEvents.
func eventTable(v *visit, _ string) (*overview.Table, error) {
	ask, err := v.events(mostEvents)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(v.ctx, answerWithin/2)
	defer cancel()
	all, err := ask.All(func(ask *api.EventsRequest) (*api.EventsResponse, error) {
		var page api.EventsResponse
		return &page, v.page.options.Door.Ask(ctx, v.caller, api.VerbEvents, ask, &page)
	})
	if ctx.Err() != nil && v.ctx.Err() == nil {
		return nil, &api.Failure{
			Code: api.CodeUnavailable, Message: fmt.Sprintf("the history is too long to be looked through within %s: ask for an object, or for fewer", answerWithin/2),
			Next: "flotilla events --help",
		}
	}
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	return overview.EventTable(all), nil
}
