package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/pprof"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// targetPackage is what members in memory are made of: in production an API server has their work.
const targetPackage = "flotilla/agent/target/memory."

// profiler takes profiles of the processor time of this process, one at a time.
type profiler struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *profiler) handle(mux *http.ServeMux) {
	mux.HandleFunc("/profile/start", answer(func(context.Context, struct{}) (struct{}, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.text.Reset()
		return struct{}{}, pprof.StartCPUProfile(&p.text)
	}))
	mux.HandleFunc("/profile/stop", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		pprof.StopCPUProfile()
		_, _ = w.Write(p.text.Bytes()) // who asked went away
	})
}

// profileTargets begins to look for what members in memory take of the processor time of agents; what it returns ends that,
// and says how much of so many seconds it was.
func (f *fleet) profileTargets(ctx context.Context) (end func(seconds float64) (float64, error), err error) {
	for _, agents := range f.agents {
		if err := agents.ask(ctx, "/profile/start", struct{}{}, &struct{}{}); err != nil {
			return nil, err
		}
	}
	return func(seconds float64) (float64, error) {
		var within, all float64
		for _, agents := range f.agents {
			var text []byte
			if err := agents.ask(ctx, "/profile/stop", struct{}{}, &text); err != nil {
				return 0, err
			}
			p, err := parseProfile(text)
			if err != nil {
				return 0, fmt.Errorf("reading the profile of %s: %w", agents.name, err)
			}
			w, a := p.within(targetPackage)
			within, all = within+w, all+a
		}
		if all == 0 {
			return 0, nil
		}
		return seconds * within / all, nil
	}, nil
}

// profile is what is read of one: for each sample the last of its values, and where it was taken.
type profile struct {
	samples   []sample
	functions map[uint64]int64    // number of the name by that of the function
	locations map[uint64][]uint64 // functions
	texts     []string
}

type sample struct {
	locations []uint64
	value     float64
}

// within adds up the samples that have a function of a package on their stack, and all.
func (p *profile) within(prefix string) (within, all float64) {
	for _, s := range p.samples {
		all += s.value
		if p.passes(s.locations, prefix) {
			within += s.value
		}
	}
	return within, all
}

func (p *profile) passes(locations []uint64, prefix string) bool {
	for _, location := range locations {
		for _, function := range p.locations[location] {
			if name := p.functions[function]; name < int64(len(p.texts)) && strings.HasPrefix(p.texts[name], prefix) {
				return true
			}
		}
	}
	return false
}

// Fields of profile.proto of pprof.
const (
	fieldSample, fieldLocation, fieldFunction, fieldText = 2, 4, 5, 6
	fieldSampleLocations, fieldSampleValues              = 1, 2
	fieldID, fieldFunctionName, fieldLocationLine        = 1, 2, 4
	fieldLineFunction                                    = 1
)

var errProfile = errors.New("expected a profile of pprof")

func parseProfile(text []byte) (*profile, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if text, err = io.ReadAll(zipped); err != nil {
		return nil, err
	}
	p := &profile{functions: map[uint64]int64{}, locations: map[uint64][]uint64{}}
	return p, fields(text, func(field protowire.Number, _ uint64, body []byte) error {
		switch field {
		case fieldText:
			p.texts = append(p.texts, string(body))
		case fieldSample:
			return p.takeSample(body)
		case fieldLocation:
			return p.takeLocation(body)
		case fieldFunction:
			return p.takeFunction(body)
		}
		return nil
	})
}

func (p *profile) takeSample(text []byte) error {
	var s sample
	err := fields(text, func(field protowire.Number, number uint64, body []byte) error {
		values, err := packed(number, body)
		switch field {
		case fieldSampleLocations:
			s.locations = append(s.locations, values...)
		case fieldSampleValues:
			if len(values) > 0 {
				s.value = float64(int64(values[len(values)-1]))
			}
		}
		return err
	})
	p.samples = append(p.samples, s)
	return err
}

func (p *profile) takeLocation(text []byte) error {
	var id uint64
	var functions []uint64
	err := fields(text, func(field protowire.Number, number uint64, body []byte) error {
		switch field {
		case fieldID:
			id = number
		case fieldLocationLine:
			return fields(body, func(field protowire.Number, number uint64, _ []byte) error {
				if field == fieldLineFunction {
					functions = append(functions, number)
				}
				return nil
			})
		}
		return nil
	})
	p.locations[id] = functions
	return err
}

func (p *profile) takeFunction(text []byte) error {
	var id uint64
	var name int64
	err := fields(text, func(field protowire.Number, number uint64, _ []byte) error {
		switch field {
		case fieldID:
			id = number
		case fieldFunctionName:
			name = int64(number)
		}
		return nil
	})
	p.functions[id] = name
	return err
}

// fields calls take for each field of a message, with its number or its bytes.
func fields(text []byte, take func(field protowire.Number, number uint64, body []byte) error) error {
	for len(text) > 0 {
		field, kind, n := protowire.ConsumeTag(text)
		if n < 0 {
			return errProfile
		}
		text = text[n:]
		var number uint64
		var body []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(text)
		case protowire.BytesType:
			body, n = protowire.ConsumeBytes(text)
		default:
			n = protowire.ConsumeFieldValue(field, kind, text)
		}
		if n < 0 {
			return errProfile
		}
		if err := take(field, number, body); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// packed are the numbers of a repeated field: one, or several in its bytes.
func packed(number uint64, body []byte) ([]uint64, error) {
	if body == nil {
		return []uint64{number}, nil
	}
	var values []uint64
	for len(body) > 0 {
		value, n := protowire.ConsumeVarint(body)
		if n < 0 {
			return nil, errProfile
		}
		values, body = append(values, value), body[n:]
	}
	return values, nil
}
