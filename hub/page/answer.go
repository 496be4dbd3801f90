package page

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/picture"
)

// whole writes a screen as a page.
func (p *Page) whole(w http.ResponseWriter, r *http.Request, code int, v *visit, s *screen, drawn *rendering) {
	p.write(w, r, code, "page", map[string]any{
		"Title": drawn.Title, "Fleet": p.options.Fleet, "Person": v.person, "Screens": screens(), "Screen": s, "Parts": drawn.parts,
		"Sight": v.fleet, "Kept": len(s.patterns) > 0, "Hub": p.options.Replica + " " + p.options.Version, "Scene": &scene{visit: v}, "Table": drawn.tabled, "Picture": drawn.Picture,
		"Guest": v.person.Ends.IsZero(),
	})
}

// plain writes a page of its own, that is no screen.
func (p *Page) plain(w http.ResponseWriter, r *http.Request, code int, template string, data map[string]any) {
	data["Fleet"], data["Here"] = p.options.Fleet, r.URL.RequestURI()
	p.write(w, r, code, template, data)
}

func (p *Page) write(w http.ResponseWriter, r *http.Request, code int, template string, data any) {
	var out bytes.Buffer
	if err := p.templates.ExecuteTemplate(&out, template, data); err != nil {
		p.options.Log.Error().Err(err).Str("path", r.URL.Path).Msg("drawing a page")
		http.Error(w, "the hub stumbled over this page; its log says where", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(out.Bytes())
}

// refuse says why there is nothing to see, and what to do.
func (p *Page) refuse(w http.ResponseWriter, r *http.Request, code int, why, next string) {
	p.plain(w, r, code, "refused", map[string]any{"Why": why, "Next": next, "Code": code})
}

func (p *Page) nowhere(w http.ResponseWriter, r *http.Request) {
	p.refuse(w, r, http.StatusNotFound, "There is nothing at "+phrase.Quoted(r.URL.Path)+".", "The fleet is at /.")
}

// failed says why a screen could not be drawn.
func (p *Page) failed(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, api.ErrNoEntry) {
		p.shut(w, r)
		return
	}
	if r.Context().Err() != nil {
		return // nobody waits any more
	}
	if failure, is := errors.AsType[*api.Failure](err); is {
		p.plain(w, r, statusOf(failure), "refused", map[string]any{"Why": failure.Message, "Faults": failure.Faults, "Command": failure.Next, "Code": statusOf(failure)})
		return
	}
	p.options.Log.Warn().Err(err).Str("path", r.URL.Path).Msg("drawing a page")
	p.refuse(w, r, http.StatusServiceUnavailable, "The fleet cannot be read now: "+err.Error()+".", "Load the page again.")
}

// shut says how to come in. Browsers keep the session back where somebody follows a link from another site: then the page is
// asked for once more, from itself.
func (p *Page) shut(w http.ResponseWriter, r *http.Request) {
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		p.plain(w, r, http.StatusUnauthorized, "again", map[string]any{})
		return
	}
	p.plain(w, r, http.StatusUnauthorized, "shut", map[string]any{})
}

func statusOf(f *api.Failure) int {
	code, err := strconv.Atoi(f.Code)
	if err != nil || code < 400 || code > 599 {
		return http.StatusInternalServerError
	}
	return code
}

// export writes what a screen shows as a table. It is in a lane of the person until that is taken: tables of large fleets are
// large.
func (p *Page) export(w http.ResponseWriter, r *http.Request, v *visit, s *screen, form string) {
	leave, err := v.lane()
	if err != nil {
		p.failed(w, r, err)
		return
	}
	defer leave()
	drawing, err := s.draw(v)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	if drawing.Table == nil {
		p.nowhere(w, r)
		return
	}
	table, err := drawing.Table(v, form)
	if err != nil {
		p.failed(w, r, err)
		return
	}
	if form == "json" {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(table.Value)
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", table.Name+".csv"))
	_ = table.WriteCSV(w) // whoever asked is gone
}

// exportPicture writes the SVG within a part, by itself.
func (p *Page) exportPicture(w http.ResponseWriter, r *http.Request, drawn *rendering) {
	for _, part := range drawn.parts {
		if drawn.Picture == "" || part.ID != drawn.Picture {
			continue
		}
		sheet, err := staticFiles.ReadFile("static/page.css")
		text := picture.Standalone(string(part.HTML), string(sheet))
		if err != nil || text == "" {
			break
		}
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = w.Write([]byte(text))
		return
	}
	p.nowhere(w, r)
}

// statics serves styles and scripts.
func statics() http.Handler {
	return http.StripPrefix("/static/", http.FileServerFS(staticTree()))
}

// packed compresses what is answered to browsers that can read it, but for streams, which do so themselves.
func packed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Vary", "Accept-Encoding")
		out := gzip.NewWriter(w)
		next.ServeHTTP(&gzipped{ResponseWriter: w, out: out}, r)
		_ = out.Close()
	})
}

// gzipped writes an answer compressed.
type gzipped struct {
	http.ResponseWriter
	out *gzip.Writer
}

func (g *gzipped) Write(b []byte) (int, error) { return g.out.Write(b) }

// WriteHeader drops a length that is not that of what is sent.
func (g *gzipped) WriteHeader(code int) {
	g.Header().Del("Content-Length")
	g.ResponseWriter.WriteHeader(code)
}
