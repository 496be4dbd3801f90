package hubd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/server"
	"flotilla/core/api"
)

// Front says where a hub serves its Kubernetes API, and what makes it. It speaks TLS always: with Cert and Key, or with a
// certificate that an authority of the hub's own signs.
type Front struct {
	Site
	// CA is the file of the authority that signed Cert, in PEM, for those who ask; empty where their machines know it.
	CA string
	// New makes what answers its requests; nil: there is none, whatever Address says. Their contexts end when the hub stops;
	// if it has a method Close, that is called then too.
	New func(FrontOptions) (http.Handler, error)
}

// FrontDoor is what a Kubernetes API asks, and who may ask it: this hub's own door where it leads, that of the hub that leads else.
type FrontDoor interface {
	// Ask has a verb answered on behalf of by; question goes as JSON, answer is a pointer to what the verb answers (nil: ignored). A refusal is an *api.Failure.
	Ask(ctx context.Context, by api.Caller, verb string, question, answer any) error
	// Token says whose a token is; api.ErrNoEntry when it ended, or its person's credentials were revoked or renewed to another
	// key or role.
	Token(ctx context.Context, token string) (api.Person, error)
}

// FrontOptions are what a Kubernetes API is made of.
type FrontOptions struct {
	Door                    FrontDoor
	Fleet, Replica, Version string
	// Hosts are all names that requests may be for, in lower case and without ports: "::1".
	Hosts []string
	// URL is where people reach it, without a slash at its end.
	URL string
	Now func() time.Time
	Log zerolog.Logger
}

const (
	theFront = "the Kubernetes API"
	// mostOfFront is the most bytes that the body of a request to a Kubernetes API may have.
	mostOfFront = 3 << 20
)

func (f *Front) on() bool { return f.Address != "" && f.New != nil }

// check returns what is wrong with the options of a Kubernetes API.
func (f *Front) check() []error {
	wrong := f.Site.check("kubernetes")
	if f.Address == "" {
		return wrong
	}
	if strings.HasPrefix(f.URL, "http:") {
		wrong = append(wrong, fmt.Errorf("kubernetes: found URL %s, expected one that begins with https: tokens are shown there", f.URL))
	}
	if f.CA != "" && f.Cert == "" {
		wrong = append(wrong, errors.New("kubernetes: found an authority without a certificate that it signed, expected kubernetes.tls.cert and kubernetes.tls.key beside it"))
	}
	return wrong
}

// listenFront listens where the Kubernetes API is to be, so that people can be told; without one it does nothing.
func (h *Hub) listenFront(ctx context.Context) (func(bool), error) {
	f := &h.options.Front
	if !f.on() {
		return func(bool) {}, nil
	}
	side, err := h.frontTLS()
	if err != nil {
		return nil, err
	}
	made, err := f.listen(ctx, theFront, "kubernetes", side, h.ways.most.front, h.options.Log)
	if err != nil {
		return nil, err
	}
	h.front = made
	return made.leave, nil
}

// frontTLS is the side of TLS of the Kubernetes API.
func (h *Hub) frontTLS() (side *tls.Config, err error) {
	f := &h.options.Front
	if f.Cert != "" {
		if h.frontCA, err = f.authority(); err != nil {
			return nil, err
		}
		return server.ReadTLS(f.Cert, f.Key, theFront, h.options.Log)
	}
	own := server.Own{Prefix: "front-", Names: f.hosts(), Of: theFront, Log: h.options.Log}
	if h.options.Server != nil {
		own.Dir = h.options.Server.Dir
	} else {
		h.options.Log.Warn().Msg("this hub has no data directory to keep the authority of its Kubernetes API in: each start makes another, " +
			"and whoever was told the one before is to ask `flotilla kubeconfig` again; name a certificate with kubernetes.tls.cert and kubernetes.tls.key of the configuration")
	}
	side, h.frontCA, err = server.OwnTLS(own)
	return side, err
}

// authority is that which signed a certificate of others, nil where machines know it.
func (f *Front) authority() ([]byte, error) {
	if f.CA == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.CA)
	if err != nil {
		return nil, fmt.Errorf("authority of %s: %w", theFront, err)
	}
	return text, nil
}

// serveFront serves the Kubernetes API until the hub stops, which ends streams first.
func (h *Hub) serveFront(context.Context) (func(bool), error) {
	if h.front == nil {
		return func(bool) {}, nil
	}
	o := &h.options
	handler, err := o.Front.New(FrontOptions{
		Door: h.entrance(), Fleet: o.Fleet, Replica: o.Name, Version: api.Version, Hosts: o.Front.hosts(), URL: h.front.url, Now: h.conn.Now, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	return h.front.serve(handler, mostOfFront, &h.ways), nil
}

// Front is where the Kubernetes API is, and the authority of its certificate in PEM, which is empty where machines know
// it; both are where there is no Kubernetes API.
func (h *Hub) Front() (at string, ca []byte) { return h.front.reached(), h.frontCA }
