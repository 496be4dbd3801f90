package page

import (
	"context"
	"html/template"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/core/picture"
)

// Options of a Page.
type Options struct {
	Door Door
	// Fleet, Replica and Version of the hub, for people.
	Fleet, Replica, Version string
	// Hosts are the names under which the page is asked for, beside those of loopback; a request that names another is refused.
	Hosts []string
	// Secure says that the page is served over TLS.
	Secure bool
	// Guest lets whoever comes from this machine look as a viewer.
	Guest bool
	// Now is the clock of the hub.
	Now func() time.Time
	Log zerolog.Logger
}

// Page serves the page until Close. It may be used from any goroutine.
type Page struct {
	options   Options
	served    http.Handler
	looks     http.Handler // the screens alone
	templates *template.Template
	survey    *survey
	sessions  *loop.Memo[api.Person]
	drawn     *drawn
	deeds     deeds
	crowd     crowd
	lanes     loop.Lanes
	census    census
	foresight *beside[foretold]
	windows   *beside[*picture.Calendar]
	ctx       context.Context //nolint:containedctx // ends with the page: streams and what they ask
	end       context.CancelFunc
}

// New returns a page; it asks nothing before somebody looks.
func New(o Options) (*Page, error) {
	templates, err := parseTemplates()
	if err != nil {
		return nil, err
	}
	p := &Page{options: o, templates: templates, census: census{turn: newTurn()}, lanes: loop.Lanes{Wide: mostDrawing, Most: mostDrawn}}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.survey = newSurvey(p.ctx, o)
	p.sessions = newSessions(o.Door, o.Now)
	p.drawn = newDrawn(p)
	p.foresight, p.windows = newBeside(p.ctx, p.survey, p.foresee), newBeside(p.ctx, p.survey, p.almanac)
	p.served = p.guarded(p.routes())
	return p, nil
}

// ServeHTTP serves the page.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.served.ServeHTTP(w, r) }

// Close ends all streams, and returns when nothing is asked any more.
func (p *Page) Close() {
	p.end()
	p.survey.wait()
	p.foresight.all.Wait()
	p.windows.all.Wait()
}

// routes are all paths of the page.
func (p *Page) routes() http.Handler {
	looks := http.NewServeMux()
	for _, s := range screens() {
		for _, pattern := range s.patterns {
			looks.HandleFunc("GET "+pattern, p.show(s))
		}
	}
	looks.HandleFunc("/", p.nowhere)
	p.looks = looks
	mux := http.NewServeMux()
	mux.Handle("GET /static/", statics())
	mux.HandleFunc("GET /enter", p.showEnter)
	mux.HandleFunc("POST /enter", p.enter)
	mux.HandleFunc("POST /leave", p.leave)
	mux.HandleFunc("GET /stream", p.stream)
	mux.HandleFunc("GET /do/{action}", p.confirm)
	mux.HandleFunc("POST /do/{action}", p.do)
	mux.HandleFunc("GET /done/{request}", p.showDone)
	mux.Handle("/", formed(looks))
	return packed(mux)
}
