// Package clientlog makes what the Kubernetes client libraries say, by klog, part of the log of their process, which it
// would stand beside in another form.
//
// The main of the agent calls it. What they call an error is a warning there: the agent goes on, tries again, and says in
// words of its own what keeps it from its work.
package clientlog

import (
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	"github.com/rs/zerolog"
	"k8s.io/klog/v2"

	"flotilla/bus/lines"
)

// Verbosity of klog up to which something is told at a level. What is above is never told: from 6 on it is requests, and
// from 8 on their bodies, with the Secrets in them.
const (
	mostDebug = 2
	mostTrace = 4
)

// Into sends everything to log. It is called once, before anything speaks to a cluster.
func Into(log zerolog.Logger) {
	made := &sink{log: log.With().Str("by", "client-go").Logger(), failures: &lines.Bound{}}
	klog.SetLoggerWithOptions(logr.New(made), klog.ContextualLogger(true))
}

// sink is a log as the libraries see it.
type sink struct {
	log      zerolog.Logger
	name     string
	failures *lines.Bound // by what they say: whoever sends requests causes them
}

// Init has nothing to do: where in the libraries a line comes from is left out.
func (s *sink) Init(logr.RuntimeInfo) {}

// levelOf is the level of a verbosity.
func levelOf(verbosity int) zerolog.Level {
	switch {
	case verbosity <= 0:
		return zerolog.InfoLevel
	case verbosity <= mostDebug:
		return zerolog.DebugLevel
	case verbosity <= mostTrace:
		return zerolog.TraceLevel
	}
	return zerolog.Disabled
}

// Enabled reports whether something of a verbosity is told.
func (s *sink) Enabled(verbosity int) bool {
	level := levelOf(verbosity)
	return level != zerolog.Disabled && level >= s.log.GetLevel()
}

// Info tells something of a verbosity.
func (s *sink) Info(verbosity int, message string, pairs ...any) {
	if s.Enabled(verbosity) {
		s.tell(s.log.WithLevel(levelOf(verbosity)), message, pairs)
	}
}

// Error tells of a failure, of those that say the same now and then. What is told in the older way says something else each time, and
// counts as one.
func (s *sink) Error(err error, message string, pairs ...any) {
	what := s.name + "/" + message
	if err == nil && len(pairs) == 0 {
		what = ""
	}
	s.tell(s.failures.Of(what, s.log.Warn).Err(err), message, pairs)
}

func (s *sink) tell(line *zerolog.Event, message string, pairs []any) {
	if line == nil {
		return
	}
	if s.name != "" {
		line = line.Str("part", s.name)
	}
	for key, value := range each(pairs) {
		line = line.Interface(key, value)
	}
	line.Msg(message)
}

// WithValues is a log whose lines have more pairs.
func (s *sink) WithValues(pairs ...any) logr.LogSink {
	with := s.log.With()
	for key, value := range each(pairs) {
		with = with.Interface(key, value)
	}
	return &sink{with.Logger(), s.name, s.failures}
}

// WithName is the log of a part.
func (s *sink) WithName(name string) logr.LogSink {
	if s.name != "" {
		name = s.name + "/" + name
	}
	return &sink{s.log, name, s.failures}
}

// each goes over pairs of keys and values, as lines show them. A key without a value is left out.
func each(pairs []any) func(func(string, any) bool) {
	return func(yield func(string, any) bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if !yield(fmt.Sprint(pairs[i]), shown(pairs[i+1])) {
				return
			}
		}
	}
}

// named is an object of a cluster, of which no more than the name is told.
type named interface {
	GetNamespace() string
	GetName() string
}

func shown(value any) any {
	switch value := value.(type) {
	case error:
		return value.Error()
	case named:
		return strings.TrimPrefix(value.GetNamespace()+"/"+value.GetName(), "/")
	case fmt.Stringer:
		return value.String()
	case logr.Marshaler:
		return value.MarshalLog()
	}
	return value
}
