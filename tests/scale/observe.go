package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"flotilla/subjects"
)

// observed is all that the rig knows of a fleet at one moment.
type observed struct {
	hub, agents Figures
	traffic     Traffic
	// runs are those of rooms, "scheduler placement".
	runs map[string]float64
}

// since is what came after before.
func (o observed) since(before observed) observed {
	return observed{
		hub: o.hub.since(before.hub), agents: o.agents.since(before.agents),
		traffic: o.traffic.since(before.traffic), runs: lessEach(o.runs, before.runs),
	}
}

// observe looks at a fleet.
func (f *fleet) observe(ctx context.Context) (o observed, err error) {
	if err := f.tap.nc.FlushTimeout(rawPatience); err != nil {
		return o, fmt.Errorf("waiting for the tap: %w", err)
	}
	if o.hub, err = f.hub.figures(ctx); err != nil {
		return o, err
	}
	for _, agents := range f.agents {
		figures, err := agents.figures(ctx)
		if err != nil {
			return o, err
		}
		o.agents = o.agents.and(figures)
	}
	o.traffic = f.tap.traffic()
	if err := f.observeServer(ctx, &o.traffic); err != nil {
		return o, err
	}
	o.runs, err = f.observeRuns(ctx)
	return o, err
}

// observeServer adds what the server counts itself.
func (f *fleet) observeServer(ctx context.Context, t *Traffic) error {
	var all struct {
		InMsgs   float64 `json:"in_msgs"`
		InBytes  float64 `json:"in_bytes"`
		OutMsgs  float64 `json:"out_msgs"`
		OutBytes float64 `json:"out_bytes"`
	}
	text, err := fetch(ctx, f.at.Monitoring+"/varz")
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return fmt.Errorf("asking the server for its counts: %w", err)
	}
	t.In = Count{all.InMsgs, all.InBytes}
	t.Out = Count{all.OutMsgs, all.OutBytes}.since(Count{float64(f.tap.heardMessages.Load()), float64(f.tap.heardBytes.Load())})
	t.Stored = map[string]float64{}
	for _, a := range subjects.Assets() {
		stream, err := f.looker.JS.Stream(ctx, a.StreamName(f.looker.Fleet))
		if err != nil {
			return fmt.Errorf("asking for stream %s: %w", a.Short, err)
		}
		t.Stored[a.Short] = float64(stream.CachedInfo().State.LastSeq)
	}
	return nil
}

func (f *fleet) observeRuns(ctx context.Context) (map[string]float64, error) {
	page, err := fetch(ctx, f.at.Metrics)
	if err != nil {
		return nil, fmt.Errorf("asking the hub for its metrics: %w", err)
	}
	runs := map[string]float64{}
	for labels, value := range lines(string(page), "flotilla_room_runs_total") {
		words := strings.NewReplacer(`of="`, "", `room="`, "", `"`, "").Replace(labels)
		of, room, _ := strings.Cut(words, ",")
		runs[room+" "+of] = value
	}
	return runs, nil
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, text)
	}
	return text, err
}
