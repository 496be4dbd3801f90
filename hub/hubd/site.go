package hubd

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/gate"
)

// Site says where a hub serves something by HTTP.
type Site struct {
	// Address to listen at, "127.0.0.1:8480"; empty: nothing is served. With AnyPort any free port is taken where that
	// one is taken.
	Address string
	AnyPort bool
	// URL is where people reach it, "https://fleet.example.com"; empty: at Address.
	URL string
	// Hosts are the names that people may reach it under, beside those of URL and Address.
	Hosts []string
	// Cert and Key are files in PEM, read anew when they change.
	Cert, Key string
}

const (
	// bodyWithin is for how long the body of a request may take to come.
	bodyWithin = time.Minute
	// stopSite is for how long answers that are on their way may go on.
	stopSite = 3 * time.Second
)

// check returns what is wrong with a site that a flag of the hub, which is its key in the configuration too, asks for.
func (s *Site) check(flag string) (wrong []error) {
	host, _, err := net.SplitHostPort(s.Address)
	switch {
	case s.Address == "":
		return nil
	case err != nil:
		return []error{fmt.Errorf("%s: found address %q, expected a host and a port, like 127.0.0.1:8480", flag, s.Address)}
	}
	if (s.Cert == "") != (s.Key == "") {
		wrong = append(wrong, fmt.Errorf("%s: found one of a certificate and its key, expected both", flag))
	}
	if s.URL == "" && unnamed(host) {
		wrong = append(wrong, fmt.Errorf("%s: found address %s and no URL, expected %[1]s.url of the configuration: people are sent there", flag, s.Address))
	}
	return wrong
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// unnamed says that a host to listen at is every address of the machine.
func unnamed(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// hosts are all names that the site is reached under.
func (s *Site) hosts() []string {
	all := slices.Clone(s.Hosts)
	if at, err := url.Parse(s.URL); err == nil && s.URL != "" {
		all = append(all, at.Hostname())
	}
	host, _, _ := net.SplitHostPort(s.Address)
	if !unnamed(host) {
		all = append(all, host)
	}
	if loopback(host) {
		all = append(all, "127.0.0.1", "::1", "localhost")
	}
	for i, host := range all {
		all[i] = strings.ToLower(host)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// served is a site while it is served.
type served struct {
	name     string // "the page"
	listener *gate.Gate
	tls      *tls.Config // nil without TLS
	url      string
	log      zerolog.Logger
}

// listen listens where a site is to be, which a flag asked for, so that people can be told before it is served. It takes so many
// connections at once.
func (s *Site) listen(ctx context.Context, name, flag string, side *tls.Config, most int, log zerolog.Logger) (*served, error) {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", s.Address)
	if err != nil && s.AnyPort {
		host, _, _ := net.SplitHostPort(s.Address)
		listener, err = listen.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("%w; name another address with --%s HOST:PORT", err, flag)
	}
	return &served{name: name, listener: gate.New(listener, most), tls: side, url: s.at(listener.Addr(), side != nil), log: log}, nil
}

// at is where people reach a site that listens at an address.
func (s *Site) at(listening net.Addr, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	host, _, _ := net.SplitHostPort(s.Address)
	_, port, _ := net.SplitHostPort(listening.String())
	return strings.TrimRight(cmp.Or(s.URL, scheme+"://"+net.JoinHostPort(host, port)), "/")
}

// serve has a handler, which may have a method Close, answer requests whose bodies are of so many bytes at most. What it
// returns ends streams, then all.
func (s *served) serve(handler http.Handler, mostBody int64, ways *ways) (stop func(bool)) {
	streams, end := context.WithCancel(context.Background())
	server := gate.Serving(gate.Bodies(http.MaxBytesHandler(handler, mostBody), bodyWithin))
	server.TLSConfig, server.ErrorLog = s.tls, stdlog.New(siteLog{s.log}, "", 0)
	server.BaseContext = func(net.Listener) context.Context { return streams }
	gate.Introduce(server)
	ways.let(s.name, s.listener)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.run(server)
	}()
	s.log.Info().Str("at", s.url).Msg(s.name + " is served")
	return func(bool) {
		end()
		if p, closes := handler.(interface{ Close() }); closes {
			p.Close()
		}
		shut, over := context.WithTimeout(context.Background(), stopSite)
		defer over()
		if server.Shutdown(shut) != nil {
			_ = server.Close()
		}
		<-ended
	}
}

// run returns once the server was shut down.
func (s *served) run(server *http.Server) {
	if s.tls == nil {
		_ = server.Serve(s.listener) // always http.ErrServerClosed, after Shutdown
		return
	}
	_ = server.ServeTLS(s.listener, "", "")
}

// siteLog is where the server of a site says what is wrong with connections, which is theirs.
type siteLog struct{ log zerolog.Logger }

// Write logs one line.
func (l siteLog) Write(line []byte) (int, error) {
	l.log.Debug().Msg(strings.TrimSpace(string(line)))
	return len(line), nil
}

// leave closes what was listened at.
func (s *served) leave(bool) { _ = s.listener.Close() }

// reached is where a site is, empty where there is none.
func (s *served) reached() string {
	if s == nil {
		return ""
	}
	return s.url
}
