package overview

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"flotilla/core/api"
)

// Table is what a list holds for machines: columns and rows as CSV, and a value as JSON.
type Table struct {
	Name    string
	Columns []string
	Rows    [][]string
	Value   any
}

// TableOf has a row of cells for each of rows.
func TableOf[R any](name string, value any, rows []R, cells func(*R) []string, columns ...string) *Table {
	t := &Table{Name: name, Columns: columns, Value: value, Rows: make([][]string, len(rows))}
	for i := range rows {
		t.Rows[i] = cells(&rows[i])
	}
	return t
}

// objectTable holds objects as they were read, and as a list as the command line writes one: those of that keys, in their
// order, but for those that are gone by now.
func objectTable[O any](name string, bodies []json.RawMessage, keys []string, key func(*O) string, cells func(*O) []string, columns ...string) (*Table, error) {
	at, read := make(map[string]int, len(bodies)), make([]O, len(bodies))
	for i, body := range bodies {
		if err := json.Unmarshal(body, &read[i]); err != nil {
			return nil, fmt.Errorf("reading what is listed of %s: %w", name, err)
		}
		at[key(&read[i])] = i
	}
	items, rows := []json.RawMessage{}, [][]string{}
	for _, k := range keys {
		if i, there := at[k]; there {
			items, rows = append(items, bodies[i]), append(rows, cells(&read[i]))
		}
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"resourceVersion": ""}, "items": items}
	return &Table{Name: name, Columns: columns, Rows: rows, Value: list}, nil
}

// WriteCSV writes columns and rows.
func (t *Table) WriteCSV(to io.Writer) error {
	out := csv.NewWriter(to)
	_ = out.Write(t.Columns) // Error says so in the end
	for _, row := range t.Rows {
		_ = out.Write(tame(row))
	}
	out.Flush()
	return out.Error()
}

// tame keeps spreadsheets from reading what others named as a formula.
func tame(row []string) []string {
	out := make([]string, len(row))
	for i, cell := range row {
		if strings.IndexAny(cell, "=+-@\t\r") == 0 && !plainNumber.MatchString(cell) {
			cell = "'" + cell
		}
		out[i] = cell
	}
	return out
}

var plainNumber = regexp.MustCompile(`^[-+]?\d+(\.\d+)?$`)

// GroupTable counts members by group and state.
func GroupTable(by string, groups []Group) *Table {
	columns := []string{by, "members"}
	for _, state := range memberStates {
		columns = append(columns, string(state))
	}
	return TableOf("fleet-by-"+by, groups, groups, func(g *Group) []string {
		row := []string{g.Name, strconv.Itoa(g.Members)}
		for _, state := range memberStates {
			row = append(row, strconv.Itoa(g.States[state]))
		}
		return row
	}, columns...)
}

// EventTable holds events.
func EventTable(events []api.Audit) *Table {
	return TableOf("activity", events, events, func(e *api.Audit) []string {
		return []string{Written(e.At), e.By, e.From, e.Object, e.Member, e.Type, e.Reason, e.Message, e.Request}
	}, "time", "by", "from", "object", "member", "type", "reason", "message", "request")
}
