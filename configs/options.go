package configs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"flotilla/core/strict"
)

// Duration is a span of time, written "15s" or "5m".
type Duration time.Duration

// UnmarshalText reads a duration; its error says what is expected.
func (d *Duration) UnmarshalText(text []byte) error {
	value, err := time.ParseDuration(string(text))
	if err != nil {
		return errors.New(`a duration, like "15s" or "5m"`)
	}
	*d = Duration(value)
	return nil
}

// MarshalText writes a duration as UnmarshalText reads it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// mostSize is the largest size that is read, 1 EiB.
const mostSize = 1 << 60

// ParseSize reads an amount of bytes, "512Mi". Nothing is 0, and none at all, "0", is -1.
func ParseSize(text string) (bytes int64, ok bool) {
	if text == "" {
		return 0, true
	}
	q, err := strict.ParseQuantity(text)
	if err != nil || q.Sign() < 0 || q.Value() > mostSize {
		return 0, false
	}
	if q.IsZero() {
		return -1, true
	}
	return q.Value(), true
}

// anAmount is what ParseSize reads.
const anAmount = `an amount of bytes, like "512Mi" or "2Gi", or "0" for none`

func (c *checks) memoryLimit(text string) {
	_, sized := ParseSize(text)
	c.unless(sized, "memoryLimit", strconv.Quote(text), anAmount)
}

// Bus says which NATS servers to connect to. What is empty here is read from NATS_URL, NATS_CREDS
// and NATS_CONTEXT.
type Bus struct {
	// URL of the servers, comma separated.
	URL string `json:"url,omitempty"`
	// Creds is the path of a .creds file.
	Creds string `json:"creds,omitempty"`
	// Context names a context of the nats command line tool.
	Context string `json:"context,omitempty"`
	// TLS is how the servers prove who they are.
	TLS BusTLS `json:"tls,omitzero"`
}

// BusTLS is the side of TLS of who connects.
type BusTLS struct {
	// CA is the path of the authority of the servers' certificates; empty for those that the machine trusts.
	CA string `json:"ca,omitempty"`
}

// Log says how much is logged, and how.
type Log struct {
	// Level is trace, debug, info, warn or error.
	Level string `json:"level,omitempty"`
	// Format is text, for people, or json.
	Format string `json:"format,omitempty"`
}

// Levels and formats of a log.
var (
	logLevels  = []string{"trace", "debug", "info", "warn", "error"}
	logFormats = []string{"text", "json"}
)

// strict reads one YAML document into options, which hold the defaults already, and returns it with what
// is wrong with its form; no document when the text holds none.
func strictly(source string, text []byte, into any) (*Document, strict.Faults, error) {
	docs, err := Parse(source, text)
	problems, _ := errors.AsType[Problems](err)
	switch {
	case len(docs) == 0:
		return nil, nil, err
	case len(docs) > 1:
		return nil, nil, Problem{Source: source, Position: docs[1].Position(""), Text: "a second document", Expected: "one, in a configuration file"}
	}
	faults := strict.Decode(docs[0].JSON, into)
	for i := range faults {
		docs[0].Place(&faults[i])
	}
	for _, p := range problems {
		faults = append(faults, p.Fault())
	}
	return &docs[0], faults, nil
}

// checks collects what is wrong with options.
type checks struct{ faults strict.Faults }

func (c *checks) add(path, found, expected string) {
	c.faults = append(c.faults, strict.Fault{Path: path, Found: found, Expected: expected})
}

// unless adds a fault when ok is false.
func (c *checks) unless(ok bool, path, found, expected string) {
	if !ok {
		c.add(path, found, expected)
	}
}

func (c *checks) choice(path, value string, words []string) {
	c.unless(slices.Contains(words, value), path, strconv.Quote(value), "one of "+strings.Join(words, ", "))
}

func (c *checks) positive(path string, d, least, most Duration) {
	c.unless(d >= least && d <= most, path, strconv.Quote(time.Duration(d).String()),
		fmt.Sprintf("a duration from %s to %s", time.Duration(least), time.Duration(most)))
}

func (c *checks) log(l Log) {
	c.choice("log.level", l.Level, logLevels)
	c.choice("log.format", l.Format, logFormats)
}

// amount checks an amount of bytes and returns it, or the least one where it is wrong.
func (c *checks) amount(path, text string, least, most int64) int64 {
	bytes, ok := ParseSize(text)
	ok = ok && bytes >= least && bytes <= most
	c.unless(ok, path, strconv.Quote(text), fmt.Sprintf("an amount of bytes from %s to %s", shownSize(least), shownSize(most)))
	if !ok {
		return least
	}
	return bytes
}

// shownSize is an amount of bytes as it is written.
func shownSize(bytes int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}} {
		if bytes%unit.size == 0 {
			return strconv.FormatInt(bytes/unit.size, 10) + unit.name
		}
	}
	return strconv.FormatInt(bytes, 10)
}

func (c *checks) address(path, address string) {
	if address == "" {
		return
	}
	_, port, ok := cutPort(address)
	n, err := strconv.Atoi(port)
	c.unless(ok && err == nil && n >= 0 && n <= 65535, path, strconv.Quote(address), `a host and a port, like "127.0.0.1:9090"`)
}

// cutPort splits "host:port" at its last colon; the host may be empty or a bracketed IPv6 address.
func cutPort(address string) (host, port string, ok bool) {
	i := strings.LastIndexByte(address, ':')
	if i < 0 || strings.Contains(address[:i], ":") && !strings.HasPrefix(address, "[") {
		return address, "", false
	}
	return address[:i], address[i+1:], true
}

// named returns structural faults and, of the others, those that are not about a place that has a
// structural one already, each with the place in its file.
func named(doc *Document, source string, structural, others strict.Faults) error {
	all := slices.Clone(structural)
	for _, f := range others {
		if !slices.ContainsFunc(structural, func(s strict.Fault) bool { return s.Covers(f.Path) }) {
			if f.File = source; doc != nil {
				doc.Place(&f)
			}
			all = append(all, f)
		}
	}
	return all.Err()
}
