package hubd

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/hub/page"
)

// Page says where the page of a hub is served, to whom, and what makes it. Beyond loopback it needs a certificate.
type Page struct {
	Site
	// Guest lets who asks from this machine look as a viewer.
	Guest bool
	// New makes what answers its requests, hub/page when nil. Their contexts end when the hub stops; if it has a method
	// Close, that is called then too.
	New func(PageOptions) (http.Handler, error)
}

// PageOptions are what a page is made of.
type PageOptions struct {
	Door                    page.Door
	Fleet, Replica, Version string
	// Hosts are all names that requests may be for, in lower case and without ports: "::1".
	Hosts []string
	// URL is where people reach the page, without a slash at its end.
	URL string
	// Secure says that people reach it by TLS.
	Secure bool
	Guest  bool
	Now    func() time.Time
	Log    zerolog.Logger
}

// newPage makes the page.
func newPage(o PageOptions) (http.Handler, error) {
	return page.New(page.Options{
		Door: o.Door, Fleet: o.Fleet, Replica: o.Replica, Version: o.Version, Hosts: o.Hosts, Secure: o.Secure, Guest: o.Guest, Now: o.Now, Log: o.Log,
	})
}

const (
	thePage = "the page"
	// mostOfPage is the most bytes that the body of a request to the page may have.
	mostOfPage = 1 << 20
)

// check returns what is wrong with the options of a page.
func (p *Page) check() []error {
	wrong := p.Site.check("page")
	host, _, err := net.SplitHostPort(p.Address)
	if p.Address == "" || err != nil {
		return wrong
	}
	if !loopback(host) && p.Cert == "" {
		wrong = append(wrong, fmt.Errorf("page: found address %s without a certificate, where everybody on the way reads along: "+
			"name files with page.tls.cert and page.tls.key of the configuration, or serve it at 127.0.0.1", p.Address))
	}
	if p.Cert != "" && strings.HasPrefix(p.URL, "http:") {
		wrong = append(wrong, fmt.Errorf("page: found URL %s beside a certificate, expected one that begins with https", p.URL))
	}
	return wrong
}

// listenPage listens where the page is to be, so that links to it can be made; without one it does nothing.
func (h *Hub) listenPage(ctx context.Context) (func(bool), error) {
	p := &h.options.Page
	if p.Address == "" {
		return func(bool) {}, nil
	}
	var side *tls.Config
	if p.Cert != "" {
		var err error
		if side, err = server.ReadTLS(p.Cert, p.Key, thePage, h.options.Log); err != nil {
			return nil, err
		}
	}
	made, err := p.listen(ctx, thePage, "page", side, h.ways.most.page, h.options.Log)
	if err != nil {
		return nil, err
	}
	h.page = made
	return made.leave, nil
}

// servePage serves the page until the hub stops, which ends streams first.
func (h *Hub) servePage(context.Context) (func(bool), error) {
	if h.page == nil {
		return func(bool) {}, nil
	}
	o := &h.options
	handler, err := o.Page.New(PageOptions{
		Door: h.entrance(), Fleet: o.Fleet, Replica: o.Name, Version: api.Version,
		Hosts: o.Page.hosts(), URL: h.page.url, Secure: strings.HasPrefix(h.page.url, "https:"), Guest: o.Page.Guest, Now: h.conn.Now, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	return h.page.serve(handler, mostOfPage, &h.ways), nil
}

// Page is where the page is, as links to it begin; empty where there is none.
func (h *Hub) Page() string { return h.page.reached() }
