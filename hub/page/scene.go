package page

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"flotilla/core/api"
	"flotilla/core/deed"
	"flotilla/core/overview"
	"flotilla/core/phrase"
)

//go:embed templates
var templateFiles embed.FS

func parseTemplates() (*template.Template, error) {
	t := template.New("").Funcs(template.FuncMap{
		"count": phrase.Count, "number": phrase.Digits, "join": strings.Join, "lower": strings.ToLower, "add": add,
		"lines":  func(lines []string) []string { return phrase.Lines(lines, shownLines) },
		"names":  func(names []string) string { return phrase.Names(names, shownNames) },
		"first":  func(moves []api.PodMove) []api.PodMove { return moves[:min(len(moves), shownMoves)] },
		"linkTo": linkTo, "eventsLink": eventsLink, "membersLink": membersLink,
		"entrySign": overview.SignOfEntry, "updateSign": overview.SignOfUpdate, "nodeSign": overview.SignOfNode, "phaseSign": overview.SignOfPhase,
		"typed": deed.Command, "pairs": overview.Pairs, "cores": overview.Cores, "gibibytes": overview.Gibibytes,
		"whatOf": func(r api.Revision) string { return overview.WhatOf(&r) },
	})
	return t.ParseFS(templateFiles, "templates/*.html")
}

// scene is what a template draws: the data of its part, and who looks when at which URL.
type scene struct {
	visit *visit
	Data  any
}

// Of is the same scene with other data, for a template within it.
func (s *scene) Of(data any) *scene { return &scene{visit: s.visit, Data: data} }

// Ago is how long ago something was, "6m"; empty for the zero time.
func (s *scene) Ago(t metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, s.visit.now().Sub(t.Time)))
}

// Until is in how long something will be, "6m"; empty for the zero time.
func (s *scene) Until(t metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, t.Sub(s.visit.now())))
}

// At is a time as people read it.
func (s *scene) At(t metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// Instant is a time as machines read it.
func (s *scene) Instant(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }

// May says whether the role of who looks covers a verb.
func (s *scene) May(verb string) bool { return s.visit.may(verb) }

// Who is the person who looks.
func (s *scene) Who() string { return s.visit.person.Name }

// Writes says whether the role of who looks may change objects of a kind.
func (s *scene) Writes(kind string) bool { return s.visit.person.Role.Covers(api.NeededToWrite(kind)) }

// Here is the URL that is looked at.
func (s *scene) Here() string { return s.visit.url.RequestURI() }

// Query is a value of the URL.
func (s *scene) Query(name string) string { return s.visit.query(name) }

// With is the URL that is looked at with other values of its query, names and values in turn; an empty one is left out.
func (s *scene) With(pairs ...any) string {
	return link(s.visit.url.Path, s.visit.url.Query(), pairs...)
}

// Do leads to where an action on an object is looked at, from here.
func (s *scene) Do(action, object string, pairs ...any) string {
	return link("/do/"+action, url.Values{"object": {object}, "back": {s.Here()}}, pairs...)
}

// Path is that of the URL that is looked at.
func (s *scene) Path() string { return s.visit.url.Path }

// Quiet is for how long a member has been in its state, or silent: "silent 6m", "for 3d".
func (s *scene) Quiet(m *overview.Member) string {
	switch {
	case m.LastSeen.IsZero():
		return "never heard of"
	case m.Sign() == overview.Away:
		return "silent " + s.Ago(m.LastSeen)
	}
	return "for " + s.Ago(m.Since)
}

func add(numbers ...int) (sum int) {
	for _, n := range numbers {
		sum += n
	}
	return sum
}

// link is a URL with a query, and other values of it, names and values in turn; an empty one is left out.
func link(path string, query url.Values, pairs ...any) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		name, value := fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1])
		if query.Del(name); value != "" {
			query.Set(name, value)
		}
	}
	u := url.URL{Path: path, RawQuery: query.Encode()}
	return u.String()
}

//go:embed static
var staticFiles embed.FS

func staticTree() fs.FS {
	tree, err := fs.Sub(staticFiles, "static")
	if err != nil {
		panic(err) // the folder is embedded
	}
	return tree
}

// linkTo leads to the screen of an object as events and problems name it, "member/berlin", with values of a query; to its events
// where it has none.
func linkTo(object string, pairs ...any) string {
	kind, name, _ := strings.Cut(object, "/")
	query := url.Values{}
	switch kind {
	case "member", "MemberCluster":
		return link("/members/"+name, query, pairs...)
	case "placement":
		return link("/placements/"+name, query, pairs...)
	case "run":
		return link("/runs/"+name, query, pairs...)
	case "node":
		member, _, _ := strings.Cut(name, "/")
		return link("/nodes", query, "member", member)
	case "nodepool":
		return "/nodes"
	}
	return eventsLink(object)
}

// eventsLink leads to the events of an object.
func eventsLink(object string) string { return link("/activity", url.Values{"object": {object}}) }

// membersLink leads to the members that have a value.
func membersLink(by, value string) string {
	return link("/members", url.Values{"q": {overview.Term(by, value)}})
}
