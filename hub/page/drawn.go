package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"sync"
	"time"
)

const (
	// mostDrawing is how many screens are drawn for one person at once, mostDrawn how many wait for that too: those of all of
	// their streams, and some that they load.
	mostDrawing, mostDrawn = 2, mostOfOne*mostScreens + 256
	// mostKept is how many drawings are kept.
	mostKept = 256
	// keptFor is for how long one is shown while nothing changes, so that the ages on it go on.
	keptFor = 10 * time.Second
)

// rendered is one part as HTML.
type rendered struct {
	ID   string        `json:"id"`
	HTML template.HTML `json:"html"`
	// Sum is another one where the HTML is.
	Sum string `json:"sum"`
}

// rendering is a screen as it was rendered.
type rendering struct {
	*drawing
	parts  []rendered
	tabled bool // it has a table, which is made of a drawing of its own
	turn   uint64
	at     time.Time
}

// drawn keeps what was drawn of the newest sight, so that many who look at the same cost what one does.
type drawn struct {
	page *Page
	mu   sync.Mutex
	kept map[string]*keeping
}

// keeping is the place of one rendering; whoever has its turn draws.
type keeping struct {
	*turn
	rendering *rendering
}

func newDrawn(p *Page) *drawn { return &drawn{page: p, kept: map[string]*keeping{}} }

// of is a screen as a visit sees it.
func (d *drawn) of(v *visit, s *screen) (*rendering, error) {
	key := string(v.person.Role) + " " + v.url.RequestURI()
	if s.personal && v.query("mine") != "" {
		key = v.person.Name + " " + key
	}
	place := d.place(key)
	leave, err := place.take(v.ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	now := v.now()
	if kept := place.rendering; kept != nil && kept.turn == v.fleet.turn && now.Sub(kept.at) < keptFor {
		return kept, nil
	}
	drawing, err := s.draw(v)
	if err != nil {
		return nil, err
	}
	next := &rendering{drawing: drawing, tabled: drawing.Table != nil, turn: v.fleet.turn, at: now}
	for _, part := range drawing.Parts {
		html, err := d.render(v, part)
		if err != nil {
			return nil, fmt.Errorf("drawing %s of %s: %w", part.ID, v.url.Path, err)
		}
		next.parts = append(next.parts, html)
	}
	drawing.Parts, drawing.Table = nil, nil // which hold on to the whole fleet of this turn
	place.rendering = next
	return next, nil
}

// place is where the rendering of a key is kept; when there are too many all are dropped, as most of them are of turns ago.
func (d *drawn) place(key string) *keeping {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept[key] == nil {
		if len(d.kept) >= mostKept {
			clear(d.kept)
		}
		d.kept[key] = &keeping{turn: newTurn()}
	}
	return d.kept[key]
}

func (d *drawn) render(v *visit, p part) (rendered, error) {
	var out bytes.Buffer
	if err := d.page.templates.ExecuteTemplate(&out, p.Template, &scene{visit: v, Data: p.Data}); err != nil {
		return rendered{}, err
	}
	sum := sha256.Sum256(out.Bytes())
	return rendered{ID: p.ID, HTML: template.HTML(out.String()), Sum: base64.RawURLEncoding.EncodeToString(sum[:9])}, nil //nolint:gosec // made by html/template
}
