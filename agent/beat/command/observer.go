// Package command asks a command for properties of a member that no API server knows: racks, contracts, carbon.
//
// Package agentd makes an Observer where observe.exec is configured. The command prints an object of JSON, names of
// properties and their values as texts, and ends with 0.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"flotilla/agent/exec"
	"flotilla/core/validate"
)

// A heartbeat has room for so many properties and values of so many bytes.
const (
	mostProperties = 100
	mostValue      = 256
)

// Options of an Observer. All but Environment and Directory are needed.
type Options struct {
	Member  string
	Command []string
	// Environment is added to the agent's.
	Environment map[string]string
	// Directory it runs in, the agent's when empty.
	Directory string
	// Interval is how often it is run.
	Interval time.Duration
	// Timeout ends it when it takes longer, Grace after it was told to end it is killed.
	Timeout, Grace time.Duration
	Log            zerolog.Logger
}

// Observer runs the command of one member.
type Observer struct {
	command  exec.Command
	interval time.Duration
	log      zerolog.Logger

	mu    sync.Mutex
	found map[string]string
	fault error
}

// New checks that the command can be found.
func New(o Options) (*Observer, error) {
	if err := exec.Findable(o.Command[0], o.Directory); err != nil {
		return nil, fmt.Errorf("observe.exec.command: the command %q cannot be run: %w", o.Command[0], err)
	}
	c := exec.Command{
		Argv: o.Command, Directory: o.Directory, Timeout: o.Timeout, Grace: o.Grace,
		Environment: exec.Variables(o.Environment, "FLOTILLA_MEMBER="+o.Member),
	}
	return &Observer{command: c, interval: o.Interval, log: o.Log}, nil
}

// Run runs the command at once, and every interval until ctx ends.
func (o *Observer) Run(ctx context.Context) error {
	for {
		o.look(ctx)
		timer := time.NewTimer(o.interval - rand.N(1+o.interval/10)) // not all agents at the same time
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

func (o *Observer) look(ctx context.Context) {
	found, err := o.ask(ctx)
	if ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		o.found = found
	case o.fault == nil || o.fault.Error() != err.Error():
		o.log.Warn().Err(err).Msg("the properties of observe.exec stay what they were")
	}
	o.fault = err
}

// ask runs the command and reads what it prints.
func (o *Observer) ask(ctx context.Context) (map[string]string, error) {
	said, err := o.command.Run(ctx)
	name := o.command.Argv[0]
	switch {
	case err != nil:
		return nil, err
	case said.Exit != 0:
		return nil, fmt.Errorf("%s ended with exit code %d%s", name, said.Exit, said.Because())
	}
	var found map[string]string
	if err := json.Unmarshal([]byte(said.Printed), &found); err != nil || found == nil {
		return nil, fmt.Errorf(`%s printed what cannot be read, expected an object of texts, like {"example.com/racks": "12"}`, name)
	}
	if err := check(found); err != nil {
		return nil, fmt.Errorf("%s printed %w", name, err)
	}
	return found, nil
}

// check names everything that a heartbeat does not take.
func check(found map[string]string) error {
	var faults []error
	if len(found) > mostProperties {
		faults = append(faults, fmt.Errorf("%d properties, expected at most %d", len(found), mostProperties))
	}
	for _, f := range validate.Properties("properties", found) {
		faults = append(faults, fmt.Errorf("the property %s, expected %s", f.Found, f.Expected))
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if value := found[name]; len(value) > mostValue || !printable(value) {
			faults = append(faults, fmt.Errorf("a value of %d bytes for %q, expected at most %d that can be printed", len(value), name, mostValue))
		}
	}
	return errors.Join(faults...)
}

func printable(text string) bool {
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return utf8.ValidString(text)
}

// Properties are what the command said when it last succeeded; none of a nil observer. The caller must not change them.
func (o *Observer) Properties() map[string]string {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.found
}

// Trouble says why they are not newer, empty when they are.
func (o *Observer) Trouble() string {
	if o == nil {
		return ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.fault == nil {
		return ""
	}
	return "observe.exec: " + o.fault.Error()
}
