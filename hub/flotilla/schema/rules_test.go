package schema

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"flotilla/configs"
	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
	"flotilla/core/validate/upgrades"
)

// written is one field of a whole document, with what docs/objects.md says of it.
type written struct {
	field Field
	path  []string // numbers for items of lists
	body  []byte   // of the document
	kind  string
}

// whole are all fields of the documents in testdata that docs/objects.md has a row of.
func whole(t *testing.T) []written {
	t.Helper()
	text, err := os.ReadFile("testdata/whole.yaml")
	require.NoError(t, err)
	found, err := configs.Parse("whole.yaml", text)
	require.NoError(t, err)
	var all []written
	for _, d := range found {
		_, faults := validate.Decode(d.JSON)
		require.Empty(t, faults, d.Where())
		var document map[string]any
		require.NoError(t, json.Unmarshal(d.JSON, &document))
		kind, _ := document["kind"].(string)
		var visit func(f Field, value any, path []string)
		visit = func(f Field, value any, path []string) {
			if items, list := value.([]any); list {
				for i, item := range items {
					visit(f, item, append(slices.Clip(path), strconv.Itoa(i)))
				}
				return
			}
			fields, _ := value.(map[string]any)
			for _, field := range f.Fields() {
				if given, has := fields[field.Name]; has {
					at := append(slices.Clip(path), field.Name)
					if _, said := rows()[field.within][field.Name]; said {
						all = append(all, written{field, at, d.JSON, kind})
					}
					visit(field, given, at)
				}
			}
		}
		spec, unknown := Root(kind).Find([]string{"spec"})
		require.Empty(t, unknown)
		visit(spec, document["spec"], []string{"spec"})
	}
	return all
}

// with is the document with another value of the field; without one the field is gone.
func (w *written) with(t *testing.T, value func(before any) any) []byte {
	t.Helper()
	var document any
	require.NoError(t, json.Unmarshal(w.body, &document))
	at := document
	for _, step := range w.path[:len(w.path)-1] {
		at = inside(at, step)
	}
	holder := at.(map[string]any)
	name := w.path[len(w.path)-1]
	if after := value(holder[name]); after == nil {
		delete(holder, name)
	} else {
		holder[name] = after
	}
	body, err := json.Marshal(document)
	require.NoError(t, err)
	return body
}

func inside(value any, step string) any {
	if items, list := value.([]any); list {
		i, _ := strconv.Atoi(step)
		return items[i]
	}
	fields, _ := value.(map[string]any)
	return fields[step]
}

// refused says whether a document has a fault at the field.
func (w *written) refused(body []byte) bool {
	_, faults := validate.Decode(body)
	return slices.ContainsFunc(faults, func(f strict.Fault) bool { return f.Path == w.at() })
}

// at is the path as faults spell it, "spec.taints[0].effect".
func (w *written) at() string {
	var b strings.Builder
	for _, step := range w.path {
		if _, err := strconv.Atoi(step); err == nil {
			step = "[" + step + "]"
		} else if b.Len() > 0 {
			step = "." + step
		}
		b.WriteString(step)
	}
	return b.String()
}

func (w *written) String() string { return w.kind + " " + w.at() }

var (
	// perType is what stands before the rules of a field that some placement types have.
	perType  = regexp.MustCompile(`^(PickAll|PickN|PickFixed|not with [A-Za-z]+)[:,. ]`)
	between  = regexp.MustCompile(`^(-?\d+) to (-?\d+)\b`)
	fromOn   = regexp.MustCompile(`^(\d+) or more\b`)
	most     = regexp.MustCompile(`\bat most (\d+)\b`)
	alsoFor  = regexp.MustCompile(`, also for (\d+)$`)
	letters  = regexp.MustCompile(`^at most (\d+) characters`)
	aLiteral = regexp.MustCompile("^(`\"\"`|[A-Za-z]+|\\d+|\\d+%)$")
)

// bounds are the least and the largest number, or length of a list, that the rules of a field name.
func (w *written) bounds(t *testing.T) (low, high *int) {
	t.Helper()
	number := func(text string) *int {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		return &n
	}
	text := w.field.Text
	if perType.MatchString(text) {
		_, text, _ = strings.Cut(text, ". ")
	}
	if found := between.FindStringSubmatch(text); found != nil {
		return number(found[1]), number(found[2])
	}
	if found := fromOn.FindStringSubmatch(text); found != nil {
		return number(found[1]), nil
	}
	if found := most.FindStringSubmatch(text); found != nil && !letters.MatchString(text) {
		return nil, number(found[1])
	}
	return nil, nil
}

// TestBoundsOfTheDocumentHold writes the numbers that docs/objects.md names into each field, and those beyond.
func TestBoundsOfTheDocumentHold(t *testing.T) {
	checked := 0
	for _, w := range whole(t) {
		low, high := w.bounds(t)
		list := strings.HasPrefix(w.field.Type, "[]")
		if low == nil && high == nil || !list && w.field.Type != "integer" {
			continue
		}
		value := func(n int) func(any) any {
			return func(before any) any {
				if !list {
					return n
				}
				items := []any{}
				for range n {
					items = append(items, before.([]any)[0])
				}
				return items
			}
		}
		checked++
		if low != nil {
			beyond := *low - 1
			if also := alsoFor.FindStringSubmatch(w.field.Default); also != nil {
				accepted, _ := strconv.Atoi(also[1])
				assert.False(t, w.refused(w.with(t, value(accepted))), "%s accepts %d: %s", &w, accepted, w.field.Default)
				beyond = accepted - 1
			}
			assert.False(t, w.refused(w.with(t, value(*low))), "%s accepts %d: %s", &w, *low, w.field.Text)
			assert.True(t, w.refused(w.with(t, value(beyond))) || list && beyond < 0, "%s refuses %d: %s", &w, beyond, w.field.Text)
		}
		if high != nil {
			assert.False(t, w.refused(w.with(t, value(*high))), "%s accepts %d: %s", &w, *high, w.field.Text)
			assert.True(t, w.refused(w.with(t, value(*high+1))), "%s refuses %d: %s", &w, *high+1, w.field.Text)
		}
	}
	assert.Greater(t, checked, 20)
}

// TestWhatTheDocumentRequiresIsRequired takes each required field away.
func TestWhatTheDocumentRequiresIsRequired(t *testing.T) {
	checked := 0
	for _, w := range whole(t) {
		if rows()[w.field.within][w.field.Name].fallback != "required" {
			continue
		}
		checked++
		_, faults := validate.Decode(w.with(t, func(any) any { return nil }))
		around := w.at()[:strings.LastIndexByte(w.at(), '.')]
		assert.True(t, slices.ContainsFunc(faults, func(f strict.Fault) bool { return f.Path == w.at() || f.Path == around }), "%s is required: %v", &w, faults)
	}
	assert.Greater(t, checked, 40)
}

// stored is a document as the hub keeps it, nil of a kind that it keeps as it is written.
func stored(d *validate.Decoded) any {
	switch value := d.Value.(type) {
	case *api.MemberCluster:
		validate.DefaultMember(value)
		return value
	case *api.Placement:
		validate.Default(value)
		return value
	case *api.UpdateRun:
		upgrades.DefaultRun(value)
		return value
	case *api.AutoUpgradeProfile:
		upgrades.DefaultProfile(value)
		return value
	}
	return nil
}

// TestDefaultsOfTheDocumentAreFilledIn takes fields away of the kinds that are stored with their defaults.
func TestDefaultsOfTheDocumentAreFilledIn(t *testing.T) {
	checked := 0
	for _, w := range whole(t) {
		fallback := alsoFor.ReplaceAllString(w.field.Default, "")
		if w.field.Type == "Object" || !aLiteral.MatchString(fallback) || fallback == "none" || strings.Contains(w.at(), ".policy.") && w.kind == api.KindUpdateRun {
			continue
		}
		decoded, faults := validate.Decode(w.with(t, func(any) any { return nil }))
		kept := stored(&decoded)
		if len(faults) > 0 || kept == nil {
			continue // other fields of the document need it
		}
		var value any
		body, err := json.Marshal(kept)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(body, &value))
		for _, step := range w.path {
			value = inside(value, step)
		}
		checked++
		want := strings.Trim(fallback, "`\"")
		if value == nil && slices.Contains([]string{"", "false", "0", api.ReportBackDisabled}, want) {
			continue // what the absence of a value means
		}
		assert.Equal(t, want, fmt.Sprint(value), "%s by default", &w)
	}
	assert.Greater(t, checked, 10)
}

// TestWordsOfTheDocumentAreAllThereAre finds every word that a field may be in what docs/objects.md says of it.
func TestWordsOfTheDocumentAreAllThereAre(t *testing.T) {
	for _, w := range whole(t) {
		r := rows()[w.field.within][w.field.Name]
		said := r.fallback + " " + r.text
		if strings.Contains(said, "Sunday to Saturday") || strings.Contains(w.at(), ".afterGates") || strings.Contains(w.at(), "StageTasks") {
			continue
		}
		for _, word := range w.field.Enum {
			assert.Contains(t, said, word, "%s may be %s", &w, word)
			accepted := w.with(t, func(before any) any {
				if _, list := before.([]any); list {
					return []any{word}
				}
				return word
			})
			_, faults := validate.Decode(accepted)
			assert.False(t, slices.ContainsFunc(faults, func(f strict.Fault) bool { return f.Path == w.at() && f.Kind == strict.FaultValue }), "%s accepts %s: %v", &w, word, faults)
		}
	}
}

// cannotBe are rules of fields that no document that is accepted has.
var cannotBe = regexp.MustCompile(`^refused|users cannot set it|with Mirror only`)

// TestWhatTheDocumentSaysIsRefusedIs writes such fields beside those of the same type.
func TestWhatTheDocumentSaysIsRefusedIs(t *testing.T) {
	checked := map[string]bool{}
	for _, w := range whole(t) {
		for name, r := range rows()[w.field.within] {
			if !cannotBe.MatchString(r.text) {
				continue
			}
			beside := written{w.field, append(slices.Clone(w.path[:len(w.path)-1]), name), w.body, w.kind}
			_, faults := validate.Decode(beside.with(t, func(any) any { return true }))
			assert.True(t, slices.ContainsFunc(faults, func(f strict.Fault) bool { return f.Path == beside.at() }), "%s is %s: %v", &beside, r.text, faults)
			checked[name] = true
		}
	}
	assert.Greater(t, len(checked), 4)
}

// TestEveryRuleHasADocument wants each row with a rule to be in one of the documents that the other tests change.
func TestEveryRuleHasADocument(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range whole(t) {
		seen[w.field.within.String()+"."+w.field.Name] = true
	}
	for of, fields := range rows() {
		for name, r := range fields {
			if r.text == "" || cannotBe.MatchString(r.text) || strings.Contains(of.String(), "Status") || slices.Contains([]string{"schema.meta", "api.GateSpec", "api.GateTarget", "api.ScheduledStartProperties", "api.PoolMember"}, of.String()) {
				continue
			}
			assert.True(t, seen[of.String()+"."+name], "testdata/whole.yaml has no %s of %s: %s", name, of, r.text)
		}
	}
}
