package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// Report is what was measured, in how many passes, and where.
type Report struct {
	Machine Machine `json:"machine"`
	// Scale is the part of the members and placements of the scenarios that were there.
	Scale float64 `json:"scale"`
	// MostMembers is how many members a scenario had at most, 0 without such a bound.
	MostMembers int           `json:"mostMembers,omitempty"`
	Runs        [][]*Measured `json:"runs"`
}

// Machine says where and with what was measured.
type Machine struct {
	Cores     int       `json:"cores"`
	Processor string    `json:"processor,omitempty"`
	MemoryGiB float64   `json:"memoryGiB,omitempty"`
	System    string    `json:"system"`
	Go        string    `json:"go"`
	Commit    string    `json:"commit,omitempty"`
	Version   string    `json:"version"`
	At        time.Time `json:"at"`
	// Load is the average of the minute before: other work that ran beside.
	Load string `json:"load,omitempty"`
}

// thisMachine says what it can find out.
func thisMachine() Machine {
	m := Machine{
		Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Version: api.Version,
		At: elsewhen.Now().UTC().Truncate(time.Second), Processor: lineOf("/proc/cpuinfo", "model name"),
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(text), " ")
	}
	var kibi float64
	if _, err := fmt.Sscan(lineOf("/proc/meminfo", "MemTotal"), &kibi); err == nil {
		m.MemoryGiB = float64(int(kibi*10/mebi)) / 10
	}
	if out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		m.Commit = strings.TrimSpace(string(out))
	}
	return m
}

// lineOf is what stands behind the colon of the first line that begins so; empty where there is none.
func lineOf(path, begin string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == begin {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// write writes fleet.json, fleet.md and fleet.svg into a folder.
func (r *Report) write(folder string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{"fleet.json": string(text) + "\n", "fleet.md": r.tables(), "fleet.svg": r.svg()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil { //nolint:gosec // a document
			return err
		}
	}
	return nil
}

// steps are those of all passes, in the order of the first: the same step of each pass together.
func (r *Report) steps() [][]*Measured {
	var order []string
	found := map[string][]*Measured{}
	for _, run := range r.Runs {
		for _, m := range run {
			if found[m.title()] == nil {
				order = append(order, m.title())
			}
			found[m.title()] = append(found[m.title()], m)
		}
	}
	var all [][]*Measured
	for _, title := range order {
		all = append(all, found[title])
	}
	return all
}

// title names a step among those of all scenarios.
func (m *Measured) title() string {
	text := m.Scenario + ", " + m.Step
	if m.Folders == inMemory {
		text += ", folders in memory"
	}
	return text
}

// column is one of a table.
type column struct {
	name, form string
	of         func(*Measured) float64
}

var delivering = []column{
	{"deliveries", "%.0f", func(m *Measured) float64 { return float64(m.Deliveries) }},
	{"wall s", "%.2f", func(m *Measured) float64 { return m.Wall }},
	{"p50 s", "%.3f", func(m *Measured) float64 { return m.Latency.P50 }},
	{"p90 s", "%.3f", func(m *Measured) float64 { return m.Latency.P90 }},
	{"p99 s", "%.3f", func(m *Measured) float64 { return m.Latency.P99 }},
	{"hub ms", "%.2f", func(m *Measured) float64 { return 1000 * m.perDelivery(m.Hub.CPU) }},
	{"agents ms", "%.2f", func(m *Measured) float64 { return 1000 * m.perDelivery(m.own()) }},
	{"members ms", "%.2f", func(m *Measured) float64 { return 1000 * m.perDelivery(m.Agents.Target) }},
	{"hub allocates KiB", "%.0f", func(m *Measured) float64 { return m.perDelivery(m.Hub.Allocated) / 1024 }},
	{"messages", "%.2f", func(m *Measured) float64 { return m.perDelivery(m.sent().Messages) }},
	{"bytes sent", "%.0f", func(m *Measured) float64 { return m.perDelivery(m.sent().Bytes) }},
	{"bytes read", "%.0f", func(m *Measured) float64 { return m.perDelivery(m.read().Bytes) }},
	{"scheduler runs", "%.3f", func(m *Measured) float64 { return m.perDelivery(m.Runs[schedulerRuns]) }},
	{"CPU x NATS", "%.1f", func(m *Measured) float64 { cpu, _ := m.timesRaw(); return cpu }},
	{"p50 x NATS", "%.1f", func(m *Measured) float64 { _, latency := m.timesRaw(); return latency }},
}

var standing = []column{
	{"seconds", "%.0f", func(m *Measured) float64 { return m.Span }},
	{"hub % of a core", "%.1f", func(m *Measured) float64 { return 100 * m.Hub.CPU / m.Span }},
	{"agents % of a core", "%.1f", func(m *Measured) float64 { return 100 * m.own() / m.Span }},
	{"messages a second", "%.1f", func(m *Measured) float64 { return sum(m.Traffic.Sent).Messages / m.Span }},
	{"hub MiB", "%.0f", func(m *Measured) float64 { return m.Hub.RSS / mebi }},
	{"agent MiB", "%.2f", func(m *Measured) float64 { return m.Agents.RSS / mebi / float64(m.Members) }},
	{"goroutines an agent", "%.0f", func(m *Measured) float64 { return m.Agents.Goroutines / float64(m.Members) }},
}

var restarting = []column{
	{"ready s", "%.2f", func(m *Measured) float64 { return m.Ready }},
	{"first new placement s", "%.2f", func(m *Measured) float64 { return m.First }},
	{"caught up s", "%.2f", func(m *Measured) float64 { return m.Wall }},
	{"hub CPU s", "%.2f", func(m *Measured) float64 { return m.Hub.CPU }},
	{"agents CPU s", "%.2f", func(m *Measured) float64 { return m.own() }},
	{"commands stored", "%.0f", func(m *Measured) float64 { return m.Traffic.Stored[subjects.Commands] }},
	{"results stored", "%.0f", func(m *Measured) float64 { return m.Traffic.Stored[subjects.Result] }},
	{"deliveries", "%.0f", func(m *Measured) float64 { return float64(m.Deliveries) }},
}

// tables are a document with the medians of all passes.
func (r *Report) tables() string {
	var text strings.Builder
	m := r.Machine
	fmt.Fprintf(&text, "# A fleet, measured\n\nWritten by `make bench-fleet`; [benchmarks.md](../benchmarks.md) says how to read it. "+
		"%s, commit %s, %s, %d cores (%s), %.1f GiB, %s, %s, load before %s.\n",
		r.extent(), m.Commit, m.Go, m.Cores, m.Processor, m.MemoryGiB, m.System, m.At.Format(time.DateOnly), m.Load)
	for _, t := range []table{
		{"Deliveries; milliseconds, messages, bytes and runs are those a delivery", delivering, (*Measured).delivers},
		{"At rest", standing, (*Measured).rests},
		{"After a hub was killed", restarting, func(m *Measured) bool { return m.Ready > 0 }},
	} {
		t.write(&text, r)
	}
	r.writeStreams(&text)
	return text.String()
}

// extent says how much was measured.
func (r *Report) extent() string {
	text := fmt.Sprintf("Medians of %d passes", len(r.Runs))
	if len(r.Runs) == 1 {
		text = "One pass"
	}
	text += fmt.Sprintf(" at scale %g", r.Scale)
	if r.MostMembers > 0 {
		text += fmt.Sprintf(" with at most %d members", r.MostMembers)
	}
	return text
}

func (m *Measured) delivers() bool { return m.Deliveries > 0 && m.Ready == 0 }

func (m *Measured) rests() bool { return m.Deliveries == 0 && m.Ready == 0 }

// table has a row for each step that it takes.
type table struct {
	heading string
	columns []column
	takes   func(*Measured) bool
}

func (t table) write(text *strings.Builder, r *Report) {
	if !slices.ContainsFunc(r.steps(), func(step []*Measured) bool { return t.takes(step[0]) }) {
		return
	}
	fmt.Fprintf(text, "\n## %s\n\n| scenario | members |", t.heading)
	for _, c := range t.columns {
		fmt.Fprintf(text, " %s |", c.name)
	}
	fmt.Fprintf(text, "\n|---|---|%s\n", strings.Repeat("---|", len(t.columns)))
	for _, step := range r.steps() {
		if !t.takes(step[0]) {
			continue
		}
		fmt.Fprintf(text, "| %s | %d |", step[0].title(), step[0].Members)
		for _, c := range t.columns {
			fmt.Fprintf(text, " "+c.form+" |", c.median(step))
		}
		text.WriteString("\n")
	}
}

// median is that of the passes.
func (c column) median(step []*Measured) float64 {
	var values []float64
	for _, m := range step {
		values = append(values, c.of(m))
	}
	return median(values)
}
