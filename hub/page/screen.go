package page

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/core/overview"
)

// screen answers one question about the fleet, from what its URL says.
type screen struct {
	// Name and Home are those of the navigation, Key is what is pressed after g to come there. A screen without a name
	// stands below the one of the same home.
	Name, Home, Key string
	// patterns are its paths, as http.ServeMux has them.
	patterns []string
	draw     func(*visit) (*drawing, error)
	// personal says that it shows each person something else where its URL says mine.
	personal bool
}

// screens are all there are, in the order of the navigation.
func screens() []*screen {
	return []*screen{fleetScreen, membersScreen, memberScreen, placementsScreen, placementScreen, runsScreen, runScreen, windowsScreen, nodesScreen, activityScreen}
}

// drawing is what a screen shows.
type drawing struct {
	Title string
	// Parts from top to bottom, each swapped by itself when it changed.
	Parts []part
	// Table makes what the .csv and .json of the screen hold when somebody asks: all that the filter leaves, also what the parts do
	// not show; nil where it has none.
	Table func(v *visit, form string) (*overview.Table, error)
	// Picture is the part that is the .svg of the screen, empty where it has none.
	Picture string
}

// made is a table that is made of what was drawn.
func made(table func() *overview.Table) func(*visit, string) (*overview.Table, error) {
	return func(*visit, string) (*overview.Table, error) { return table(), nil }
}

// part is one piece of a screen.
type part struct {
	ID, Template string
	Data         any
}

// visit is one look of one person at one screen.
type visit struct {
	ctx    context.Context //nolint:containedctx // of the one request that a visit is
	page   *Page
	person api.Person
	// url has the path and query, without the form that it is wanted in.
	url    *url.URL
	path   func(name string) string // values of the pattern
	fleet  *sight
	caller api.Caller
}

// now is the time by the clock of the hub.
func (v *visit) now() time.Time { return v.page.options.Now() }

// query is a value of the URL.
func (v *visit) query(name string) string { return v.url.Query().Get(name) }

// ask has a verb answered for the person who looks.
func (v *visit) ask(verb string, question, answer any) error {
	return v.page.options.Door.Ask(v.ctx, v.caller, verb, question, answer)
}

// members are those of the fleet, by name.
func (v *visit) members() []*overview.Member {
	return overview.Filter(v.fleet.Members, overview.Query{})
}

// may says whether the person's role covers a verb.
func (v *visit) may(verb string) bool { return v.person.Role.Covers(api.NeededFor(verb)) }

// show serves a screen as a page, or in the form that its URL ends with; a stream that asks is given its parts.
func (p *Page) show(s *screen) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := p.visit(r)
		if err != nil {
			p.failed(w, r, err)
			return
		}
		if form := formOf(r); form == "csv" || form == "json" {
			p.export(w, r, v, s, form)
			return
		}
		drawn, err := p.draw(v, s)
		if err != nil {
			p.failed(w, r, err)
			return
		}
		if into, asks := r.Context().Value(collected{}).(*[]rendered); asks {
			*into = drawn.parts
			return
		}
		if formOf(r) == "svg" {
			p.exportPicture(w, r, drawn)
			return
		}
		p.whole(w, r, http.StatusOK, v, s, drawn)
	}
}

// lane waits until one more screen may be drawn for the person; leave says that it was.
func (v *visit) lane() (leave func(), err error) {
	leave, err = v.page.lanes.Take(v.ctx, v.person.Name)
	if errors.Is(err, loop.ErrCrowded) {
		err = &api.Failure{Code: api.CodeLimit, Message: fmt.Sprintf("%d screens are being drawn for you already: close some browsers", mostDrawn)}
	}
	return leave, err
}

// draw returns a screen as a visit sees it.
func (p *Page) draw(v *visit, s *screen) (*rendering, error) {
	leave, err := v.lane()
	if err != nil {
		return nil, err
	}
	defer leave()
	return p.drawn.of(v, s)
}

// collected is the key of where a stream wants the parts of a screen.
type collected struct{}

// visit lets in who asks, and reads the fleet.
func (p *Page) visit(r *http.Request) (*visit, error) {
	person, err := p.visitor(r)
	if err != nil {
		return nil, err
	}
	fleet, err := p.survey.fresh(r.Context())
	if err != nil {
		return nil, err
	}
	return &visit{
		ctx: r.Context(), page: p, person: person, url: r.URL, path: r.PathValue, fleet: fleet,
		caller: api.Caller{Name: person.Name, Key: person.Key, Role: api.RoleViewer, Address: address(r), Request: rand.Text()}, // whoever looks may look alone
	}, nil
}

// inner is the key of the form that a URL asked for, before that was taken out of it.
type inner struct{}

// forms are those that a screen is served in beside HTML.
var forms = []string{"csv", "json", "svg"}

// formed takes the form out of URLs that want one: as=csv, or, of a screen on whose path no name of an object stands, its end.
func formed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, query := r.URL.Path, r.URL.Query()
		form := query.Get("as")
		if end := strings.LastIndexByte(path, '.'); form == "" && end > 0 && strings.Count(path, "/") == 1 {
			path, form = path[:end], path[end+1:]
		}
		if reads(r) && slices.Contains(forms, form) {
			if path == "/index" {
				path = "/"
			}
			query.Del("as")
			r = r.Clone(context.WithValue(r.Context(), inner{}, form))
			r.URL.Path, r.URL.RawPath, r.URL.RawQuery = path, "", query.Encode()
		}
		next.ServeHTTP(w, r)
	})
}

func formOf(r *http.Request) string {
	form, _ := r.Context().Value(inner{}).(string)
	return form
}
